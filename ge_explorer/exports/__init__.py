"""Graphs written in other people's formats, to be run or opened elsewhere."""
