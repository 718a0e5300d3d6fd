"""Policies whose network came from a NIR file; the layers are those of rollout/policy/nir.go."""
import json

import numpy as np

from .spiking import Spiking


class NIR(Spiking):
    def __init__(self, arrays, metadata):
        self.encoder, self.decoder, self.input = (metadata[key] for key in ("encoder", "decoder", "input"))
        for name in "substeps dt rate gain fields change".split():
            setattr(self, name, json.loads(metadata[name]))
        self.inputs(json.loads(metadata["observation_space"]))
        self.layers = []
        for i, text in enumerate(metadata["layers"].split(",")):
            a = {key.split(".")[2]: value for key, value in arrays.items() if key.startswith(f"Layers.{i}.")}
            l = {"kind": text.split(":")[0].removeprefix("r"), "size": int(text.split(":")[-1]), **a}
            l["beta"], l["alpha"] = (np.exp(-np.exp(-a[key])) if key in a else None for key in ("Membrane", "Synapse"))
            l["level"] = l["kind"] == "li" and i > 0 and "W" in self.layers[-1]  # the potential goes towards its input
            self.layers.append(l)

    def start(self):
        zeros = [np.zeros(l["size"], np.float32) for l in self.layers]
        return {"layers": [{"v": z, "i": z} for z in zeros], "changed": np.zeros(len(self.low), np.float32)}

    def step(self, x, state, rng):
        changed = state["changed"]
        if self.input == "observation":
            train = np.tile(x.reshape(-1) * np.float32(self.gain), (self.substeps, 1))
        else:
            train, changed = self.encode(self.scaled(x), changed, rng)
        layers, outputs = [dict(s) for s in state["layers"]], []
        for x in train:
            for l, s in zip(self.layers, layers):
                x = self.neurons(l, s, x)
            outputs.append(x)
        out = outputs[-1] if self.decoder == "last" else np.mean(outputs, 0)
        return out, {"layers": layers, "changed": changed}

    def neurons(self, l, s, x):
        """Changes the layer's state s, and returns what it gives for an input."""
        if "W" in l:
            return x @ l["W"] + l.get("B", 0)
        if l["kind"] == "li":
            s["v"] = x + l["beta"] * (s["v"] - x) if l["level"] else l["beta"] * s["v"] + x
            return s["v"]
        spikes = (s["v"] > l["Threshold"]).astype(np.float32)
        if "Wh" in l:
            x = x + spikes @ l["Wh"]
        if l["kind"] == "cubalif":
            s["i"] = l["alpha"] * s["i"] + x
            s["v"] = l["beta"] * (s["v"] - spikes * l["Threshold"]) + s["i"]
        else:
            s["v"] = l["beta"] * s["v"] + x - spikes * l["Threshold"]
        return spikes
