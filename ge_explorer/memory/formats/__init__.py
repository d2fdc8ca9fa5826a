"""Files that hold a placement problem, a plan or memory over time: minimalloc's CSV, plan JSON (ours and the article's), plan CSV,
the profiler's static_op_mem.csv, allocator snapshots.
"""
