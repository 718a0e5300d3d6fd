"""Activation functions and layers."""
import math

import numpy as np


def sigmoid(x):
    return np.exp(-np.logaddexp(0, -x))


activations = {
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": sigmoid,
    "silu": lambda x: x * sigmoid(x),
    "gelu": lambda x: x * np.vectorize(lambda y: math.erfc(-y / math.sqrt(2)) / 2, otypes=[np.float32])(x),
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "softplus": lambda x: np.logaddexp(0, x),
    "softsign": lambda x: x / (1 + np.abs(x)),
}


def layer(arrays, name, x):
    return x @ arrays[name + ".W"] + arrays[name + ".B"]


def count(arrays, prefix, suffix):
    """The number of arrays named prefix, a number, suffix."""
    return sum(name.startswith(prefix + ".") and name.endswith(suffix) for name in arrays)
