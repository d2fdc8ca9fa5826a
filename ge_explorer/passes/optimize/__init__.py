"""Graph optimisation before placement."""
