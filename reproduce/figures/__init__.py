"""The paper's pictures and its theorem: computed as plain data, then drawn."""
