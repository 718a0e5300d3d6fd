"""The members of neat: a generation of networks in arrays with padding, and one of them as a function."""
import numpy as np

from .genome import Genome


class Network(Genome):
    """A network of a genome: outputs = network(inputs).

    One with cycles remembers the values of its nodes from call to call; reset begins again.
    """

    def __init__(self, arrays, metadata):
        super().__init__(arrays, metadata)
        self.reset()

    def reset(self):
        self.state = self.start()

    def __call__(self, inputs):
        outputs, self.state = self.step(np.asarray(inputs, np.float32), self.state, None)
        return outputs


class Genomes:
    """The networks of a generation: iterate over them, or take one by its number.

    arrays, by the names of a file of `xlarun export`, have an axis of networks in front.
    """

    def __init__(self, arrays, metadata):
        self.arrays, self.metadata = arrays, metadata

    def __len__(self):
        return len(next(iter(self.arrays.values())))

    def __getitem__(self, i):
        return Network({name: a[i] for name, a in self.arrays.items()}, self.metadata)
