"""One's own file or frame: read, described, and turned into numbers."""
