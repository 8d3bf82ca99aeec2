"""A tool for GradBench, the benchmark suite of automatic differentiation [1]_: `python -m bench gradbench`.

`objectives` has the functions as the suite's specifications read, `nested` those that contain derivatives themselves,
`evals` says which derivative is asked of each, `differentiate` takes it in a mode, `protocol` speaks to the suite.

References
----------
.. [1] The GradBench project; its evals come from ADBench (F. Šrajer, Z. Kukelova, A. Fitzgibbon, Optim. Methods
   Softw. 33, 2018), from B. Bell's cmpad, and from J. Siskind and B. Pearlmutter (2008).
"""
