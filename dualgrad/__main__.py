"""``python -m dualgrad``: the command ``dualgrad``."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    try:
        # Python looks in the folder where it was started first, and something there may have the name of a package
        guard = str(Path(__file__).resolve().parent.parent / "engine" / "guard.py")
        runpy.run_path(guard, {"ALSO": ("tape_api", "graph_api")})
    except ImportError as error:
        sys.exit(f"dualgrad: {error}")
    from dualgrad.migrate.command import main

    sys.exit(main())
