"""Snapshot to snapshot, one pass a file. The order they run in stands in ``ge_explorer.pipelines`` only."""
