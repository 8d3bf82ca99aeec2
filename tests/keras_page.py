"""The page of what Keras has and dualgrad has not: ``python -m tests.keras_page > docs/keras.md``, beside Keras."""

import inspect
import sys
from operator import attrgetter
from typing import Any

import tape_api
from dualgrad.frontend.absent import reason

PLACES = (
    *("layers", "losses", "metrics", "optimizers", "optimizers.schedules", "callbacks", "initializers", "regularizers"),
    *("activations", "constraints", "models", "random", "utils", "applications", "ops"),
)
HEAD = """# What of Keras is not here

Names of Keras {version} that `tape_api.keras` lacks, by module, and what to use instead. Where nothing is said, write
it as a subclass, or with functions of `tf`. What is here is compared with Keras option by option, over training steps.

| module | here | not here | instead |
|---|---|---|---|
"""


def page(keras: Any) -> str:
    """The page, by the names of the installed Keras."""
    rows = []
    for place in PLACES:
        theirs, ours = attrgetter(place)(keras), dir(attrgetter(place)(tape_api.keras))
        names = [n for n in dir(theirs) if n[0] != "_" and not inspect.ismodule(getattr(theirs, n))]
        lacking = [n for n in names if n not in ours]
        reasons = dict.fromkeys(why for n in lacking if (why := reason(f"keras.{place}.{n}")) is not None)
        told = "; ".join(reasons) if len(reasons) < 8 else ""
        rows.append(f"| `{place}` | {len(names) - len(lacking)} | {' '.join(f'`{n}`' for n in lacking)} | {told} |\n")
    return HEAD.format(version=keras.__version__.rpartition(".")[0]) + "".join(rows)


if __name__ == "__main__":
    import keras

    sys.stdout.write(page(keras))
