"""Observations as spike trains, as rollout/policy/spiking_code.go makes them."""
import json

import numpy as np

WIDE = 1e6  # the absolute value from which a bound counts as none
SILENT = 0.01  # the largest input without a spike with the encoder latency


class Encoder:
    """The encoder of a spiking policy, with its settings in the metadata of a file."""

    def __init__(self, metadata):
        self.encoder = metadata["encoder"]
        for name in "substeps dt rate gain fields change".split():
            setattr(self, name, json.loads(metadata[name]))
        self.inputs(json.loads(metadata["observation_space"]))

    def inputs(self, space):
        """Scales elements to 0..1, or to -1..1 if one of them has a bound below 0."""
        n = int(np.prod(space["shape"])) if space["type"] == "Box" else space["n"]
        self.low, self.scale, self.signed = np.zeros(n, np.float32), np.zeros(n, np.float32), False
        for i in range(n):
            low, high = 0.0, 1.0
            if space["type"] == "Box":
                low, high = (space[side][min(i, len(space[side]) - 1)] for side in ("low", "high"))
                low, high = (-np.inf if low is None else low), (np.inf if high is None else high)
            self.signed |= low < 0
            if abs(low) > WIDE or abs(high) > WIDE or not low < high:
                continue
            if low < 0:
                self.scale[i] = 1 / max(-low, high)
            else:
                self.low[i], self.scale[i] = low, 1 / (high - low)

    def start(self):
        """The inputs at which the encoder delta last sent a spike, [elements of an observation]."""
        return np.zeros(len(self.low), np.float32)

    def scaled(self, observation):
        x = observation.reshape(-1)
        return np.where(self.scale > 0, (x - self.low) * self.scale, x / (1 + np.abs(x))).astype(np.float32)

    def split(self, x):
        return np.concatenate([np.maximum(x, 0), np.maximum(-x, 0)]) if self.signed else x

    def encode(self, observation, changed, rng):
        """The trains of a step, [substeps, channels], and the next state of the encoder; changed is its state."""
        n, x = self.substeps, self.scaled(observation) * np.float32(self.gain)
        rate = lambda channels: np.clip(channels * np.float32(self.rate * self.dt * 0.001), 0, 1)
        t = np.arange(n)[:, None]
        if self.encoder == "current":
            train = np.tile(rate(self.split(x)), (n, 1))
        elif self.encoder == "rate":
            p = rate(self.split(x))
            train = rng.random((n, len(p))) < p
        elif self.encoder == "regular":
            p = rate(self.split(x))
            train = np.floor((t + 1) * p) - np.floor(t * p)
        elif self.encoder == "latency":
            p = np.clip(self.split(x), 0, 1)
            train = (t == np.round((1 - p) * (n - 1))) & (p > SILENT)
        elif self.encoder == "population":
            low = -1.0 if self.signed else 0.0
            width = (1 - low) / (self.fields - 1)
            distance = (x[:, None] - (low + width * np.arange(self.fields))) / width
            p = rate(np.exp(-0.5 * distance**2).reshape(-1))
            train = rng.random((n, len(p))) < p
        else:  # delta
            rises, falls = x - changed > self.change, x - changed < -self.change
            changed = np.where(rises | falls, x, changed)
            train = np.zeros((n, 2 * len(x)))
            train[0] = np.concatenate([rises, falls])  # sent in the first substep
        # NaN spreads to the spikes, as in Go.
        return np.where(np.isnan(x).any(), np.float32(np.nan), train.astype(np.float32)), changed
