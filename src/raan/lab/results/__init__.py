"""Finished runs as a file, what a rule chooses among them, and how sure that is; all on numpy."""
