"""``python -m ge_explorer`` is ``ge-explorer``."""

import sys

from ge_explorer.cli import main

sys.exit(main())
