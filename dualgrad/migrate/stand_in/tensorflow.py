"""Module that a process started by a program imports as `tensorflow`: see `dualgrad.migrate.hook.stand_in`."""

from dualgrad.migrate.hook import stand_in

stand_in("tensorflow")
