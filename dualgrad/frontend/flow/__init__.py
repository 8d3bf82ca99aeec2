"""Control flow of both front ends: functions of users become closed functions, which one op runs.

`closures` says how, `host` what a front end has to say; `choices`, `loops` and `rows` have the functions.
"""
