"""Random changes of images (`engine.frontend.image_draws`) of eager tensors."""

from __future__ import annotations

import tape_api
from engine.frontend.image_draws import functions

globals().update(functions(tape_api))
