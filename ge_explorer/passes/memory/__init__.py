"""Memory passes: GE plans memory on logical streams, before any event exists."""
