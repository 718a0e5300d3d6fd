"""The members of neat: a generation of networks in arrays with padding, and one of them as a function."""
import operator

import numpy as np

from .genome import Genome


class Network(Genome):
    """A network of a genome: outputs = network(inputs), of arrays [inputs] and [outputs].

    One with cycles remembers the values of its nodes from call to call; reset begins again.
    """

    def __init__(self, arrays, metadata):
        super().__init__(arrays, metadata)
        self.metadata = metadata
        self.reset()

    def __reduce__(self):  # activations may be lambdas
        return type(self), (self.arrays, self.metadata), {"state": self.state}

    def reset(self):
        self.state = self.start()

    def __call__(self, inputs):
        x = np.asarray(inputs, np.float32)
        if x.shape != (self.inputs,):
            raise ValueError(f"the inputs have the shape {list(x.shape)}, want [{self.inputs}]: a network takes one "
                             "observation at a time")
        outputs, self.state = self.step(x, self.state, None)
        return outputs


class Genomes:
    """The networks of a generation: iterate over them, or take one by its number, or several by a slice.

    arrays, by the names of a file of `xlarun export`, have an axis of networks in front.
    """

    def __init__(self, arrays, metadata):
        self.arrays, self.metadata = arrays, metadata

    def __len__(self):
        return len(next(iter(self.arrays.values())))

    def __getitem__(self, i):
        kind, i = (Genomes, i) if isinstance(i, slice) else (Network, operator.index(i))
        return kind({name: a[i] for name, a in self.arrays.items()}, self.metadata)
