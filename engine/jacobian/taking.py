"""What taking a derivative does to the tape."""

from __future__ import annotations

from typing import Any


class Taking:
    """Targets and sources as flat lists. Afterwards the tape is spent; after an error it is as it was."""

    def __init__(self, of: Any, target: Any, sources: Any) -> None:
        self._of, self._target, self._sources = of, target, sources

    def __enter__(self) -> tuple[list[Any], list[Any]]:
        self._recording = self._of._tape.is_recording
        try:
            return self._of._start(self._target, self._sources)
        except BaseException as error:
            self.__exit__(type(error))
            raise

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None:
            self._of._finish()
        elif self._recording:
            self._of._tape.start()
