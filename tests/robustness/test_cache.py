"""Caches: bounded by use, shared by threads, emptied and counted in one place."""

import ast
import itertools
import pickle
import threading
from typing import Any

import numpy as np
import pytest

import engine
import graph_api
import tape_api
from engine.runtime.cache import Cache, cache_info, cached, clear_caches
from tests import caches
from tests.interrupts import interrupted
from tests.support import at_once
from tests.tapes import watching


def test_what_was_not_used_gives_way() -> None:
    cache: Cache[int, str] = Cache("test items", 3, key="a number")
    for key in (1, 2, 3):
        cache.put(key, str(key))
    for key in range(10, 40):
        assert cache.get(2) == "2"
        cache.put(key, "new")
        assert len(cache) == 3
        assert cache.get(key) == "new"
    assert cache.get(1) is None is cache.get(3)
    assert cache.dropped == 30


def test_a_new_item_is_not_the_first_to_go() -> None:
    cache: Cache[int, int] = Cache("test items", 4, key="a number")
    for key in range(4):
        cache.put(key, key)
        cache.get(key)
    cache.put(4, 4)
    assert cache.get(4) == 4
    assert len(cache) == 4


def test_bytes_are_bounded_but_for_the_newest() -> None:
    cache: Cache[int, bytes] = Cache("test items", 100, key="a number", max_bytes=100, weigh=len)
    for key in range(20):
        cache.put(key, bytes(30))
        assert len(cache) == min(key + 1, 3)
    cache.put(99, bytes(1000))
    assert [len(value) for value in cache.values()] == [1000]


def test_an_item_is_replaced_and_the_first_one_kept_if_asked() -> None:
    cache: Cache[str, int] = Cache("test items", 4, key="a number")
    assert [cache.put("a", 1), cache.put("a", 2), cache.setdefault("a", 3), cache.setdefault("b", 4)] == [1, 2, 2, 4]
    assert cache.values() == [2, 4]


def test_a_copy_elsewhere_begins_empty() -> None:
    cache: Cache[str, int] = Cache("test items", 7, key="a number")
    cache.put("a", 1)
    other = pickle.loads(pickle.dumps(cache))
    assert (other.name, other.capacity, len(other)) == ("test items", 7, 0)


def test_it_can_be_empty_for_a_time() -> None:
    cache: Cache[str, int] = Cache("test items", 7, key="a number")
    cache.put("a", 1)
    with cache.emptied():
        assert cache.get("a") is None
        cache.put("b", 2)
    assert cache.values() == [1]


def test_information_and_clearing() -> None:
    first: Cache[int, int] = Cache("test numbers", 2, key="a number")
    second: Cache[int, int] = Cache("test numbers", 2, key="a number")

    @cached(8)
    def double(x: int) -> int:
        return 2 * x

    for key in range(3):
        first.put(key, key)
        second.put(key, key)
    first.get(2)
    first.get(2)
    double(1)
    double(1)
    info = cache_info()
    assert info["test numbers"] == (2, 4, 2, 2, 6, 2)
    name = next(name for name in info if name.endswith("double"))
    assert info[name][:5] == (1, 1, 8, 1, 1)
    clear_caches()
    assert cache_info()["test numbers"].items == 0 == cache_info()[name].items
    del second
    assert cache_info()["test numbers"].caches == 1


def test_threads_share_one() -> None:
    cache: Cache[int, int] = Cache("test items", 16, key="a number")
    wrong: list[Any] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        try:
            for key in rng.integers(0, 40, 3000).tolist():
                found = cache.get(key)
                if (cache.put(key, key * key) if found is None else found) != key * key:
                    wrong.append(key)
                if key == 0:
                    cache_info()
        except Exception as error:  # noqa: BLE001 - it is raised below
            wrong.append(error)

    at_once(work, range(6))
    assert not wrong
    assert len(cache) <= 16


def test_a_program_in_use_outlives_many_that_are_used_once() -> None:
    tf = graph_api
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64)
        y = x * 2.0
        session._executables.own.capacity = 8
        session.run(y, {x: np.ones(3)})
        (mine,) = session._executables.own.values()
        for n in range(20, 60):
            session.run(x + float(n), {x: np.ones(3)})
            session.run(y, {x: np.ones(3)})
        assert mine in session._executables.own.values()
        assert len(session._executables.own) == 8


@pytest.mark.parametrize("mode", ["graph", "tape"])
def test_nothing_changes_when_caches_are_emptied(mode: str) -> None:
    values = np.linspace(0.1, 2.0, 5)

    if mode == "graph":
        tf = graph_api
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(tf.float64, [5])
            y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tf.sin(a) * x), [0, x])[1]
            wanted = [y, tf.gradients(y, x)[0], tf.jacobian(y, x)]
            first = session.run(wanted, {x: values})
            assert engine.cache_info()["programs of sessions"].items > 0
            engine.clear_caches()
            assert engine.cache_info()["programs of sessions"].items == 0
            again = session.run(wanted, {x: values})
    else:

        def run() -> Any:
            x = tape_api.constant(values)
            tape, y = watching(
                x,
                lambda: tape_api.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tape_api.sin(a) * x), [0, x])[1],
                persistent=True,
            )
            return [y, tape.gradient(y, x), tape.jacobian(y, x)]

        for _ in range(4):
            first = run()
        assert engine.cache_info()["compiled walks"].items > 0
        engine.clear_caches()
        assert not any(info.items for name, info in engine.cache_info().items() if "plans" in name or "walks" in name)
        again = run()
    for a, b in zip(first, again, strict=True):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


@pytest.mark.parametrize("opcodes", [False, True])
def test_an_interrupt_leaves_the_lock_to_other_threads(opcodes: bool) -> None:
    kept: Cache[int, int] = Cache("numbers", 2, key="a number")
    for at in itertools.count(1):
        if interrupted(lambda at=at: kept.put(at, at), at, opcodes) is None:  # type: ignore[misc]
            break
        other = threading.Thread(target=kept.put, args=(0, 0), daemon=True)
        other.start()
        other.join(10)
        assert not other.is_alive(), f"interrupted at event {at}"
    assert at > 5
    assert kept.put(-1, 1) == 1


def test_whatever_is_kept_knows_its_key_or_is_no_cache() -> None:
    kept, excused = caches.others(), caches.excused()
    assert not kept - excused, "make these by `Cache` or `cached`, or say in tests/caches.py why they are no cache"
    assert not excused - kept, "these are there no longer"
    assert all(kept.key for kept in caches.caches())
    assert len(caches.caches()) > 50


def test_a_cache_that_is_made_elsewhere_is_found() -> None:
    text = """
import functools
_known = {}
of = functools.lru_cache(8)(len)
class A:
    def __init__(self):
        self._mine: dict[int, int] = {}
    @functools.cache
    def f(x): return x
"""
    found = caches._of_module("a.py", ast.parse(text))
    assert {(k.name, k.kind) for k in found} == {
        ("_known", "dict"),
        ("of", "lru_cache"),
        ("_mine", "dict"),
        ("f", "cache"),
    }
    with pytest.raises(ValueError, match=r"a.py:1: a cache must say its key"):
        list(caches._of_module("a.py", ast.parse("_known = Cache('numbers', 8)")))


def test_the_page_of_caches_is_as_the_source_says() -> None:
    assert caches.PAGE.read_text() == caches.page(), "python -m tests.caches"
