"""Callbacks of `fit`: ``tf.keras.callbacks``, which `dualgrad.keras.callbacks` and `board` define."""

from dualgrad.keras import callbacks as _shared
from dualgrad.keras import progress as _progress
from dualgrad.keras.callbacks import *  # noqa: F403 - `fill` binds this mode's forms
from dualgrad.keras.progress import ProgbarLogger as ProgbarLogger  # noqa: PLC0414
from tape_api.keras import backups as _backups
from tape_api.keras import board as _board
from tape_api.keras.backups import BackupAndRestore as BackupAndRestore  # noqa: PLC0414
from tape_api.keras.board import TensorBoard as TensorBoard  # noqa: PLC0414
from tape_api.keras_host import host as _host

_host.fill(globals(), _shared, _backups)
_host.fill(globals(), _progress, names=("ProgbarLogger",))
_host.fill(globals(), _board, names=("TensorBoard",))
