"""What a user's function raises is an error of its data set, never its end; behind it the iteration goes on."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from engine.core import nest

ENDS = (StopIteration, GeneratorExit, IndexError("i"), KeyError("k"), EOFError("e"), AttributeError("a"))
"""What Python itself takes for an end somewhere."""

FORMS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "map": (lambda d, r, f: d, [0, 3, 6, "!", 12, 15]),
    "parallel": (lambda d, r, f: r.map(f, num_parallel_calls=2), [0, 3, 6, "!", 12, 15]),
    "batch": (lambda d, r, f: d.batch(2), [[0, 3], "!", [12, 15]]),
    "a short batch": (lambda d, r, f: d.batch(7), ["!", [12, 15]]),
    "filter": (lambda d, r, f: r.filter(lambda a: f(a) >= 0), [0, 1, 2, "!", 4, 5]),
    "flat_map": (lambda d, r, f: r.flat_map(lambda a: one(r, f(a))), [0, 3, 6, "!", 12, 15]),
    "flat_map of maps": (lambda d, r, f: r.flat_map(lambda a: one(r, a).map(f)), [0, 3, 6, "!", 12, 15]),
    "interleave": (
        lambda d, r, f: r.interleave(lambda a: one(r, a).map(f).repeat(2), cycle_length=2, block_length=1),
        [0, 3, 0, 3, 6, "!", "!", 6, 12, 12, 15, 15],
    ),
    "shuffle": (lambda d, r, f: d.shuffle(10, seed=1), ["!", 0, 3, 6, 12, 15]),
    "repeat": (lambda d, r, f: d.repeat(2), [0, 3, 6, "!", 12, 15] * 2),
    "for ever": (lambda d, r, f: d.skip(3).repeat(), ["!", 12, 15] * 4),
    "prefetch": (lambda d, r, f: d.prefetch(2), [0, 3, 6, "!", 12, 15]),
    "zip": (lambda d, r, f: type(r).zip((d, r)), [[0, 0], [3, 1], [6, 2], "!", [12, 4], [15, 5]]),
    "zip, behind": (lambda d, r, f: type(r).zip((r, d)), [[0, 0], [1, 3], [2, 6], "!", [4, 12], [5, 15]]),
    "enumerate": (lambda d, r, f: d.enumerate(), [[0, 0], [1, 3], [2, 6], "!", [4, 12], [5, 15]]),
    "cache": (lambda d, r, f: d.cache().repeat(2), [0, 3, 6, "!", 12, 15] * 2),
    "concatenate": (lambda d, r, f: d.concatenate(r.take(1)), [0, 3, 6, "!", 12, 15, 0]),
    "take": (lambda d, r, f: d.take(4), [0, 3, 6, "!", 12]),
    "shard": (lambda d, r, f: d.shard(2, 0), [0, 6, "!", 15]),
    "scan": (lambda d, r, f: r.scan(np.int64(0), lambda s, a: (s + 1, s * 0 + f(a))), [0, 3, 6, "!", 12, 15]),
    "window": (lambda d, r, f: d.window(2, 2).flat_map(lambda w: w.batch(2)), [[0, 3], "!", [12, 15]]),
    "windows that overlap": (
        lambda d, r, f: d.window(3, 1, drop_remainder=True).flat_map(lambda w: w.batch(3)),
        [[0, 3, 6], "!", "!", "!"],
    ),
}  # fmt: skip


def one(like: Any, value: Any) -> Any:
    return type(like).from_tensors(value)


def failing(tf: Any, error: Any) -> Callable[[Any], Any]:
    """Three times an element, but an error at 3."""

    def triple(a: Any) -> Any:
        if int(a) == 3:
            raise error
        return np.int64(a * 3)

    def mapped(a: Any) -> Any:
        made = tf.py_func(triple, [a], tf.int64) if tf is graph_api else tf.py_function(triple, [a], tf.int64)
        return tf.ensure_shape(made, [])

    return mapped


def seen(tf: Any, make: Callable[[], Any], most: int = 12) -> tuple[list[Any], set[str]]:
    """The elements of a data set, with "!" in the place of errors, and the names of these."""

    def value(x: Any) -> Any:
        return np.asarray(x).tolist()

    found: list[Any] = []
    names = set()
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        data = make()
        left = data.make_one_shot_iterator().get_next() if tf is graph_api else iter(data)
        while len(found) < most:
            try:
                element = session.run(left) if tf is graph_api else left.get_next()
            except tf.errors.OutOfRangeError:
                break
            except tf.errors.OpError as error:
                found.append("!")
                names.add(type(error).__name__)
                continue
            found.append([value(x) for x in nest.flatten(element)] if isinstance(element, tuple) else value(element))
    return found, names


@pytest.mark.parametrize("tf", [tape_api, graph_api], ids=["tape", "graph"])
@pytest.mark.parametrize("name", FORMS)
def test_an_end_that_a_function_raises_is_an_error(tf: Any, name: str) -> None:
    make, wanted = FORMS[name]
    numbers = tf.data.Dataset.range

    def data() -> Any:
        f = failing(tf, StopIteration)
        return make(numbers(6).map(f), numbers(6), f)

    found, names = seen(tf, data)
    if name == "shuffle":
        found = ["!", *sorted(x for x in found if x != "!")]
    assert found == wanted
    assert names == {"InternalError" if name in ("filter", "flat_map") else "InvalidArgumentError"}


@pytest.mark.parametrize("error", ENDS, ids=repr)
@pytest.mark.parametrize("tf", [tape_api, graph_api], ids=["tape", "graph"])
def test_no_error_is_an_end(tf: Any, error: Any) -> None:
    found, names = seen(tf, lambda: tf.data.Dataset.range(6).map(failing(tf, error)))
    assert found == [0, 3, 6, "!", 12, 15]
    assert names == {"InvalidArgumentError" if error is StopIteration else "UnknownError"}


@pytest.mark.parametrize("tf", [tape_api, graph_api], ids=["tape", "graph"])
def test_an_end_raised_by_name_is_an_error(tf: Any) -> None:
    error = tf.errors.OutOfRangeError(None, None, "over")
    found, names = seen(tf, lambda: tf.data.Dataset.range(6).map(failing(tf, error)))
    assert found == [0, 3, 6, "!", 12, 15] and names == {"UnknownError"}
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        call = lambda: failing(tf, error)(tf.constant(3, tf.int64))  # noqa: E731
        run = call if tf is tape_api else partial(session.run, call())
        with pytest.raises(tf.errors.UnknownError, match="over"):
            run()


def test_functions_that_call_no_op() -> None:
    """A mapped function may be Python alone, and go through an iterator of its own."""
    some = iter([1, 2])
    found, names = seen(tape_api, lambda: tape_api.data.Dataset.range(5).map(lambda a: a + next(some) if a else a))
    assert found[0] == 0 and found[-2:] == ["!", "!"] and names == {"InvalidArgumentError"}
    other = iter(tape_api.data.Dataset.range(2))
    assert seen(tape_api, lambda: tape_api.data.Dataset.range(4).map(lambda a: other.get_next()))[0] == [0, 1, "!", "!"]


@pytest.mark.parametrize("call", [tape_api.py_function, tape_api.numpy_function], ids=["py", "numpy"])
def test_asking_for_the_spec_calls_no_python_function(call: Any) -> None:
    some = iter([10, 20, 30])
    data = tape_api.data.Dataset.range(3).map(lambda a: call(lambda _: np.int64(next(some)), [a], tape_api.int64))
    assert data.element_spec.shape.rank is None and data.element_spec.dtype is tape_api.int64
    assert [int(x) for x in data] == [10, 20, 30]


@pytest.mark.parametrize("tf", [tape_api, graph_api], ids=["tape", "graph"])
def test_a_list_of_results_is_a_tuple(tf: Any) -> None:
    found, _ = seen(tf, lambda: tf.data.Dataset.range(2).map(lambda a: [a, (a + 1, [a, a])]))
    assert found == [[0, 1, [0, 0]], [1, 2, [1, 1]]]


def test_what_reduces_all_elements_raises() -> None:
    data, f = tape_api.data.Dataset.range(6), failing(tape_api, StopIteration)
    with pytest.raises(tape_api.errors.OutOfRangeError, match="StopIteration"):
        data.reduce(np.int64(0), lambda s, a: s + f(a))
    for use in (list, lambda d: list(d.as_numpy_iterator()), lambda d: d.batch(6).get_single_element()):
        with pytest.raises(tape_api.errors.InvalidArgumentError, match="StopIteration"):
            use(data.map(f))
    with pytest.raises(tape_api.errors.InvalidArgumentError, match="StopIteration"):
        data.map(f).reduce(np.int64(0), lambda s, a: s + a)


def test_only_whole_data_are_kept() -> None:
    calls: list[int] = []

    def sometimes(a: Any) -> Any:
        calls.append(int(a))
        if int(a) == 1 and len(calls) < 4:
            raise StopIteration
        return a

    data = tape_api.data.Dataset.range(3).map(lambda a: tape_api.py_function(sometimes, [a], tape_api.int64)).cache()
    assert [seen(tape_api, lambda: data)[0] for _ in range(3)] == [[0, "!", 2], [0, 1, 2], [0, 1, 2]]
    assert calls == [0, 1, 2, 0, 1, 2]


class Numbers:
    """An iterator that raises at 3 once."""

    def __init__(self, error: Any) -> None:
        self.error, self.at = error, 0

    def __iter__(self) -> Iterator[int]:
        return self  # type: ignore[return-value]

    def __next__(self) -> int:
        self.at += 1
        if self.at == 3:
            raise self.error
        if self.at > 5:
            raise StopIteration
        return self.at


@pytest.mark.parametrize("tf", [tape_api, graph_api], ids=["tape", "graph"])
def test_generators(tf: Any) -> None:
    def exhausted() -> Iterator[int]:
        some = iter([1, 2])
        while True:
            yield next(some)

    def not_called() -> Iterator[int]:
        raise StopIteration

    of = lambda make: seen(tf, lambda: tf.data.Dataset.from_generator(make, tf.int64), 4)  # noqa: E731
    assert of(exhausted) == ([1, 2, "!"], {"UnknownError"})
    assert of(not_called) == (["!"] * 4, {"UnknownError"})
    assert of(lambda: Numbers(KeyError("k"))) == ([1, 2, "!", 4], {"UnknownError"})
    assert of(lambda: Numbers(ValueError("v"))) == ([1, 2, "!", 4], {"InvalidArgumentError"})
    assert of(lambda: Numbers(StopIteration)) == ([1, 2], set())


@pytest.mark.parametrize("tf", [tape_api, graph_api], ids=["tape", "graph"])
def test_files_that_are_read_at_once_come_in_turn(tf: Any, tmp_path: Path) -> None:
    names = []
    for i, count in enumerate((3, 5, 1, 4)):
        names.append(str(tmp_path / f"{i}.txt"))
        Path(names[-1]).write_text("".join(f"{i}{k}\n" for k in range(count)))

    def lines(at_once: Any, of: Any = None) -> list[int]:
        files = names if of is None else of(names)
        return [int(x) for x in seen(tf, lambda: tf.data.TextLineDataset(files, num_parallel_reads=at_once), 20)[0]]

    in_order = [0, 1, 2, 10, 11, 12, 13, 14, 20, 30, 31, 32, 33]
    assert lines(None) == lines(1) == lines(tf.data.AUTOTUNE if tf is tape_api else -1) == in_order
    assert lines(2) == [0, 10, 1, 11, 2, 12, 13, 20, 14, 30, 31, 32, 33]
    assert lines(3) == [0, 10, 20, 1, 11, 2, 12, 30, 13, 31, 14, 32, 33]
    if tf is tape_api:
        assert lines(2, tf.data.Dataset.from_tensor_slices) == lines(2)
    with pytest.raises(tf.errors.InvalidArgumentError, match="num_parallel_reads"):
        tf.data.TextLineDataset(names, num_parallel_reads=0)


def test_other_random_numbers_in_each_iteration() -> None:
    random = tape_api.data.Dataset.random
    same, other = random(seed=3).take(2), random(seed=3, rerandomize_each_iteration=True).take(2)
    drawn = [[int(x) for x in data] for data in (same, same, other, other)]
    assert drawn == [[3534849767, 279844183]] * 2 + [[2698304964, 3230936430], [1595858328, 3580113443]]


def test_no_elements_still_have_a_spec() -> None:
    data = tape_api.data.Dataset
    for make in (
        lambda d: d.flat_map(lambda x: data.range(2).map(lambda y: y * x)),
        lambda d: d.flat_map(lambda x: data.range(2).flat_map(lambda y: data.range(3).map(lambda z: z + x))),
        lambda d: d.flat_map(lambda x: data.from_tensor_slices([x, x + 1]).filter(lambda y: y > x).repeat(x)),
        lambda d: d.window(2).flat_map(lambda w: w.batch(2).flat_map(data.from_tensor_slices)),
    ):
        empty, full = [make(data.range(n)) for n in (0, 3)]
        assert list(empty) == [] and empty.element_spec == full.element_spec
