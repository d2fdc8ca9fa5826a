"""Files that hold a placement problem or a plan: minimalloc's CSV and plan JSON."""
