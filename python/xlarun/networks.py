"""Policies: each class has start(n) and step(x, state, rng) for n observations at a time, or start() and step for one.

step returns the outputs and the next state. A class of your own of the second kind in `networks`, by the name of your
policy, makes members of it load: class(arrays, metadata), start(), step(x, state, rng).
"""
import copy
import json

import numpy

from .functions import activations, count, layer, sigmoid
from .genome import Genome
from .nir import NIR
from .spiking import Spiking
from .transformer import Transformer


class Batched:
    """A policy that steps n observations at a time, x [n, …]. Its state is None, an array [n, …] or a tuple of them."""

    np = numpy  # the library of the arrays

    def __init__(self, arrays, metadata):
        self.arrays, self.metadata = arrays, metadata

    def of(self, arrays, np):
        """The policy with other arrays, which are of np: numpy, jax.numpy or torch."""
        policy = copy.copy(self)
        policy.arrays, policy.np = arrays, np
        return policy

    def activation(self, x):
        return activations[self.metadata["activation"]](x, self.np)

    def batch_of_one(self, state):
        """A state of one observation as a state of n = 1; member_of_one is the reverse."""
        return tuple(a[None] for a in state) if isinstance(state, tuple) else None if state is None else state[None]

    def member_of_one(self, state):
        return tuple(a[0] for a in state) if isinstance(state, tuple) else None if state is None else state[0]

    def size(self, state):
        return len(state[0] if isinstance(state, tuple) else state)


class Loop:
    """A policy that steps one observation at a time, for n of them. Its state is a list."""

    def __init__(self, network):
        self.network = network

    def start(self, n):
        return [self.network.start() for _ in range(n)]

    def step(self, x, states, rng):
        outputs, states = zip(*(self.network.step(row, state, rng) for row, state in zip(x, states)))
        return numpy.stack(outputs), list(states)

    def batch_of_one(self, state):
        return [state]

    def member_of_one(self, states):
        return states[0]

    def size(self, states):
        return len(states)


class Stateless(Batched):
    """A policy without memory. x is the observations."""

    def start(self, n):
        return None

    def step(self, x, state, rng):
        return self.outputs(x), state


def flat(x):
    return x.reshape(len(x), -1)


class MLP(Stateless):
    def outputs(self, x):
        return perceptron(self.arrays, "Layers", flat(x), self.activation)


class GenomeMLP(MLP):
    """The perceptron that a genome draws; xlarun export writes it beside the genome."""

    def __init__(self, arrays, metadata):
        super().__init__(arrays, metadata)
        if "Layers.0.W" not in arrays:
            raise ValueError("the member has no layers, which its genome draws: export its run again with this xlarun")


class NormedMLP(Stateless):
    """Layers with layer normalization (flax's LayerNorm)."""

    def outputs(self, x):
        a, x = self.arrays, flat(x)
        norms = count(a, "Norms", ".Scale")
        for i in range(norms):
            x = layer(a, f"Layers.{i}", x)
            x = x - x.mean(1, keepdims=True)
            x = x / self.np.sqrt((x * x).mean(1, keepdims=True) + 1e-6)
            x = x * a[f"Norms.{i}.Scale"] + a[f"Norms.{i}.Bias"]
            x = self.activation(x)
        return layer(a, f"Layers.{norms}", x)


