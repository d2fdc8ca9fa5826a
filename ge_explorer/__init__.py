"""ge_explorer."""
