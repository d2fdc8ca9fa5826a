"""Speed as ratios, never asserted: ``python -m tests.bench [NAME …] [--json]``."""
