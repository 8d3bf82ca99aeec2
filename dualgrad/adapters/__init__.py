"""Functions of `for_scipy` and `for_ode` as the solvers of other libraries take them: a module for each library.

Each is thin: it asks for the values, derivatives and patterns in the layout, triangle and type of index that the
library wants, and holds nothing of its own. A library is imported when one of its functions is called.
"""

from __future__ import annotations
