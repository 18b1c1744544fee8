"""From a method and a table to trained models: the loop, the stages, the choice of a point."""
