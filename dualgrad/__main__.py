"""``python -m dualgrad``: the command ``dualgrad``."""

from __future__ import annotations

import sys

from dualgrad.migrate.command import main

if __name__ == "__main__":
    sys.exit(main())
