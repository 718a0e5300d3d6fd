"""Exported members acting in NumPy, for rollout/episode: OUTPUT_DIR/member_act.json, of each FILE.safetensors in OUTPUT_DIR.

Needs the packages safetensors and numpy only. `load` and `act` are what docs/members.md shows. {"versions", "members": [{"file",
"observations": [20, n], "outputs": [20, m], "actions": [20] or [20, m]}]}; arrays as in common.py. Observations whose two largest
outputs are closer than 1e-4 are left out: which is the larger one hangs on rounding there.
"""
import glob
import json
import math
import os

import numpy as np
from safetensors import safe_open

import common


# docs/members.md: begin
def load(path):
    with safe_open(path, "np") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata()


functions = {
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": lambda x: np.exp(-np.logaddexp(0, -x)),
    "silu": lambda x: x * np.exp(-np.logaddexp(0, -x)),
    "gelu": lambda x: x * np.array([math.erfc(-y / math.sqrt(2)) / 2 for y in x], np.float32),
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "softplus": lambda x: np.logaddexp(0, x),
    "softsign": lambda x: x / (1 + np.abs(x)),
}


def act(arrays, metadata, observation):
    x = np.asarray(observation, np.float32)
    if metadata.get("normalized_observations") == "true":
        x = np.clip((x - arrays["Observation.Mean"]) / arrays["Observation.Deviation"], -10, 10)
    x = x.reshape(-1)
    for i in range(len(json.loads(metadata["layers"])) - 1):
        if i > 0:
            x = functions[metadata["activation"]](x)
        x = x @ arrays[f"Layers.{i}.W"] + arrays[f"Layers.{i}.B"]
    if metadata["head"] == "argmax":
        return x, int(np.argmax(x))
    space = json.loads(metadata["action_space"])
    bounds = zip(x, space["low"], space["high"])
    action = [y if None in (low, high) else (low + high) / 2 + (high - low) / 2 * np.tanh(y) for y, low, high in bounds]
    return x, np.array(action, np.float32).reshape(space["shape"])
# docs/members.md: end


def main():
    folder = common.out_dir(__doc__)
    members = []
    for path in sorted(glob.glob(os.path.join(folder, "*.safetensors"))):
        arrays, metadata = load(path)
        space = json.loads(metadata["observation_space"])
        rng = np.random.default_rng(0)
        rows = []
        while len(rows) < 20:
            scale = [1 if high is None else high for high in space["high"]]
            observation = (rng.uniform(-1, 1, space["shape"]) * scale).astype(np.float32)
            output, action = act(arrays, metadata, observation)
            close = metadata["head"] == "argmax" and np.diff(np.sort(output)[-2:])[0] < 1e-4
            if not close:
                rows.append((observation, output, np.asarray(action)))
        observations, outputs, actions = (np.stack(column) for column in zip(*rows))
        members.append({"file": os.path.basename(path), "observations": common.encode(observations), "outputs": common.encode(outputs),
                        "actions": common.encode(actions)})
    common.write(os.path.join(folder, "member_act.json"), {"versions": common.versions_of("numpy", "safetensors"), "members": members})


if __name__ == "__main__":
    main()
