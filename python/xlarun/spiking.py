"""Spiking policies with the fast dynamics, LIF neurons, with an adaptation (alif) or with synapses (cubalif), and with the
mechanistic ones (neurons.py).

Genes become numbers as in rollout/policy/spiking/genes.go, and the fast neurons are those of graph/nn.
"""
import json

import numpy as np

from .functions import count, sigmoid
from .neurons import LONGEST, Neurons

WIDE = 1e6  # the absolute value from which a bound counts as none
SILENT = 0.01  # the largest input without a spike with the encoder latency


class Spiking:
    def __init__(self, arrays, metadata):
        self.arrays = arrays
        for name in ("dynamics", "encoder", "decoder", "plasticity"):
            setattr(self, name, metadata[name])
        for name in ("substeps dt rate gain weight_scale tau synapse adaptation threshold jump delay fields "
                     "change rest reset reversal refractory").split():
            setattr(self, name, json.loads(metadata[name]))
        self.mechanistic = self.dynamics.split(":")[0] == "mechanistic" and self.dynamics.split(":")[1] in LONGEST
        if not self.mechanistic and self.dynamics not in ("fast", "fast:alif", "fast:cubalif"):
            raise NotImplementedError(f"the dynamics {self.dynamics} run in Go only: this package has fast, fast:alif, "
                                      f"fast:cubalif and mechanistic:MODEL with {', '.join(LONGEST)}")
        if self.plasticity != "none":
            raise NotImplementedError(f"the plasticity {self.plasticity} runs in Go only")
        self.inputs(json.loads(metadata["observation_space"]))
        self.layers = [self.layer(f"Layers.{i}.") for i in range(count(arrays, "Layers", ".B"))]
        self.keep = np.exp(-self.dt / self.between(arrays["Out.Membrane"], self.tau))

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

    def between(self, gene, bounds):
        least, most = bounds
        return least * np.exp(sigmoid(gene) * np.log(most / least))

    def layer(self, name):
        a = {key[len(name):]: value for key, value in self.arrays.items() if key.startswith(name)}
        l = self.mechanistic_layer(a) if self.mechanistic else self.fast_layer(a)
        l.update(W=a["W"], Wh=a.get("Wh"), units=len(a["B"]))
        if "Delay" in a:
            l["steps"] = np.round(sigmoid(a["Delay"]) * self.delay).astype(int)
        return l

    def mechanistic_layer(self, a):
        n = {key: self.between(a[key.capitalize()], bounds) for key, bounds in (
            ("membrane", self.tau), ("synapse", self.synapse), ("adaptation", self.adaptation), ("jump", self.jump))}
        n["rest"], n["reset"] = (np.full_like(a["B"], x) for x in (self.rest, self.reset))
        n["threshold"] = n["rest"] + self.between(a["Threshold"], self.threshold)
        n["drive"] = np.float32(self.weight_scale) * a["B"]
        return {"neurons": Neurons(self.dynamics, n, self.dt, self.reversal, self.refractory)}

    def fast_layer(self, a):
        beta, alpha, gamma = (np.exp(-self.dt / self.between(a[key], bounds)) for key, bounds in (
            ("Membrane", self.tau), ("Synapse", self.synapse), ("Adaptation", self.adaptation)))
        per_mv = 1 / self.between(a["Threshold"], self.threshold)
        drive = (1 - beta) * self.weight_scale * a["B"] * per_mv
        l = {"beta": beta, "alpha": alpha, "gamma": gamma, "drive": drive,
             "per_mv": per_mv, "jump": self.between(a["Jump"], self.jump) * per_mv}
        if self.dynamics == "fast:cubalif":
            l["start"] = drive  # the constant current flows already
            l["drive"], l["per_mv"] = (1 - alpha) * drive, (1 - alpha) * per_mv
        return l

    def start(self):
        layers = []
        for l in self.layers:
            zeros = np.zeros(l["units"], np.float32)
            state = l["neurons"].start() if self.mechanistic else {"v": zeros, "second": l.get("start", zeros)}
            if "steps" in l:
                state["sent"] = np.zeros((self.delay + 1, len(zeros)), np.float32)  # the newest first
            layers.append(state)
        return {"layers": layers, "out": np.zeros(len(self.arrays["Out.B"]), np.float32),
                "changed": np.zeros(len(self.low), np.float32)}

    def step(self, x, state, rng):
        train, changed = self.encode(self.scaled(x), state["changed"], rng)
        layers, out, last = [dict(l) for l in state["layers"]], state["out"], []
        for spikes in train:
            for l, s in zip(self.layers, layers):
                spikes = self.substep(l, s, spikes)
            last.append(spikes)
            if self.decoder == "membrane":
                arrived = spikes @ self.arrays["Out.W"] + self.arrays["Out.B"]
                out = arrived + self.keep * (out - arrived)
        state = {"layers": layers, "out": out, "changed": changed}
        return self.decode(out, np.array(last)), state

    def scaled(self, observation):
        x = observation.reshape(-1)
        return np.where(self.scale > 0, (x - self.low) * self.scale, x / (1 + np.abs(x))).astype(np.float32)

    def split(self, x):
        return np.concatenate([np.maximum(x, 0), np.maximum(-x, 0)]) if self.signed else x

    def encode(self, x, changed, rng):
        """The trains of a step, [substeps, channels]."""
        n, x = self.substeps, x * np.float32(self.gain)
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
        return train.astype(np.float32), changed

    def substep(self, l, s, arriving):
        """Changes the layer's state s, and returns the spikes that arrive at the next layer."""
        if self.mechanistic:
            fired = s["spikes"]
        else:
            threshold = 1 + s["second"] if self.dynamics == "fast:alif" else 1
            fired = (s["v"] > threshold).astype(np.float32)
        spikes = fired
        if "steps" in l:
            s["sent"] = np.concatenate([fired[None], s["sent"][:-1]])
            spikes = s["sent"][l["steps"], np.arange(len(fired))]
        arrives = lambda part: np.float32(self.weight_scale) * (
            arriving @ part(l["W"]) + (spikes @ part(l["Wh"]) if l["Wh"] is not None else 0))
        if self.mechanistic and l["neurons"].by_sign:
            l["neurons"].step(s, arrives(lambda w: np.maximum(w, 0)), arrives(lambda w: np.maximum(-w, 0)))
            return spikes
        total = arrives(lambda w: w)
        if self.mechanistic:
            l["neurons"].step(s, total, None)
            return spikes
        x = total * l["per_mv"] + l["drive"]
        if self.dynamics == "fast:cubalif":
            s["second"] = l["alpha"] * s["second"] + x
            s["v"] = l["beta"] * (s["v"] - fired) + s["second"]
        else:
            s["v"] = l["beta"] * s["v"] + x - fired * threshold
            if self.dynamics == "fast:alif":
                s["second"] = l["gamma"] * s["second"] + l["jump"] * fired
        return spikes

    def decode(self, potentials, spikes):
        w, b = self.arrays["Out.W"], self.arrays["Out.B"]
        counts = spikes.sum(0)
        if self.decoder == "membrane":
            return potentials
        if self.decoder == "first-spike":
            n = len(spikes)
            return (spikes * (1 - np.arange(n) / n)[:, None]).max(0) @ w + b
        if self.decoder == "population-vector":
            return counts @ w / (counts.sum() or 1) + b
        return counts / self.substeps @ w + b
