"""``tf.contrib.slim.python.slim.data.data_decoder``: what decoders of records are made of."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any


class DataDecoder(abc.ABC):
    """Base of decoders: they make tensors, each with a name, of one record."""

    @abc.abstractmethod
    def decode(self, data: Any, items: Sequence[str]) -> list[Any]:
        """The tensors that `items` name, of a record."""

    @abc.abstractmethod
    def list_items(self) -> Sequence[str]:
        """The names that `decode` knows."""
