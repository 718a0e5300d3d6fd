"""A causal transformer that steps: attention with rotary positions over the steps in its memory."""
import json

import numpy as np

from .functions import count, layer


class Transformer:
    def __init__(self, arrays, metadata):
        missing = [key for key in ("heads", "memory") if key not in metadata]
        if missing:
            raise ValueError(f"the member has no {missing[0]} in its metadata: export its run again with this xlarun")
        self.arrays = arrays
        self.heads, self.memory = json.loads(metadata["heads"]), json.loads(metadata["memory"])
        self.blocks = count(arrays, "Blocks", ".Up.W")
        self.depth = arrays["In.W"].shape[1] // self.heads

    def start(self):
        """Keys and values of each block, and the steps so far."""
        return np.zeros((self.blocks, 2, self.memory, self.heads, self.depth), np.float32), 0

    def step(self, x, state, rng):
        cache, steps = state[0].copy(), state[1]
        x = layer(self.arrays, "In", x.reshape(-1))
        for i in range(self.blocks):
            block = f"Blocks.{i}."
            x = x + self.attend(block + "Attention.", self.norm(block + "Seen", x), cache[i], steps)
            hidden = gelu_tanh(layer(self.arrays, block + "Up", self.norm(block + "Mixed", x)))
            x = x + layer(self.arrays, block + "Down", hidden)
        return layer(self.arrays, "Out", self.norm("Norm", x)), (cache, steps + 1)

    def norm(self, name, x):
        scaled = (x - x.mean()) / np.sqrt(x.var() + 1e-6)
        return scaled * self.arrays[name + ".Scale"] + self.arrays[name + ".Bias"]

    def attend(self, name, x, cache, steps):
        """Attention of a step after so many steps. It takes its place in the cache."""
        query, key, value = (layer(self.arrays, name + part, x).reshape(self.heads, self.depth)
                             for part in ("Query", "Key", "Value"))
        cache[:, steps % self.memory] = self.rotary(key, steps), value
        keys, values = cache[:, :steps + 1]  # those that hold a step
        scores = np.einsum("hd,khd->hk", self.rotary(query, steps) / np.sqrt(self.depth), keys)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        return layer(self.arrays, name + "Out", np.einsum("hk,khd->hd", weights, values).reshape(-1))

    def rotary(self, x, steps):
        half = self.depth // 2
        angle = np.float32(steps) * np.float32(10000.0 ** (-np.arange(half) / half))
        p, q = x[:, :half], x[:, half:]
        return np.concatenate([p * np.cos(angle) - q * np.sin(angle), q * np.cos(angle) + p * np.sin(angle)], 1)


def gelu_tanh(x):
    return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))
