"""Engines, user labels, topological order and the second partition: what stream allocation starts from."""
