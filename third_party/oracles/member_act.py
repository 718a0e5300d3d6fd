"""Exported members acting in NumPy, for rollout/episode: OUTPUT_DIR/member_act.json, of each FILE.safetensors in OUTPUT_DIR.

Needs the packages safetensors and numpy only. `load` and `act` are what docs/members.md shows. {"versions", "members": [{"file",
"observations": [20, …], "outputs": [20, m], "actions": [20] or [20, m]}]}; arrays as in common.py. Observations whose two largest
outputs are closer than 1e-4 are left out: which is the larger one hangs on rounding there. The 20 are the steps of one episode to
members that remember.
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


def sigmoid(x):
    return np.exp(-np.logaddexp(0, -x))


functions = {
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": sigmoid,
    "silu": lambda x: x * sigmoid(x),
    "gelu": lambda x: x * np.vectorize(lambda y: math.erfc(-y / math.sqrt(2)) / 2, otypes=[np.float32])(x),
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "softplus": lambda x: np.logaddexp(0, x),
    "softsign": lambda x: x / (1 + np.abs(x)),
}


def layer(a, name, x):
    return x @ a[name + ".W"] + a[name + ".B"]


def perceptron(a, name, x, function):
    count = sum(key.startswith(name) and key.endswith(".W") for key in a)
    for i in range(count):
        x = layer(a, f"{name}.{i}", x)
        if i < count - 1:
            x = function(x)
    return x


def cnn(a, x, function, stride, same, channels_first):
    if channels_first:
        x = np.moveaxis(x, 0, -1)
    for i in range(sum(key.startswith("Convs") and key.endswith(".W") for key in a)):
        w = a[f"Convs.{i}.W"]  # height, width, in, out
        if same:
            zeros = [max(0, (n - 1) // stride * stride + k - n) for n, k in zip(x.shape, w.shape[:2])]
            x = np.pad(x, [(z // 2, z - z // 2) for z in zeros] + [(0, 0)])
        windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[:2], axis=(0, 1))[::stride, ::stride]
        x = function(np.einsum("yxcij,ijco->yxo", windows, w) + a[f"Convs.{i}.B"])
    return perceptron(a, "Dense.Layers", x.reshape(-1), function)


def blockmlp(a, x, function, reads):
    x = function(layer(a, "First", x))
    for i, blocks in enumerate(reads):
        w = a[f"Blocks.{i}.W"]  # blocks, what each of them reads, its units
        read = x.reshape(-1, w.shape[2])[np.array(blocks)].reshape(len(w), -1)
        x = function(np.einsum("br,bru->bu", read, w).reshape(-1) + a[f"Blocks.{i}.B"])
    return layer(a, "Last", x)


def normedmlp(a, x, function):
    for i in range(sum(key.startswith("Norms") and key.endswith(".Scale") for key in a)):
        x = layer(a, f"Layers.{i}", x)
        x = (x - x.mean()) / np.sqrt(x.var() + 1e-6) * a[f"Norms.{i}.Scale"] + a[f"Norms.{i}.Bias"]
        x = function(x)
    return layer(a, f"Layers.{i + 1}", x)


def gru(a, x, h):
    r, z, n = np.split(x @ a["Cell.Wx"] + a["Cell.B"], 3)
    hr, hz, hn = np.split(h @ a["Cell.Wh"], 3)
    z = sigmoid(z + hz)
    h = (1 - z) * np.tanh(n + sigmoid(r + hr) * (hn + a["Cell.BN"])) + z * h
    return h, h


def lstm(a, x, memory):
    c, h = memory
    i, f, g, o = np.split(x @ a["Cell.Wx"] + a["Cell.B"] + h @ a["Cell.Wh"], 4)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    h = sigmoid(o) * np.tanh(c)
    return (c, h), h


def mingru(a, x, h):
    z, new = np.split(x @ a["Cell.W"] + a["Cell.B"], 2)
    h = (1 - sigmoid(z)) * h + sigmoid(z) * new
    return h, h


def elman(a, x, h):
    h = np.tanh(x @ a["Cell.Wx"] + a["Cell.B"] + h @ a["Cell.Wh"])
    return h, h


def ctrnn(a, x, y, dt, least, most):
    tau = least * (most / least) ** sigmoid(a["Cell.Time"])
    y = y + dt / tau * (sigmoid(y + a["Cell.Theta"]) @ a["Cell.Wh"] + x @ a["Cell.Wx"] - y)
    return y, sigmoid(y + a["Cell.Theta"])


def act(arrays, metadata, observation, memory=None, random=np.random.default_rng()):
    """Outputs, action, and what the member remembers: the memory of its next step; None at the start of an episode."""
    policy = metadata["policy"].split(":")[0]
    function = functions.get(metadata.get("activation"))
    space = json.loads(metadata["observation_space"])
    x = np.eye(space["n"])[int(observation)] if space["type"] == "Discrete" else observation
    x = np.asarray(x, np.float32)
    if metadata.get("normalized_observations") == "true":
        x = np.clip((x - arrays["Observation.Mean"]) / arrays["Observation.Deviation"], -10, 10)
    if memory is None and "Out.W" in arrays:
        memory = (np.zeros(len(arrays["Out.W"]), np.float32),) * 2 if policy == "lstm" else np.zeros(len(arrays["Out.W"]), np.float32)
    if policy == "cnn":
        out = cnn(arrays, x, function, json.loads(metadata["stride"]), metadata.get("padding") == "same", metadata.get("channels_first") == "true")
    elif policy == "blockmlp":
        out = blockmlp(arrays, x.reshape(-1), function, json.loads(metadata["reads"]))
    elif policy == "normedmlp":
        out = normedmlp(arrays, x.reshape(-1), function)
    elif policy in ("mlp", "linear"):
        out = perceptron(arrays, "Layers", x.reshape(-1), function)
    else:
        more = [json.loads(metadata["dt"]), *json.loads(metadata["tau"])] if policy == "ctrnn" else []
        step = {"gru": gru, "lstm": lstm, "mingru": mingru, "elman": elman, "ctrnn": ctrnn}[policy]
        memory, seen = step(arrays, x.reshape(-1), memory, *more)
        out = layer(arrays, "Out", seen)
    noisy = out
    if metadata.get("actions") == "sampled":  # the most probable action of noisy outputs is a draw
        noisy = out + (random.gumbel(size=out.shape) if metadata["head"] == "argmax" else np.exp(arrays["Distribution.Log"]) * random.normal(size=out.shape))
    if metadata["head"] == "argmax":
        return out, int(np.argmax(noisy)), memory
    space = json.loads(metadata["action_space"])
    bounds = zip(noisy, space["low"], space["high"])
    action = [y if None in (low, high) else (low + high) / 2 + (high - low) / 2 * np.tanh(y) for y, low, high in bounds]
    return out, np.array(action, np.float32).reshape(space["shape"]), memory
# docs/members.md: end


def main():
    folder = common.out_dir(__doc__)
    members = []
    for path in sorted(glob.glob(os.path.join(folder, "*.safetensors"))):
        arrays, metadata = load(path)
        space = json.loads(metadata["observation_space"])
        rng = np.random.default_rng(0)
        rows, memory = [], None
        while len(rows) < 20:
            scale = [1 if high is None else high for high in space["high"]]
            observation = (rng.uniform(-1, 1, space["shape"]) * np.reshape(scale, space["shape"])).astype(np.float32)
            output, action, after = act(arrays, metadata, observation, memory)
            close = metadata["head"] == "argmax" and np.diff(np.sort(output)[-2:])[0] < 1e-4
            if not close:
                rows.append((observation, np.asarray(output, np.float32), np.asarray(action)))
                memory = after
        observations, outputs, actions = (np.stack(column) for column in zip(*rows))
        members.append({"file": os.path.basename(path), "observations": common.encode(observations), "outputs": common.encode(outputs),
                        "actions": common.encode(actions)})
    common.write(os.path.join(folder, "member_act.json"), {"versions": common.versions_of("numpy", "safetensors"), "members": members})


if __name__ == "__main__":
    main()
