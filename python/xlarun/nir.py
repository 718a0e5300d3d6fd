"""Policies whose network came from a NIR file; the layers are those of rollout/policy/nir.go."""
import json

import numpy as np

from .encoding import Encoder


class NIR:
    def __init__(self, arrays, metadata):
        self.encoder, self.decoder, self.input = Encoder(metadata), metadata["decoder"], metadata["input"]
        self.layers = []
        for i, text in enumerate(metadata["layers"].split(",")):
            a = {key.split(".")[2]: value for key, value in arrays.items() if key.startswith(f"Layers.{i}.")}
            layer = {"kind": text.split(":")[0].removeprefix("r"), "size": int(text.split(":")[-1]), **a}
            for name, key in (("beta", "Membrane"), ("alpha", "Synapse")):
                layer[name] = np.exp(-np.exp(-a[key])) if key in a else None
            # If level, the potential goes towards its input.
            layer["level"] = layer["kind"] == "li" and i > 0 and "W" in self.layers[-1]
            self.layers.append(layer)

    def start(self):
        zeros = [np.zeros(layer["size"], np.float32) for layer in self.layers]
        return {"layers": [{"v": z, "i": z} for z in zeros], "changed": self.encoder.start()}

    def step(self, observation, state, rng):
        changed = state["changed"]
        if self.input == "observation":
            train = np.tile(observation.reshape(-1) * np.float32(self.encoder.gain), (self.encoder.substeps, 1))
        else:
            train, changed = self.encoder.encode(observation, changed, rng)
        layers, outputs = [dict(s) for s in state["layers"]], []
        for x in train:
            for layer, s in zip(self.layers, layers):
                x = self.neurons(layer, s, x)
            outputs.append(x)
        out = outputs[-1] if self.decoder == "last" else np.mean(outputs, 0)
        return out, {"layers": layers, "changed": changed}

    def neurons(self, layer, s, x):
        """Changes the layer's state s, and returns what it gives for an input."""
        if "W" in layer:
            return x @ layer["W"] + layer.get("B", 0)
        if layer["kind"] == "li":
            s["v"] = x + layer["beta"] * (s["v"] - x) if layer["level"] else layer["beta"] * s["v"] + x
            return s["v"]
        before, spikes = s["v"], (s["v"] > layer["Threshold"]).astype(np.float32)
        if "Wh" in layer:
            x = x + spikes @ layer["Wh"]
        if layer["kind"] == "cubalif":
            s["i"] = layer["alpha"] * s["i"] + x
            s["v"] = layer["beta"] * (s["v"] - spikes * layer["Threshold"]) + s["i"]
        else:
            s["v"] = layer["beta"] * s["v"] + x - spikes * layer["Threshold"]
        return np.where(np.isfinite(before), spikes, np.nan)  # NaN or infinity spreads to the spikes
