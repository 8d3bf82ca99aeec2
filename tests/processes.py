"""Python in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

HOME = Path(__file__).resolve().parent.parent


def ran(*words: Any, cwd: Path = HOME, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python with these words, of which one alone is a program; our packages are found."""
    command = [sys.executable, *["-c"][: len(words) == 1], *map(str, words)]
    env = {**os.environ, "PYTHONPATH": str(HOME), **environment}
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)


def printed(*words: Any, cwd: Path = HOME, **environment: str) -> str:
    """What Python prints then; it must end well."""
    done = ran(*words, cwd=cwd, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
