"""The rows of a file, a chunk at a time, for `raan predict`."""
