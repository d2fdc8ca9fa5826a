"""Passes after the events: how many tasks every node makes, and how logical streams become physical ones."""
