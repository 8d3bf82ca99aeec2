"""Random programs, each run in many ways that must agree: ``python -m tests.fuzz --help``, ``make fuzz N=1000``.

- `programs`: a program is data: leaves, instructions, what is asked of it; it prints as Python for either front end.
- `recipes`: what instructions there are, made from the op table and from a list of idioms.
- `generate`: a random program for a seed.
- `execute`: ways to run a program, and what each gives.
- `compare`: what it means that two ways agree.
- `shrink`: the smallest program that still disagrees.
- `corpus`: programs that once disagreed.
"""
