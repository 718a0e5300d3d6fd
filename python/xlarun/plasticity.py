"""Plasticity of the weights between layers: STDP of all pairs of spikes, as in graph/neuron/stdp.go."""
import json

import numpy as np


class Plasticity:
    """Changes of weights by the timing of spikes (stdp), or by timing and rewards (rewarded)."""

    kinds = ("none", "stdp", "rewarded")
    tau = 20  # ms, of the traces of spikes
    depression = np.float32(1.05)  # of a pair in reverse order, beside a pair in order

    def __init__(self, metadata, dt):
        self.rewarded = metadata["plasticity"] == "rewarded"
        self.rate, self.bound, tau = (np.float32(json.loads(metadata["plasticity_" + key]))
                                      for key in ("rate", "bound", "tau"))
        self.keep, self.keep_eligible = (np.float32(np.exp(-dt / t)) for t in (self.tau, tau))

    def start(self, w):
        """No change of the weights [in, out], and no traces of spikes."""
        return {"w": np.zeros_like(w), "pre": np.zeros(len(w), np.float32), "post": np.zeros(w.shape[1], np.float32),
                "eligible": np.zeros_like(w)}

    def step(self, s, pre, post):
        """The state after the spikes pre [in] and post [out] of a substep."""
        x, y = self.keep * s["pre"], self.keep * s["post"]
        change = self.rate * (np.outer(x, post) - self.depression * np.outer(pre, y))
        after = {"w": s["w"], "pre": x + pre, "post": y + post, "eligible": s["eligible"]}
        if self.rewarded:
            after["eligible"] = self.keep_eligible * s["eligible"] + change
        else:
            after["w"] = np.clip(s["w"] + change, -self.bound, self.bound)
        return after

    def reward(self, s, reward):
        """The state after a reward."""
        return {**s, "w": np.clip(s["w"] + np.float32(reward) * s["eligible"], -self.bound, self.bound)}
