"""Policies and environments that the scripts in examples/jax make, with what JAX computes.

jax_programs.py policy OUTPUT_DIR writes jax_policies.json.gz:

{"versions": {...}, "cases": [{"name", "text", "params": base64 of a safetensors file, "observations": array [steps, ...],
"outputs": array [steps, n]}...]}

jax_programs.py env OUTPUT_DIR writes jax_env.json.gz:

{"versions": {...}, "files": {name: text...}, "keys": array [episodes, 2], "actions": array [episodes, steps],
"observations": array [episodes, steps + 1, ...], "rewards": array [episodes, steps], "done": array [episodes, steps]}

Arrays are as in common.py. Step t of an episode takes the key fold_in(key, t + 1), and reset fold_in(key, 0).
"""
import base64
import pathlib
import runpy
import sys
import tempfile

import flax.linen as nn
import jax
import jax.numpy as jnp
from flax.traverse_util import flatten_dict
from safetensors.flax import save

from common import encode, versions, write

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "jax"


def ran(script, folder):
    sys.argv = [script, folder]
    return runpy.run_path(str(EXAMPLES / script))


def plain(text):
    # Lines that begin with #loc hold the places of the source; the references to them stay.
    return "\n".join(line for line in text.split("\n") if not line.startswith("#loc"))


def policies():
    x = jax.random.normal(jax.random.key(1), (7, 4))
    with tempfile.TemporaryDirectory() as folder:
        made = ran("flax_policy.py", folder)
        text, params = ((pathlib.Path(folder) / name).read_bytes() for name in ("net.mlir", "net.safetensors"))
    outputs = jax.vmap(lambda x: made["net"].apply(made["params"], x))(x)
    cases = [("flax", text.decode(), params, x, outputs)]

    class Recurrent(nn.Module):
        @nn.compact
        def __call__(self, carry, x):
            carry, y = nn.GRUCell(5)(carry, x)
            return carry, nn.Dense(2)(y)

    net, carry = Recurrent(), jnp.zeros(5)
    params = net.init(jax.random.key(2), carry, x[0])["params"]

    def apply(params, carry, x):
        return net.apply({"params": params}, carry, x)

    text = jax.export.export(jax.jit(apply))(params, carry, x[0]).mlir_module()
    outputs = []
    for row in x:
        carry, y = apply(params, carry, row)
        outputs.append(y)
    cases.append(("gru", text, save(flatten_dict(params, sep="/")), x, jnp.stack(outputs)))

    params = [(jax.random.normal(jax.random.key(i), (4, 4)), jnp.ones(4) * i / 20) for i in range(12)]

    def deep(params, x):
        for w, b in params:
            x = jnp.tanh(x @ w + b)
        return x[:2]

    text = jax.export.export(jax.jit(deep))(params, x[0]).mlir_module()
    names = {f"{i}.{j}": a for i, layer in enumerate(params) for j, a in enumerate(layer)}
    cases.append(("list", text, save(names), x, jax.vmap(lambda x: deep(params, x))(x)))
    return {"cases": [{"name": name, "text": plain(text), "params": base64.b64encode(params).decode(),
                       "observations": encode(x), "outputs": encode(y)} for name, text, params, x, y in cases]}


def env():
    with tempfile.TemporaryDirectory() as folder:
        made = ran("jax_env.py", folder)
        files = {f.name: plain(f.read_text()) for f in sorted(pathlib.Path(folder).iterdir())}
    keys = [jax.random.fold_in(jax.random.key(3), i) for i in range(20)]
    actions = jax.random.randint(jax.random.key(4), (20, 12), 0, 3)
    observations, rewards, dones = [], [], []
    for key, row in zip(keys, actions):
        obs, state = made["reset"](jax.random.fold_in(key, 0))
        for what in (observations, rewards, dones):
            what.append([])
        observations[-1].append(obs)
        for t, action in enumerate(row):
            obs, state, reward, done = made["step"](jax.random.fold_in(key, t + 1), state, action)
            observations[-1].append(obs)
            rewards[-1].append(reward)
            dones[-1].append(done)
    return {"files": files, "keys": encode(jnp.stack([jax.random.key_data(k) for k in keys])), "actions": encode(actions),
            "observations": encode(jnp.asarray(observations)), "rewards": encode(jnp.asarray(rewards)),
            "done": encode(jnp.asarray(dones))}


if __name__ == "__main__":
    what, out = sys.argv[1:]
    name, content = {"policy": ("jax_policies.json.gz", policies), "env": ("jax_env.json.gz", env)}[what]
    write(f"{out}/{name}", {"versions": versions("flax", "safetensors"), **content()})
