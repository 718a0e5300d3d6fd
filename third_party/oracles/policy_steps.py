"""Twenty steps of each policy with memory, and of a CNN, from flax.linen and NumPy: OUTPUT_DIR/policy_steps.json.gz.

{"versions", "cases": [{"name", "spec", "settings": {name: text}, "inputs": {name: array}, "outputs": [20, n]}...]}; arrays as in common.py,
float32. "inputs" are the parameters (paths joined by "/": "cell/ir/kernel", "out/bias") and "x" [20, …], the observations; "spec" and
"settings" are what makes the policy here; "outputs" are those of the linear layer behind the memory after each step, from a state of zeros.
  gru, elman      GRUCell, SimpleCell
  lstm            LSTMCell and OptimizedLSTMCell, whose parameters have the same names
  mingru, ctrnn   NumPy, in float64, by the formulas of the papers that rollout/policy names; parameters cell/wz, cell/bz, cell/wh, cell/bh, and
                  cell/wx, cell/wh, cell/theta, cell/time
  cnn             Conv with "VALID" or "SAME" padding, then Dense layers; x [20, height, width, channels]
"""
import os

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from common import encode, out_dir, versions, write

RNG = np.random.default_rng(23)
STEPS = 20


def normal(*shape, scale=1.0):
    return (RNG.standard_normal(shape) * scale).astype(np.float32)


def named(tree):
    return {"/".join(k.key for k in path): np.asarray(v) for path, v in jax.tree_util.tree_flatten_with_path(tree)[0]}


def drawn(module, *args):
    """Parameters in which no bias is left at zero."""
    params = module.init(jax.random.key(0), *args)["params"]
    return jax.tree.map(lambda p: p + normal(*p.shape, scale=0.3), params)


def with_memory(name, cell, inputs, units, outputs):
    class Net(nn.Module):
        @nn.compact
        def __call__(self, carry, x):
            carry, y = cell(units, name="cell")(carry, x)
            return carry, nn.Dense(outputs, name="out")(y)

    net, x = Net(), normal(STEPS, inputs)
    carry = cell(units).initialize_carry(jax.random.key(0), (inputs,))
    carry = jax.tree.map(jnp.zeros_like, carry)
    params = drawn(net, carry, x[0])
    rows = []
    for row in x:
        carry, y = net.apply({"params": params}, carry, row)
        rows.append(np.asarray(y))
    return case(name, f"{name}:{units}", {**named(params), "x": x}, rows)


def case(name, spec, inputs, rows, settings=None):
    return {"name": name, "spec": spec, "settings": settings or {}, "inputs": {k: encode(v) for k, v in inputs.items()},
            "outputs": encode(np.stack(rows).astype(np.float32))}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def by_hand(name, inputs, units, outputs, cell, step, settings=None):
    params = {**cell, "out/kernel": normal(units, outputs), "out/bias": normal(outputs)}
    x, state, rows = normal(STEPS, inputs), np.zeros(units), []
    p = {k: v.astype(np.float64) for k, v in params.items()}
    for row in x.astype(np.float64):
        state, shown = step(p, state, row)
        rows.append(shown @ p["out/kernel"] + p["out/bias"])
    return case(name, f"{name}:{units}", {**params, "x": x}, rows, settings)


def mingru(p, h, x):
    z = sigmoid(x @ p["cell/wz"] + p["cell/bz"])
    h = (1 - z) * h + z * (x @ p["cell/wh"] + p["cell/bh"])
    return h, h


def ctrnn(dt, least, greatest):
    def step(p, y, x):
        tau = least * (greatest / least) ** sigmoid(p["cell/time"])
        y = y + dt / tau * (-y + sigmoid(y + p["cell/theta"]) @ p["cell/wh"] + x @ p["cell/wx"])
        return y, sigmoid(y + p["cell/theta"])

    return step


def cnn(channels, kernel, stride, hidden, outputs, shape, activation, padding="valid"):
    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            for i, n in enumerate(channels):
                x = activation(nn.Conv(n, (kernel, kernel), (stride, stride), padding.upper(), name=f"conv{i}")(x))
            x = x.reshape(-1)
            for i, n in enumerate(hidden):
                x = activation(nn.Dense(n, name=f"dense{i}")(x))
            return nn.Dense(outputs, name=f"dense{len(hidden)}")(x)

    net, x = Net(), normal(STEPS, *shape)
    params = drawn(net, x[0])
    rows = [np.asarray(net.apply({"params": params}, row)) for row in x]
    settings = {"kernel": str(kernel), "stride": str(stride), "padding": padding, "hidden": ",".join(map(str, hidden)), "activation": activation.__name__}
    return case("cnn", "cnn:" + ",".join(map(str, channels)), {**named(params), "x": x}, rows, settings)


def main():
    out, cases = out_dir(__doc__), []
    for inputs, units, outputs in ((3, 6, 2), (5, 16, 9)):  # a last layer that is narrow, and a wide one
        for name, cell in (("gru", nn.GRUCell), ("lstm", nn.LSTMCell), ("lstm", nn.OptimizedLSTMCell), ("elman", nn.SimpleCell)):
            cases.append(with_memory(name, cell, inputs, units, outputs))
        cell = {"cell/wz": normal(inputs, units), "cell/bz": normal(units), "cell/wh": normal(inputs, units), "cell/bh": normal(units)}
        cases.append(by_hand("mingru", inputs, units, outputs, cell, mingru))
        cell = {"cell/wx": normal(inputs, units), "cell/wh": normal(units, units), "cell/theta": normal(units), "cell/time": normal(units, scale=2)}
        cases.append(by_hand("ctrnn", inputs, units, outputs, cell, ctrnn(0.2, 0.25, 8), {"dt": "0.2", "tau-min": "0.25", "tau-max": "8"}))
    cases.append(cnn([4], 3, 1, [5], 2, (7, 6, 3), nn.relu))
    cases.append(cnn([3, 5], 2, 2, [], 9, (9, 11, 1), jnp.tanh))
    cases.append(cnn([4, 3], 3, 1, [5], 2, (7, 6, 3), nn.relu, "same"))
    cases.append(cnn([3, 5], 4, 3, [], 9, (8, 11, 2), jnp.tanh, "same"))
    cases.append(cnn([2], 5, 1, [], 2, (3, 2, 1), jnp.tanh, "same"))  # a kernel larger than the picture
    write(os.path.join(out, "policy_steps.json.gz"), {"versions": versions("flax"), "cases": cases})


main()
