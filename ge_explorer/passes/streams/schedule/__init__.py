"""Streams and node order by list scheduling: our own mode, judged by our simulator. GE has nothing like it."""
