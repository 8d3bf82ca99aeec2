"""What derivatives cost, in each mode and beside other libraries. `python -m bench.report` is the place to start."""
