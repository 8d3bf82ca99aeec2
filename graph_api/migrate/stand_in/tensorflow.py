"""What a process that a running program starts imports as `tensorflow`: see `graph_api.migrate.hook.stand_in`."""

from graph_api.migrate.hook import stand_in

stand_in("tensorflow")
