"""Last uses, and memory for values that are not needed at once."""

import random

import pytest

from engine.compiler.liveness import Needed, dying, last_uses, placed


def test_last_uses() -> None:
    steps = [[1, 2], [2, 3], [], [1, 4]]
    last = last_uses(steps, [3, 5])
    assert last == {1: 3, 2: 1, 3: 4, 4: 3, 5: 4}
    assert dying(last, 4) == [[], [2], [], [1, 4]]
    assert last_uses([], [7]) == {7: 0} and dying({7: 0}, 0) == []


@pytest.mark.parametrize("seed", range(30))
def test_what_is_needed_at_once_does_not_overlap(seed: int) -> None:
    rng = random.Random(seed)
    values = {}
    for k in range(rng.randrange(200)):
        first = rng.randrange(100)
        values[k] = Needed(rng.choice([8, 16, 24, 64, 200]), first, first + rng.randrange(rng.choice([1, 5, 60])))
    offsets, size = placed(values)
    assert offsets.keys() == values.keys()
    for k, a in values.items():
        assert 0 <= offsets[k] <= offsets[k] + a.size <= size
        for other, b in values.items():
            if other != k and a.first <= b.last and b.first <= a.last:
                assert offsets[k] + a.size <= offsets[other] or offsets[other] + b.size <= offsets[k]
    # as many places of each size as are needed at once would be enough
    enough = sum(
        n * max(sum(v.first <= t <= v.last for v in values.values() if v.size == n) for t in range(200))
        for n in {v.size for v in values.values()}
    )
    assert size <= enough
    fewer, total = placed(values, size // 2)
    assert total <= size // 2 and fewer.keys() <= values.keys()
    assert all(offset + values[k].size <= total for k, offset in fewer.items())


def test_small_values_lie_where_a_large_one_does_not_yet() -> None:
    values = {"large": Needed(100, 5, 9), "early": Needed(10, 0, 4), "late": Needed(10, 9, 10)}
    assert placed(values) == ({"large": 0, "early": 0, "late": 100}, 110)


def test_what_was_used_last_is_used_next() -> None:
    values = {"a": Needed(8, 0, 1), "b": Needed(8, 0, 2), "c": Needed(8, 4, 4)}
    offsets, size = placed(values)
    assert size == 16 and offsets["c"] == offsets["b"] != offsets["a"]
