"""RAAN in the training loops of other libraries; each library is imported by its own module alone."""
