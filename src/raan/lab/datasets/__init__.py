"""The data sets that a study can name: their loaders and descriptions."""
