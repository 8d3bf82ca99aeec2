"""What most tests of tapes begin with: something is computed while a tape watches what it is made of."""

from collections.abc import Callable
from typing import Any

from tape_api import GradientTape


def watching(watched: Any, make: Callable[[], Any], **options: Any) -> tuple[GradientTape, Any]:
    """The tape, and what `make` computes under it."""
    with GradientTape(**options) as tape:
        tape.watch(watched)
        made = make()
    return tape, made


def gradient_in(sources: Any, make: Callable[[], Any], *more: Any, method: str = "gradient", **options: Any) -> Any:
    """The gradient of what `make` computes; or what another method of the tape says of it."""
    tape, made = watching(sources, make)
    return getattr(tape, method)(made, sources, *more, **options)
