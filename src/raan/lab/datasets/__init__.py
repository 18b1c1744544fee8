"""The data sets that the library knows by name."""