class CNN(Stateless):
    def outputs(self, x):
        a, np, stride = self.arrays, self.np, json.loads(self.metadata["stride"])
        if self.metadata.get("channels_first") == "true":
            x = np.moveaxis(x, 1, -1)
        for i in range(count(a, "Convs", ".W")):
            w = a[f"Convs.{i}.W"]  # height, width, in, out
            for axis in (1, 2) if self.metadata.get("padding") == "same" else ():
                n, kernel = x.shape[axis], w.shape[axis - 1]
                zeros = max(0, (n - 1) // stride * stride + kernel - n)
                zero = [np.zeros_like(x.sum(axis, keepdims=True))]
                x = np.concatenate(zero * (zeros // 2) + [x] + zero * (zeros - zeros // 2), axis)
            # one product for each place of the kernel, as the libraries' convolutions differ
            rows, columns = (n - kernel + 1 for n, kernel in zip(x.shape[1:3], w.shape[:2]))
            x = self.activation(sum(x[:, y:y + rows:stride, z:z + columns:stride] @ w[y, z]
                                    for y in range(w.shape[0]) for z in range(w.shape[1])) + a[f"Convs.{i}.B"])
        return perceptron(a, "Dense.Layers", flat(x), self.activation)


class BlockMLP(Stateless):
    def outputs(self, x):
        a = self.arrays
        x = self.activation(layer(a, "First", flat(x)))
        for i, blocks in enumerate(json.loads(self.metadata["reads"])):
            w = a[f"Blocks.{i}.W"]  # blocks, what each of them reads, its units
            read = x.reshape(len(x), -1, w.shape[2])[:, numpy.array(blocks)].reshape(len(x), len(w), -1)
            x = self.activation(flat(self.np.einsum("nbr,bru->nbu", read, w)) + a[f"Blocks.{i}.B"])
        return layer(a, "Last", x)


class Vector(Stateless):
    """The outputs are the parameters, whatever x is."""

    def outputs(self, x):
        return self.np.tile(self.arrays["Outputs"], (len(x), 1))


def perceptron(arrays, name, x, activation):
    layers = count(arrays, name, ".W")
    for i in range(layers):
        x = layer(arrays, f"{name}.{i}", x)
        if i < layers - 1:
            x = activation(x)
    return x


def parts(x, n):
    """n arrays [batch, units] of one [batch, n * units]."""
    size = x.shape[1] // n
    return [x[:, i * size:(i + 1) * size] for i in range(n)]


class Recurrent(Batched):
    """A policy with memory: cell(x, state) returns the next state and what the outputs read."""

    def start(self, n):
        return self.np.tile(self.np.zeros_like(self.arrays["Out.W"][:, 0]), (n, 1))

    def step(self, x, state, rng):
        state, seen = self.cell(flat(x), state)
        return layer(self.arrays, "Out", seen), state


class Elman(Recurrent):
    def cell(self, x, h):
        a = self.arrays
        h = self.np.tanh(x @ a["Cell.Wx"] + a["Cell.B"] + h @ a["Cell.Wh"])
        return h, h


class GRU(Recurrent):
    def cell(self, x, h):
        a, np = self.arrays, self.np
        r, z, n = parts(x @ a["Cell.Wx"] + a["Cell.B"], 3)
        hr, hz, hn = parts(h @ a["Cell.Wh"], 3)
        z = sigmoid(z + hz, np)
        h = (1 - z) * np.tanh(n + sigmoid(r + hr, np) * (hn + a["Cell.BN"])) + z * h
        return h, h


class LSTM(Recurrent):
    def start(self, n):
        return (super().start(n), super().start(n))

    def cell(self, x, state):
        a, np, (c, h) = self.arrays, self.np, state
        i, f, g, o = parts(x @ a["Cell.Wx"] + a["Cell.B"] + h @ a["Cell.Wh"], 4)
        c = sigmoid(f, np) * c + sigmoid(i, np) * np.tanh(g)
        h = sigmoid(o, np) * np.tanh(c)
        return (c, h), h


class MinGRU(Recurrent):
    def cell(self, x, h):
        z, new = parts(x @ self.arrays["Cell.W"] + self.arrays["Cell.B"], 2)
        z = sigmoid(z, self.np)
        h = (1 - z) * h + z * new
        return h, h


class CTRNN(Recurrent):
    def cell(self, x, y):
        a, np = self.arrays, self.np
        dt, (least, most) = json.loads(self.metadata["dt"]), json.loads(self.metadata["tau"])
        tau = least * (most / least) ** sigmoid(a["Cell.Time"], np)
        y = y + dt / tau * (sigmoid(y + a["Cell.Theta"], np) @ a["Cell.Wh"] + x @ a["Cell.Wx"] - y)
        return y, sigmoid(y + a["Cell.Theta"], np)


networks = {"mlp": MLP, "linear": MLP, "normedmlp": NormedMLP, "cnn": CNN, "blockmlp": BlockMLP, "elman": Elman,
            "gru": GRU, "lstm": LSTM, "mingru": MinGRU, "ctrnn": CTRNN, "vector": Vector, "genome": Genome,
            "spiking": Spiking, "nir": NIR, "transformer": Transformer,
            "hyperneat": GenomeMLP, "multispatial": GenomeMLP}
