"""Comparisons: several methods, each with the same budget, on the same seeds."""
