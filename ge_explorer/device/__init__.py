"""The device model: chips, engines, operator table, costs. Knows nothing of traces."""
