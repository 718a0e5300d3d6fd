"""The policy genome: a network of nodes and connections in lists with padding."""
import json

import numpy as np

from .functions import sigmoid

activations = {
    "tanh": np.tanh, "sigmoid": sigmoid, "steep": lambda x: sigmoid(4.9 * x), "relu": lambda x: np.maximum(x, 0),
    "identity": lambda x: x, "sin": np.sin, "cos": np.cos, "gauss": lambda x: np.exp(-x * x), "abs": np.abs,
    "square": np.square, "clamped": lambda x: np.clip(x, -1, 1), "hat": lambda x: np.maximum(1 - np.abs(x), 0),
}

aggregations = {
    "sum": sum, "product": np.prod, "max": lambda x: max(x, default=0), "min": lambda x: min(x, default=0),
    "maxabs": lambda x: max(x, key=abs, default=0), "mean": lambda x: sum(x) / max(1, len(x)),
}


class Genome:
    """state holds the values of all nodes after the last step; a network without cycles does not read it."""

    def __init__(self, arrays, metadata):
        self.arrays, self.outputs, self.inputs = arrays, json.loads(metadata["outputs"]), json.loads(metadata["inputs"])
        self.recurrent = json.loads(metadata["recurrent"])
        functions, joins = json.loads(metadata["activations"]), json.loads(metadata["aggregations"])
        self.activation = [activations[functions[i]] for i in arrays["Nodes.Activation"]]
        self.aggregation = [aggregations[joins[i]] for i in arrays["Nodes.Aggregation"]]
        self.sources = [[] for _ in self.activation]  # of each node: the weight and the place of each source
        for on, source, target, weight in zip(*(arrays["Connections." + name] for name in ("Enabled", "From", "To",
                                                                                           "Weight"))):
            if on:
                self.sources[target].append((weight, source))

    def start(self):
        return np.zeros(len(self.activation), np.float32)

    def step(self, x, state, rng):
        values = dict(enumerate(x.reshape(-1)))

        def value(i, read):
            terms = [weight * read(source) for weight, source in self.sources[i]]
            return self.activation[i](self.arrays["Nodes.Bias"][i] +
                                      self.arrays["Nodes.Response"][i] * self.aggregation[i](terms))

        def now(i):
            if i not in values:
                values[i] = value(i, now)
            return values[i]

        if self.recurrent:
            before = {**dict(enumerate(state)), **values}
            state = np.array([values.get(i, value(i, before.get)) for i in range(len(state))], np.float32)
            return state[self.inputs:self.inputs + self.outputs], state
        return np.array([now(self.inputs + i) for i in range(self.outputs)], np.float32), state
