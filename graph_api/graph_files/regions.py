"""Where the choices and loops of TensorFlow 1's control flow are among the nodes of a graph.

TensorFlow 1 has no node for a choice or a loop. `Switch` sends a value one of two ways, and what follows from it is
alive only if the predicate chose that way; `Merge` hands on what is alive. In a loop, a *frame*, `Enter` brings values
in, `Merge` takes them from there or from `NextIteration`, `Switch` with the loop's condition sends them on, or to
`Exit`.

`Regions` finds for each node its frames, from outside to inside, and its conditions, ``(predicate, side)``. So a node
belongs to the body of a loop or to a branch, and a `Merge` is the result of a choice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from engine.runtime.errors import InvalidArgumentError
from graph_api.graph_files.definition import Definition, Item, Ref

SWITCHES = frozenset({"Switch", "RefSwitch"})
MERGES = frozenset({"Merge", "RefMerge"})
ENTERS = frozenset({"Enter", "RefEnter"})
EXITS = frozenset({"Exit", "RefExit"})
STEPS = frozenset({"NextIteration", "RefNextIteration"})
PARTS = SWITCHES | MERGES | ENTERS | EXITS | STEPS | {"LoopCond"}
"""Ops that control flow is made of."""

Condition = tuple[Ref, int]
Frames = tuple[str, ...]


class Place(NamedTuple):
    """Where a node belongs."""

    frames: Frames
    conditions: frozenset[Condition]


TOP = Place((), frozenset())


class Choice:
    """Results of one choice: the merges that depend on one predicate and not on one another."""

    def __init__(self, pred: Ref, place: Place) -> None:
        self.pred, self.place = pred, place
        self.merges: list[Item] = []
        self.sides: list[list[Ref]] = [[], []]


class Loop:
    """A loop: its condition, and per loop variable where it starts, what it is next, and where it comes out."""

    def __init__(self, frames: Frames) -> None:
        self.frames = frames
        self.test: Ref | None = None
        self.starts: list[Ref] = []
        self.merges: list[str] = []
        self.nexts: list[Ref] = []
        self.switches: dict[str, int] = {}
        self.exits: dict[str, int] = {}


class Regions:
    """The choices and loops of a definition.

    Attributes
    ----------
    places : dict of str to Place
        Per node.
    choices, loops : dict of str to Choice or Loop
        Per `Merge` and `Exit`, what it is a result of.

    Raises
    ------
    InvalidArgumentError
        If nodes need one another in a circle that is no loop, or control flow is not made as TensorFlow makes it.
    """

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        self.items = definition.items
        self._back = {
            (item.name, ref.node)
            for item in self.items.values()
            if item.op in MERGES
            for ref in item.inputs
            if ref.node in self.items and self.items[ref.node].op in STEPS
        }
        self.order = definition.in_order(frozenset(self._back))
        self.places: dict[str, Place] = dict.fromkeys(definition.arguments, TOP)
        self.choices: dict[str, Choice] = {}
        self.loops: dict[str, Loop] = {}
        self._by_frames: dict[Frames, Loop] = {}
        self._open: dict[tuple[Ref, Place, int, str], Choice] = {}
        self._depth: dict[str, dict[Ref, int]] = {}
        for item in self.order:
            self._visit(item)

    # ---- nodes in order ----------------------------------------------------------------------------------------------

    def _visit(self, item: Item) -> None:
        needed = [*item.inputs, *[Ref(c, 0) for c in item.controls]]
        inputs = [self._of(ref) for ref in needed if (item.name, ref.node) not in self._back]
        frames = max([p.frames for p in inputs], key=len, default=())
        if any(frames[: len(p.frames)] != p.frames for p in inputs):
            raise InvalidArgumentError(f"the node {item.name!r} belongs to two loops at once")
        conditions = frozenset().union(*[p.conditions for p in inputs])
        depth: dict[Ref, int] = {}
        for ref in needed:
            for pred, n in self._depth.get(ref.node, {}).items():
                depth[pred] = max(n, depth.get(pred, 0))
        place = Place(frames, conditions)
        if item.op in ENTERS:
            place = Place((*frames, item.proto.attr["frame_name"].s.decode(errors="replace")), conditions)
        elif item.op in EXITS:
            if not frames:
                raise InvalidArgumentError(f"the node {item.name!r} leaves a loop without being in one")
            place = Place(frames[:-1], conditions)
        elif item.op in MERGES and not any(name == item.name for name, _ in self._back):
            place = self._choice(item, place, depth)
        self.places[item.name] = place
        if depth:
            self._depth[item.name] = depth

    def _of(self, ref: Ref) -> Place:
        """Where a value belongs: for one of a switch, the side that it is on."""
        item, place = self.items.get(ref.node), self.places[ref.node]
        if item is None or item.op not in SWITCHES or self._is_of_loop(item):
            return place
        return Place(place.frames, place.conditions | {(self.predicate(item), min(ref.index, 1))})

    def _is_of_loop(self, switch: Item) -> bool:
        chooser = self.items.get(switch.inputs[1].node) if len(switch.inputs) > 1 else None
        return chooser is not None and chooser.op == "LoopCond"

    def predicate(self, switch: Item) -> Ref:
        """The value that decides a switch, behind all identities."""
        if len(switch.inputs) != 2:
            raise InvalidArgumentError(f"the node {switch.name!r} needs a value and a predicate")
        ref = switch.inputs[1]
        while ref.node in self.items and self.items[ref.node].op == "Identity" and self.items[ref.node].inputs:
            ref = self.items[ref.node].inputs[0]
        return ref

    def _choice(self, item: Item, place: Place, depth: dict[Ref, int]) -> Place:
        if len(item.inputs) != 2:
            raise InvalidArgumentError(f"the node {item.name!r} merges {len(item.inputs)} values, not two")
        sides = [self._of(ref).conditions for ref in item.inputs]
        against = [(pred, side) for pred, side in sides[0] if (pred, 1 - side) in sides[1]]
        if len(against) != 1:
            raise InvalidArgumentError(f"the node {item.name!r} merges values between which nothing chooses")
        pred, side = against[0]
        outer = Place(place.frames, frozenset(c for c in place.conditions if c[0] != pred))
        depth[pred] = depth.get(pred, 0) + 1
        # one `cond` puts all of its merges in one scope
        key = (pred, outer, depth[pred], item.name.rpartition("/")[0])
        choice = self._open.setdefault(key, Choice(pred, outer))
        choice.merges.append(item)
        choice.sides[side].append(item.inputs[0])
        choice.sides[1 - side].append(item.inputs[1])
        self.choices[item.name] = choice
        return outer

    # ---- loops -------------------------------------------------------------------------------------------------------

    def loop_of(self, exit_name: str) -> Loop:
        """The loop that a value leaves by an `Exit`."""
        loop = self.loops.get(exit_name)
        if loop is None:
            frames = self._inner(self.items[exit_name])
            loop = self._by_frames.get(frames)
            if loop is None:
                loop = self._by_frames[frames] = self._loop(frames)
            self.loops[exit_name] = loop
        return loop

    def _inner(self, item: Item) -> Frames:
        if len(item.inputs) != 1:
            raise InvalidArgumentError(f"the node {item.name!r} needs one value")
        return self.places[item.inputs[0].node].frames

    def _loop(self, frames: Frames) -> Loop:
        loop = Loop(frames)
        inside = [item for item in self.order if self.places[item.name].frames == frames]
        starts: dict[str, Ref] = {}
        for item in inside:
            if item.op == "LoopCond":
                loop.test = self._only(item)
            elif item.op in MERGES and (back := [r for r in item.inputs if (item.name, r.node) in self._back]):
                enter = [self.items.get(r.node) for r in item.inputs if r not in back]
                if len(enter) != 1 or len(back) != 1 or enter[0] is None or enter[0].op not in ENTERS:
                    raise InvalidArgumentError(f"the node {item.name!r} is no loop variable")
                starts[item.name] = self._only(enter[0])
                loop.merges.append(item.name)
                loop.starts.append(starts[item.name])
                loop.nexts.append(self._only(self.items[back[0].node]))
        for item in inside:
            if item.op in SWITCHES and self._is_of_loop(item) and item.inputs[0].node in starts:
                loop.switches[item.name] = loop.merges.index(item.inputs[0].node)
        for item in self.order:
            if item.op in EXITS and self._inner(item) == frames:
                source = self._only(item)
                if source.node not in loop.switches or source.index:
                    raise InvalidArgumentError(f"the node {item.name!r} leaves the loop with no loop variable")
                loop.exits[item.name] = loop.switches[source.node]
        if loop.test is None:
            raise InvalidArgumentError(f"the loop {'/'.join(frames)!r} has no condition")
        return loop

    def _only(self, item: Item) -> Ref:
        if len(item.inputs) != 1:
            raise InvalidArgumentError(f"the node {item.name!r} needs one value")
        return item.inputs[0]

    # ---- what a choice or a loop takes from around it ----------------------------------------------------------------

    def taken(self, targets: Sequence[Ref], place: Place) -> Iterator[Ref]:
        """The values from outside a place, a branch or a body, that `targets` need."""
        left, seen = list(targets), set()
        while left:
            ref = left.pop()
            if ref in seen:
                continue
            seen.add(ref)
            if not self.is_inside(ref.node, place):
                yield ref
                continue
            item = self.items[ref.node]
            left += item.inputs
            left += [Ref(c, 0) for c in item.controls]

    def is_inside(self, name: str, place: Place) -> bool:
        """Whether a node belongs to a place, or to one inside of it."""
        own = self.places[name]
        frames = place.frames
        return own.frames[: len(frames)] == frames and (own.frames != frames or place.conditions <= own.conditions)
