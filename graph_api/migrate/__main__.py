"""``python -m graph_api.migrate``: the command ``dualgrad``."""

from __future__ import annotations

import sys

from graph_api.migrate.command import main

if __name__ == "__main__":
    sys.exit(main())
