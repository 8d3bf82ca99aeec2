"""``python -m dualgrad``: the command ``dualgrad``."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    home = Path(__file__).resolve().parent.parent
    if not sys.flags.safe_path:
        # Python looks in the folder where it was started first, and something there may have the name of a package
        sys.path[0] = str(home)
    try:
        runpy.run_path(str(home / "engine" / "guard.py"), {"ALSO": ("tape_api", "graph_api")})
    except ImportError as error:
        sys.exit(f"dualgrad: {error}")
    from dualgrad.migrate.command import main

    sys.exit(main())
