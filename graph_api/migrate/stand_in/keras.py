"""What a process that a running program starts imports as `keras`: see `graph_api.migrate.hook.stand_in`."""

from graph_api.migrate.hook import stand_in

stand_in("keras")
