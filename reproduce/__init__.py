"""What regenerates the project's own figures: benchmarks, comparisons, the paper's pictures. Not in the wheel."""
