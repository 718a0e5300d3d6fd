"""Policies: each class has start() and step(x, state), which returns the outputs and the next state."""
import json

import numpy as np

from .functions import activations, count, layer, sigmoid
from .genome import Genome
from .nir import NIR
from .spiking import Spiking
from .transformer import Transformer


class Stateless:
    """A policy without memory. x is the observation."""

    def __init__(self, arrays, metadata):
        self.arrays, self.metadata = arrays, metadata
        self.activation = activations.get(metadata.get("activation"))

    def start(self):
        return None

    def step(self, x, state, rng):
        return self.outputs(x), state


class MLP(Stateless):
    def outputs(self, x):
        return perceptron(self.arrays, "Layers", x.reshape(-1), self.activation)


class NormedMLP(Stateless):
    """Layers with layer normalization (flax's LayerNorm)."""

    def outputs(self, x):
        a, x = self.arrays, x.reshape(-1)
        norms = count(a, "Norms", ".Scale")
        for i in range(norms):
            x = layer(a, f"Layers.{i}", x)
            x = (x - x.mean()) / np.sqrt(x.var() + 1e-6) * a[f"Norms.{i}.Scale"] + a[f"Norms.{i}.Bias"]
            x = self.activation(x)
        return layer(a, f"Layers.{norms}", x)


class CNN(Stateless):
    def outputs(self, x):
        a, stride = self.arrays, json.loads(self.metadata["stride"])
        if self.metadata.get("channels_first") == "true":
            x = np.moveaxis(x, 0, -1)
        for i in range(count(a, "Convs", ".W")):
            w = a[f"Convs.{i}.W"]  # height, width, in, out
            if self.metadata.get("padding") == "same":
                zeros = [max(0, (n - 1) // stride * stride + k - n) for n, k in zip(x.shape, w.shape[:2])]
                x = np.pad(x, [(z // 2, z - z // 2) for z in zeros] + [(0, 0)])
            windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[:2], axis=(0, 1))[::stride, ::stride]
            x = self.activation(np.einsum("yxcij,ijco->yxo", windows, w) + a[f"Convs.{i}.B"])
        return perceptron(a, "Dense.Layers", x.reshape(-1), self.activation)


class BlockMLP(Stateless):
    def outputs(self, x):
        a = self.arrays
        x = self.activation(layer(a, "First", x.reshape(-1)))
        for i, blocks in enumerate(json.loads(self.metadata["reads"])):
            w = a[f"Blocks.{i}.W"]  # blocks, what each of them reads, its units
            read = x.reshape(-1, w.shape[2])[np.array(blocks)].reshape(len(w), -1)
            x = self.activation(np.einsum("br,bru->bu", read, w).reshape(-1) + a[f"Blocks.{i}.B"])
        return layer(a, "Last", x)


class Vector(Stateless):
    """The outputs are the parameters, whatever x is."""

    def outputs(self, x):
        return self.arrays["Outputs"]


def perceptron(arrays, name, x, activation):
    layers = count(arrays, name, ".W")
    for i in range(layers):
        x = layer(arrays, f"{name}.{i}", x)
        if i < layers - 1:
            x = activation(x)
    return x


class Recurrent(Stateless):
    """A policy with memory: cell(x, state) returns the next state and what the outputs read."""

    def start(self):
        return np.zeros(len(self.arrays["Out.W"]), np.float32)

    def step(self, x, state, rng):
        state, seen = self.cell(x.reshape(-1), state)
        return layer(self.arrays, "Out", seen), state


class Elman(Recurrent):
    def cell(self, x, h):
        a = self.arrays
        h = np.tanh(x @ a["Cell.Wx"] + a["Cell.B"] + h @ a["Cell.Wh"])
        return h, h


class GRU(Recurrent):
    def cell(self, x, h):
        a = self.arrays
        r, z, n = np.split(x @ a["Cell.Wx"] + a["Cell.B"], 3)
        hr, hz, hn = np.split(h @ a["Cell.Wh"], 3)
        z = sigmoid(z + hz)
        h = (1 - z) * np.tanh(n + sigmoid(r + hr) * (hn + a["Cell.BN"])) + z * h
        return h, h


class LSTM(Recurrent):
    def start(self):
        return (super().start(), super().start())

    def cell(self, x, state):
        a, (c, h) = self.arrays, state
        i, f, g, o = np.split(x @ a["Cell.Wx"] + a["Cell.B"] + h @ a["Cell.Wh"], 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        return (c, h), h


class MinGRU(Recurrent):
    def cell(self, x, h):
        z, new = np.split(x @ self.arrays["Cell.W"] + self.arrays["Cell.B"], 2)
        h = (1 - sigmoid(z)) * h + sigmoid(z) * new
        return h, h


class CTRNN(Recurrent):
    def cell(self, x, y):
        a = self.arrays
        dt, (least, most) = json.loads(self.metadata["dt"]), json.loads(self.metadata["tau"])
        tau = least * (most / least) ** sigmoid(a["Cell.Time"])
        y = y + dt / tau * (sigmoid(y + a["Cell.Theta"]) @ a["Cell.Wh"] + x @ a["Cell.Wx"] - y)
        return y, sigmoid(y + a["Cell.Theta"])


networks = {"mlp": MLP, "linear": MLP, "normedmlp": NormedMLP, "cnn": CNN, "blockmlp": BlockMLP, "elman": Elman,
            "gru": GRU, "lstm": LSTM, "mingru": MinGRU, "ctrnn": CTRNN, "vector": Vector, "genome": Genome,
            "spiking": Spiking, "nir": NIR, "transformer": Transformer}
