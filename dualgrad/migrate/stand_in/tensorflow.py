"""What a process that a running program starts imports as `tensorflow`: see `dualgrad.migrate.hook.stand_in`."""

from dualgrad.migrate.hook import stand_in

stand_in("tensorflow")
