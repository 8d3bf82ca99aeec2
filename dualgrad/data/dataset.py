"""``tf.data.Dataset``: the methods, for both front ends.

A front end derives its class and says how values, functions and specs are made there (`Mode`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from dualgrad.data import choosing, combining, computing, sources
from dualgrad.data.declared import declared, padding, shapes_to_fill, spread, yielded
from dualgrad.data.stage import INFINITE, UNKNOWN, Stage
from dualgrad.data.structure import DatasetLeaf, avals, batched, flat, mapped, of_arrays, packed, width
from engine.core.aval import Aval
from engine.core.dtypes import as_dtype, int64
from engine.core.operands import Operand
from engine.runtime.errors import InvalidArgumentError
from engine.runtime.public_names import methods_of

AUTOTUNE = -1
INFINITE_CARDINALITY, UNKNOWN_CARDINALITY = INFINITE, UNKNOWN


class Mode(Protocol):
    """The functions that a data set needs of its front end."""

    def leaf(self, value: Any) -> Operand:
        """A tensor of a source: an array, or a tensor of a graph."""

    def count(self, name: str, value: Any) -> int | Operand:
        """A count: an int, or a tensor of a graph."""

    def function(self, fn: Callable[..., Any], dataset: BaseDataset, before: Any = None) -> Any:
        """A user's function of the elements of a data set (behind those of a structure `before`)."""

    def spec(self, aval: Aval) -> Any:
        """The spec of a tensor, as users see it."""

    def seeds(self, seed: int | None) -> tuple[int | None, int | None]:
        """The seeds of an op that has a seed, or none."""


