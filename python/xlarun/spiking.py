"""Spiking policies with the fast dynamics, LIF neurons, with an adaptation (alif) or with synapses (cubalif), and with
the mechanistic ones (neurons.py).

Genes become numbers as in rollout/policy/spiking/genes.go, and the fast neurons are those of graph/nn.
"""
import json

import numpy as np

from .encoding import Encoder
from .functions import count, sigmoid
from .neurons import LONGEST, Neurons
from .plasticity import Plasticity


class Spiking:
    def __init__(self, arrays, metadata):
        self.arrays = arrays
        for name in ("dynamics", "decoder", "plasticity"):
            setattr(self, name, metadata[name])
        for name in ("substeps dt weight_scale tau synapse adaptation threshold jump delay rest reset reversal "
                     "refractory").split():
            setattr(self, name, json.loads(metadata[name]))
        self.mechanistic = self.dynamics.split(":")[0] == "mechanistic" and self.dynamics.split(":")[1] in LONGEST
        if not self.mechanistic and self.dynamics not in ("fast", "fast:alif", "fast:cubalif"):
            raise NotImplementedError(f"the dynamics {self.dynamics} run in Go only: this package has fast, fast:alif, "
                                      f"fast:cubalif and mechanistic:MODEL with {', '.join(LONGEST)}")
        if self.plasticity not in Plasticity.kinds:
            raise NotImplementedError(f"the plasticity {self.plasticity} is not among {', '.join(Plasticity.kinds)}")
        self.plastic = None if self.plasticity == "none" else Plasticity(metadata, self.dt)
        self.encoder = Encoder(metadata)
        self.layers = [self.layer(f"Layers.{i}.") for i in range(count(arrays, "Layers", ".B"))]
        self.keep = np.exp(-self.dt / self.between(arrays["Out.Membrane"], self.tau))

    def between(self, gene, bounds):
        least, most = bounds
        return least * np.exp(sigmoid(gene) * np.log(most / least))

    def layer(self, name):
        a = {key[len(name):]: value for key, value in self.arrays.items() if key.startswith(name)}
        layer = self.mechanistic_layer(a) if self.mechanistic else self.fast_layer(a)
        layer.update(W=a["W"], Wh=a.get("Wh"), units=len(a["B"]))
        if "Delay" in a:
            layer["steps"] = np.round(sigmoid(a["Delay"]) * self.delay).astype(int)
        return layer

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
        layer = {"beta": beta, "alpha": alpha, "gamma": gamma, "drive": drive,
                 "per_mv": per_mv, "jump": self.between(a["Jump"], self.jump) * per_mv}
        if self.dynamics == "fast:cubalif":
            layer["start"] = drive  # the constant current flows already
            layer["drive"], layer["per_mv"] = (1 - alpha) * drive, (1 - alpha) * per_mv
        return layer

    def start(self):
        layers = []
        for layer in self.layers:
            zeros = np.zeros(layer["units"], np.float32)
            state = (layer["neurons"].start() if self.mechanistic else
                     {"v": zeros, "second": layer.get("start", zeros)})
            if self.plastic:
                state["plastic"] = self.plastic.start(layer["W"])
            if "steps" in layer:
                state["sent"] = np.zeros((self.delay + 1, len(zeros)), np.float32)  # the newest first
            layers.append(state)
        return {"layers": layers, "out": np.zeros(len(self.arrays["Out.B"]), np.float32),
                "changed": self.encoder.start()}

    def step(self, observation, state, rng):
        train, changed = self.encoder.encode(observation, state["changed"], rng)
        layers, out, last = [dict(memory) for memory in state["layers"]], state["out"], []
        for spikes in train:
            for layer, s in zip(self.layers, layers):
                spikes = self.substep(layer, s, spikes)
            last.append(spikes)
            if self.decoder == "membrane":
                current = spikes @ self.arrays["Out.W"] + self.arrays["Out.B"]
                out = current + self.keep * (out - current)
        state = {"layers": layers, "out": out, "changed": changed}
        return self.decode(out, np.array(last)), state

    def learn(self, state, reward):
        """The state after the reward of a step, for weights that change by rewards."""
        layers = [{**s, "plastic": self.plastic.reward(s["plastic"], reward)} for s in state["layers"]]
        return {**state, "layers": layers}

    def substep(self, layer, s, spikes_in):
        """Changes the layer's state s, and returns the spikes that arrive at the next layer."""
        if self.mechanistic:
            fired = s["spikes"]
        else:
            threshold = 1 + s["second"] if self.dynamics == "fast:alif" else 1
            fired = (s["v"] > threshold).astype(np.float32)
        spikes = fired
        for variable in s["neurons"] if self.mechanistic else (s["v"], s["second"]):
            spikes = np.where(np.isfinite(variable), spikes, np.nan)  # NaN or infinity spreads to the neuron's spikes
        if "steps" in layer:
            s["sent"] = np.concatenate([spikes[None], s["sent"][:-1]])
            spikes = s["sent"][layer["steps"], np.arange(len(fired))]
        w = layer["W"]
        if self.plastic:  # by the weights before this substep, and the spikes that arrive and leave, before their delay
            w = w + s["plastic"]["w"]
            s["plastic"] = self.plastic.step(s["plastic"], spikes_in, fired)
        drive = lambda part: np.float32(self.weight_scale) * (
            spikes_in @ part(w) + (spikes @ part(layer["Wh"]) if layer["Wh"] is not None else 0))
        if self.mechanistic and layer["neurons"].by_sign:
            layer["neurons"].step(s, drive(lambda w: np.maximum(w, 0)), drive(lambda w: np.maximum(-w, 0)))
            return spikes
        total = drive(lambda w: w)
        if self.mechanistic:
            layer["neurons"].step(s, total, None)
            return spikes
        x = total * layer["per_mv"] + layer["drive"]
        if self.dynamics == "fast:cubalif":
            s["second"] = layer["alpha"] * s["second"] + x
            s["v"] = layer["beta"] * (s["v"] - fired) + s["second"]
        else:
            s["v"] = layer["beta"] * s["v"] + x - fired * threshold
            if self.dynamics == "fast:alif":
                s["second"] = layer["gamma"] * s["second"] + layer["jump"] * fired
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
