"""Keras's layers, losses, metrics and models, each defined once for both front ends.

The definitions stand on the engine's functions (`dualgrad.keras.functions`). What differs between graphs and
tapes, a class asks its `host` for: new weights, random numbers, assignments, names. A front end binds the definitions
to its host (`dualgrad.keras.host`).
"""
