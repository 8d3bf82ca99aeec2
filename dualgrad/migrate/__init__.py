"""Legacy programs: run unchanged on dualgrad's two front ends (``dualgrad run``).

`command` finds the subcommand; each subcommand is a module with ``add_arguments`` and ``main``.
"""