@methods_of("Dataset")
class BaseDataset:
    """A pipeline of elements.

    Elements are tensors, or tuples and dicts of these. A data set does nothing by itself: each iteration starts anew.
    """

    _mode: ClassVar[Mode]

    def __init__(self, stage: Any) -> None:
        if not isinstance(stage, Stage):
            raise TypeError(f"{type(self).__name__}: make one with from_tensor_slices, range, ... not from {stage!r}")
        self._stage = stage

    @classmethod
    def _of(cls, stage: Stage) -> Self:
        made = cls.__new__(cls._plain())
        BaseDataset.__init__(made, stage)
        return made

    @classmethod
    def _filled(
        cls,
        structure: Any,
        left: Iterator[Any],
        array: Callable[[Any], Any] = lambda x: x,
        tensor: Callable[[Any], Any] = lambda x: x,
    ) -> Any:
        """A structure of what is left, each a `tensor` of it; those of a data set in it are each an `array`."""

        def taken(leaf: Any) -> Any:
            if isinstance(leaf, DatasetLeaf):
                return cls._of(sources.Rows([array(next(left)) for _ in range(width(leaf))], batched(leaf.spec, None)))
            return tensor(next(left))

        return packed(structure, [taken(leaf) for leaf in flat(structure)])

    @classmethod
    def _arguments(
        cls, leaves: Sequence[Any], spec: Any, before: Any, array: Callable[[Any], Any] = lambda x: x
    ) -> tuple[Any, ...]:
        """The arguments of a user's function: a tuple's items apart, and the state of a scan (`before`) in front."""
        left = iter(leaves)
        first = () if before is None else (cls._filled(before, left, array),)
        element = cls._filled(spec, left, array)
        return (*first, *element) if before is None and type(element) is tuple else (*first, element)

    @classmethod
    def _plain(cls) -> Any:
        """The class that has no arguments of its own."""
        return next(c for c in cls.__mro__ if BaseDataset in c.__bases__)

    # ---- sources -----------------------------------------------------------------------------------------------------

    @classmethod
    def _components(cls, tensors: Any) -> tuple[list[Any], Any]:
        structure = mapped(cls._mode.leaf, tensors)
        leaves = flat(structure)
        spec = packed(structure, [x.aval if hasattr(x, "aval") else flat(of_arrays(x))[0] for x in leaves])
        return leaves, spec

    @classmethod
    def from_tensors(cls, tensors: Any, name: str | None = None) -> Self:
        """One element: `tensors`, a structure of tensors."""
        return cls._of(sources.Once(*cls._components(tensors)))

    @classmethod
    def from_tensor_slices(cls, tensors: Any, name: str | None = None) -> Self:
        """The rows of `tensors`, a structure of tensors with as many rows each.

        Raises
        ------
        ValueError
            If a tensor has no rows, or the numbers of rows differ.
        """
        leaves, spec = cls._components(tensors)
        lengths = {a.shape[0] for a in flat(spec) if a.shape}
        if len(lengths - {None}) > 1:
            raise ValueError(
                f"Dimensions {' and '.join(map(str, sorted(lengths - {None})))} are not compatible: "
                f"from_tensor_slices needs tensors with as many rows each"
            )
        return cls._of(sources.Rows(leaves, spec))

    @classmethod
    def range(cls, *args: Any, output_type: Any = None, name: str | None = None) -> Self:
        """Numbers: ``range(stop)``, ``range(start, stop)`` or ``range(start, stop, step)``."""
        if not 1 <= len(args) <= 3:
            raise ValueError(f"range: one to three numbers are needed, got {len(args)}")
        bounds = [cls._mode.count("range", x) for x in ((0, *args, 1) if len(args) == 1 else (*args, 1)[:3])]
        dtype = int64 if output_type is None else as_dtype(output_type)
        return cls._of(sources.Range(bounds, dtype, Aval((), dtype)))

    @classmethod
    def from_generator(
        cls,
        generator: Callable[..., Any],
        output_types: Any = None,
        output_shapes: Any = None,
        args: Sequence[Any] | None = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> Self:
        """A data set of what a Python function yields.

        Parameters
        ----------
        generator : callable
            Returns something to iterate over; it is called anew for each iteration, with the arrays `args`.
        output_types, output_shapes
            The dtypes, and the shapes as far as they are known, of what it yields.
        args : sequence of tensors, optional
        output_signature : structure of TensorSpec, optional
            In place of the two.

        Raises
        ------
        TypeError, ValueError
            When iterated, if something yielded does not fit.
        """
        if not callable(generator):
            raise TypeError("`generator` must be callable.")
        spec = declared(output_types, output_shapes, output_signature)
        arguments = [cls._mode.leaf(a) for a in args or ()]
        return cls._of(sources.Generated(lambda *a: yielded(generator, a, spec), spec, arguments))

    @classmethod
    def zip(cls, *args: Any, datasets: Any = None, name: str | None = None) -> Self:
        """Elements of several data sets side by side: of a structure of them, or of each argument."""
        structure = datasets if datasets is not None else args[0] if len(args) == 1 else args
        if isinstance(structure, list):
            raise TypeError("zip: a tuple or dict of data sets is needed, got a list")
        leaves = flat(structure)
        for d in leaves:
            _require_dataset("zip", d)
        return cls._of(combining.Zipped([d._stage for d in leaves], structure))

    @classmethod
    def random(cls, seed: int | None = None, rerandomize_each_iteration: Any = None, name: str | None = None) -> Self:
        """Random numbers, int64 from 0 to 2**32: the same in each iteration, or others if that is asked for."""
        from dualgrad.data.shuffling import SeedGenerator, random_words, seed_pair

        seeds = cls._mode.seeds(seed)
        others = SeedGenerator(seed_pair(seeds), True) if rerandomize_each_iteration else None

        def words() -> Iterator[Any]:
            return ((np.int64(w),) for w in random_words(others.next() if others else seed_pair(seeds)))

        return cls._of(sources.Generated(words, Aval((), int64)))

    @classmethod
    def list_files(
        cls, file_pattern: Any, shuffle: bool | None = None, seed: int | None = None, name: str | None = None
    ) -> Self:
        """The names of the files that match a pattern, or several."""
        import glob

        patterns = [file_pattern] if isinstance(file_pattern, (str, bytes)) else list(file_pattern)
        names = sorted(n for p in patterns for n in glob.glob(p.decode() if isinstance(p, bytes) else str(p)))
        if not names:
            raise InvalidArgumentError(f"No files matched pattern: {', '.join(map(str, patterns))}")
        files = cls.from_tensor_slices(names)
        return files if shuffle is False else files.shuffle(len(names), seed)

    # ---- choosing ----------------------------------------------------------------------------------------------------

    def _then(self, stage: Stage) -> Self:
        return type(self)._of(stage)

    def _count(self, name: str, value: Any) -> int | Operand:
        return self._mode.count(name, value)

    def take(self, count: Any, name: str | None = None) -> Self:
        """The first elements; all, if the count is -1."""
        return self._then(choosing.Take(self._stage, self._count("take", count)))

    def skip(self, count: Any, name: str | None = None) -> Self:
        """The elements but for the first; none, if the count is -1."""
        return self._then(choosing.Skip(self._stage, self._count("skip", count)))

    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> Self:
        """Each n-th element, from `index` on."""
        return self._then(
            choosing.Shard(self._stage, self._count("shard", num_shards), self._count("shard", index))
        )  # fmt: skip

    def repeat(self, count: Any = None, name: str | None = None) -> Self:
        """The elements several times over; for ever, if there is no count or -1."""
        return self._then(choosing.Repeated(self._stage, self._count("repeat", -1 if count is None else count)))

    def shuffle(
        self,
        buffer_size: Any,
        seed: int | None = None,
        reshuffle_each_iteration: bool | None = None,
        name: str | None = None,
    ) -> Self:
        """The elements in random order: each is drawn from a buffer, which is then filled up.

        With the same seeds the order is TensorFlow's, epoch by epoch.

        Parameters
        ----------
        buffer_size : int or tensor
            A buffer as large as the data set makes all orders equally likely.
        seed : int, optional
        reshuffle_each_iteration : bool, optional
            Whether the order is another one in each iteration; so it is by default.
        """
        size = self._count("shuffle", buffer_size)
        if isinstance(size, int) and size <= 0 and size not in (INFINITE, UNKNOWN):
            raise InvalidArgumentError(f"shuffle: argument `buffer_size` must be greater than zero, got {size}")
        return self._then(
            choosing.Shuffled(self._stage, size, self._mode.seeds(seed), reshuffle_each_iteration is not False)
        )

    def prefetch(self, buffer_size: Any, name: str | None = None) -> Self:
        """The same elements. They are computed when they are asked for: a thread of Python's would not be faster."""
        self._count("prefetch", buffer_size)
        return self._then(choosing.Take(self._stage, -1))

    def cache(self, filename: Any = "", name: str | None = None) -> Self:
        """The elements, which are computed once and kept in memory.

        Raises
        ------
        NotImplementedError
            If a file's name is given.
        """
        if filename not in ("", b"", None):
            raise NotImplementedError("cache: elements are kept in memory, not in files; leave `filename` out")
        return self._then(combining.Cached(self._stage))

    # ---- computing ---------------------------------------------------------------------------------------------------

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
        **unused: Any,
    ) -> Self:
        """Apply a function to each element.

        Parameters
        ----------
        map_func : callable
            Takes the tensors of an element (a tuple as separate arguments), returns a structure of tensors. In a graph
            it is called once, while the graph is built; elsewhere for each element, or, before `batch`, for each batch,
            if that gives the same bits for the first one and the function only computes.
        num_parallel_calls, deterministic
            Accepted for compatibility: elements are computed one after the other, in order.
        """
        if unused:
            raise TypeError(f"map: unknown arguments {', '.join(unused)}")
        return self._then(computing.Mapped(self._stage, self._mode.function(map_func, self)))

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Self:
        """The elements for which a function gives True."""
        return self._then(computing.Filtered(self._stage, self._mode.function(predicate, self)))

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Self:
        """The elements of the data sets that a function makes of each element, one after the other."""
        return self._then(computing.Interleaved(self._stage, self._mode.function(map_func, self), 1, 1))

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: Any = None,
        block_length: Any = None,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Self:
        """The elements of the data sets that a function makes of each element, of several at a time in turn.

        Parameters
        ----------
        map_func : callable
        cycle_length : int, optional
            How many at a time; by default (and for AUTOTUNE) 4.
        block_length : int, optional
            How many elements of each in turn, by default 1.
        num_parallel_calls, deterministic
            Accepted for compatibility, as in `map`.
        """
        cycle = 4 if cycle_length in (None, AUTOTUNE) else self._count("interleave", cycle_length)
        block = self._count("interleave", 1 if block_length is None else block_length)
        return self._then(computing.Interleaved(self._stage, self._mode.function(map_func, self), cycle, block))

    def enumerate(self, start: Any = 0, name: str | None = None) -> Self:
        """Pairs of a number and an element."""
        return type(self).zip((type(self).range(start, np.iinfo(np.int64).max), self))

    def scan(self, initial_state: Any, scan_func: Callable[..., Any], name: str | None = None) -> Self:
        """Apply a function to a state and each element; it returns the new state and an output."""
        leaves, spec = self._components(initial_state)
        function = self._mode.function(scan_func, self, before=spec)
        return self._then(computing.Scanned(self._stage, tuple(leaves), function, len(leaves)))

    def apply(self, transformation_func: Callable[[Any], Any]) -> BaseDataset:
        """Apply a function to the data set."""
        made = transformation_func(self)
        _require_dataset("apply: the function's result", made)
        return made

    # ---- putting together --------------------------------------------------------------------------------------------

    def batch(
        self,
        batch_size: Any,
        drop_remainder: bool = False,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Self:
        """So many elements as one; the last one may have fewer, unless `drop_remainder`."""
        size = self._count("batch", batch_size)
        if isinstance(size, int) and size <= 0:
            raise InvalidArgumentError(f"batch: argument `batch_size` must be greater than zero, got {size}")
        return self._then(combining.Batched(self._stage, size, bool(drop_remainder)))

    def padded_batch(
        self,
        batch_size: Any,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Self:
        """So many elements of different shapes as one, filled up.

        Parameters
        ----------
        batch_size : int or tensor
        padded_shapes : structure of shapes, optional
            None in a shape: as large as the largest of the batch. By default so for all dimensions not known.
        padding_values : structure of scalars, optional
            By default zeros and empty strings.
        drop_remainder : bool
        """
        spec = self._stage.spec
        leaves = avals(spec)
        shapes = shapes_to_fill(leaves, padded_shapes, spec)
        fills = [None] * len(leaves) if padding_values is None else spread(padding_values, len(leaves))
        values = [padding(a, v) for a, v in zip(leaves, fills, strict=True)]
        size = self._count("padded_batch", batch_size)
        return self._then(combining.PaddedBatched(self._stage, size, bool(drop_remainder), shapes, values))

    def unbatch(self, name: str | None = None) -> Self:
        """The rows of the elements."""
        return self._then(combining.Unbatched(self._stage))

    def window(
        self, size: int, shift: int | None = None, stride: int = 1, drop_remainder: bool = False, name: Any = None
    ) -> Self:
        """Data sets of `size` elements each, `stride` apart, which begin `shift` elements (by default `size`) apart."""
        how = [int(size), int(size if shift is None else shift), int(stride)]
        for label, value in zip(("size", "shift", "stride"), how, strict=True):
            if value < 1:
                raise InvalidArgumentError(f"window: argument `{label}` must be greater than zero, got {value}")
        return self._then(combining.Windows(self._stage, how[0], how[1], how[2], bool(drop_remainder)))

    def concatenate(self, dataset: Any, name: str | None = None) -> Self:
        """The elements, then those of another data set.

        Raises
        ------
        TypeError
            If dtypes or structures differ.
        """
        _require_dataset("concatenate", dataset)
        return self._then(combining.Concatenated(self._stage, dataset._stage))

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Self:
        """Not supported: an element that fails is an error."""
        raise NotImplementedError("ignore_errors: an element that fails is an error; leave such elements out by filter")

    def with_options(self, options: Any, name: str | None = None) -> Self:
        """The same data set: options change how fast one is in TensorFlow, not what it gives."""
        return self

    # ---- what is known -----------------------------------------------------------------------------------------------

    @property
    def element_spec(self) -> Any:
        """The structure of the elements, with a spec for each tensor."""
        return mapped(self._user_spec, self._stage.spec)

    def _user_spec(self, leaf: Any) -> Any:
        return (
            DatasetSpec(mapped(self._user_spec, leaf.spec)) if isinstance(leaf, DatasetLeaf) else self._mode.spec(leaf)
        )

    def _size(self) -> int:
        return self._stage.size(None)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} element_spec={self.element_spec}>"


class DatasetSpec:
    """The spec of a data set inside an element."""

    def __init__(self, element_spec: Any, dataset_shape: Any = ()) -> None:
        self.element_spec = element_spec

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DatasetSpec) and other.element_spec == self.element_spec

    def __hash__(self) -> int:
        return hash(repr(self.element_spec))

    def __repr__(self) -> str:
        return f"DatasetSpec({self.element_spec}, TensorShape([]))"


class Options(SimpleNamespace):
    """Options of data sets, kept for programs that set them: they change speed, not results."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return vars(self).setdefault(name, Options())


def _require_dataset(name: str, x: Any) -> None:
    if not isinstance(x, BaseDataset):
        raise TypeError(f"{name}: a data set is needed, got {x!r} of type {type(x).__name__}")
