"""Models of many runs at once."""
