"""Module that a process which a running program starts imports as `keras`: see `dualgrad.migrate.hook.stand_in`."""

from dualgrad.migrate.hook import stand_in

stand_in("keras")
