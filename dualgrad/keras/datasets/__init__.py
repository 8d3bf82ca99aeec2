"""``keras.datasets``: the data sets of tutorials, read from where Keras keeps them (``~/.keras/datasets``).

A file that is not there is downloaded, where the machine can; else the error says what to fetch and where to put it.
"""

from dualgrad.keras.datasets import boston_housing, cifar10, cifar100, fashion_mnist, imdb, mnist

__all__ = ["boston_housing", "cifar10", "cifar100", "fashion_mnist", "imdb", "mnist"]
