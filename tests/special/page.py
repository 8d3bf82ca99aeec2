"""The table of docs/special-functions.md, and the exceptions, as they are measured here.

``python -m tests.special.page`` prints the former, with ``--exceptions`` the errors beyond the bounds.
"""

import math
import sys

from tests.special.measure import BOUNDS, Compared, beyond, compared
from tests.special.rows import FUNCTIONS
from tests.special.stored import read


def _largest(all_compared: list[Compared], dtype: str, order: int) -> str:
    """The largest error of one order, relative; that of NaN said in words."""
    errors = [c.error for c in all_compared if sum(c.order) == order]
    if not errors:
        return "refused"
    found = max([e for e in errors if math.isfinite(e)], default=0.0) * BOUNDS[dtype][order]
    # where what was asked of the value is not met either, nor is it here
    return f"{found:.0e}" + (", NaN" if any(math.isnan(e) for e in errors) else "")


def main(arguments: list[str]) -> None:
    truths = read()
    if not arguments:
        print("| function | float64: first | second | float32: first | second |\n|---|---|---|---|---|")
    for name in FUNCTIONS:
        cells, worst = [], {}
        for dtype in BOUNDS:
            found = list(compared(name, dtype, truths[name]))
            cells += [_largest(found, dtype, order) for order in (1, 2)]
            for c in beyond(found, dtype):
                key = dtype, sum(c.order)
                error = 2.0 if math.isnan(c.error) else c.error
                worst[key] = max(worst.get(key, 0.0), error)
        if not arguments:
            print(f"| `{name}` | " + " | ".join(cells) + " |")
        elif worst:
            print(name, {key: float(f"{2 * error:.1g}") for key, error in worst.items()})


if __name__ == "__main__":
    main(sys.argv[1:])
