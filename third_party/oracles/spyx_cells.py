"""Spiking cells and surrogates of Spyx for graph/nn, written to OUTPUT_DIR/spyx_cells.json.gz.

{"versions": {...}, "cases": [{"name", "config", "inputs": {name: array}, "outputs": {name: array}}...]}; arrays as in common.py.
  surrogate       config: function, slope; "v"; "spike" and "d_v", the derivative at each v
  li, lif, alif, cubalif, rlif, rcubalif    parameters by Spyx's names, x [steps, units] from rest: "spikes" (li: "y"), all potentials
                  "v" [steps, units], the last state's other half "t" or "i"; and the gradients "d_<input>" of sum(spikes * weight)
                  + sum(last potential * weight_last) with superspike's surrogate
Potentials that come within 1e-4 of a threshold are refused, so that spikes are equal whatever the order of sums.
"""
import os

import jax
import jax.numpy as jnp
import numpy as np
import spyx.axn as axn
import spyx.nn as snn
from flax import nnx

from common import encode, out_dir, versions, write

RNG = np.random.default_rng(3)
CASES = []


def normal(*shape, scale=1.0, shift=0.0):
    return jnp.asarray(RNG.standard_normal(shape) * scale + shift, jnp.float32)


def keep(name, inputs, outputs, config=None):
    assert all(np.isfinite(np.asarray(v)).all() for v in outputs.values()), name
    CASES.append({"name": name, "config": config or {}, "inputs": {k: encode(v) for k, v in inputs.items()},
                  "outputs": {k: encode(v) for k, v in outputs.items()}})


def surrogates():
    v = jnp.asarray(np.concatenate([np.linspace(-1.3, 1.3, 41), [0.04, -0.04, 3, -3]]), jnp.float32)
    for ours, f, slopes in (("fast-sigmoid", axn.superspike, (25, 10)), ("arctan", axn.arctan, (2, 5)), ("triangular", axn.triangular, (2, .7)),
                            ("boxcar", lambda k: axn.boxcar(2 / k, k / 2), (1, 4)), ("straight-through", lambda k: axn.custom(lambda x: jnp.ones_like(x) * k), (1, 2))):
        for k in slopes:
            a = f(k)
            keep("surrogate", {"v": v}, {"spike": a(v), "d_v": jax.vmap(jax.grad(a))(v)}, {"function": ours, "slope": k})


def cell(name, make, units=5, steps=40, shift=.4):
    n = make(units)
    gd, params = nnx.split(n)
    state = {k[0]: p[...] for k, p in nnx.to_flat_state(params)}
    state = {k: (normal(units, units, scale=.3) if k == "recurrent_w" else jnp.asarray(RNG.uniform(.6, .95, v.shape), jnp.float32)) for k, v in state.items()}

    def put(values):
        s = nnx.to_flat_state(params)
        return nnx.merge(gd, nnx.from_flat_state([(k, p.replace(values[k[0]])) for k, p in s]))

    def run(values, x):
        n = put(values)
        def step(s, x):
            y, s = n(x[None], s)
            return s, (y[0], s[0])
        last, (y, states) = jax.lax.scan(step, n.initial_state(1), x)
        return y, states, last[0]

    x = normal(steps, units, scale=.5, shift=shift)
    w, wl = normal(steps, units), normal(units)
    loss = lambda values, x: (lambda y, s, last: (y * w).sum() + (last[:units] * wl).sum())(*run(values, x))
    y, states, last = run(state, x)
    if name != "li":
        t = states[:, units:] if name == "alif" else 0
        assert float(jnp.abs(states[:, :units] - 1 - t).min()) > 1e-4, name
        assert .05 < float(y.mean()) < .6, (name, float(y.mean()))
    dv, dx = jax.grad(loss, (0, 1))(state, x)
    out = {"y" if name == "li" else "spikes": y, "v": states[:, :units], "d_x": dx, **{"d_" + k: v for k, v in dv.items()}}
    if states.shape[1] > units:
        out["other"] = states[:, units:]
    keep(name, {**state, "x": x, "weight": w, "weight_last": wl}, out)


def main():
    folder = out_dir(__doc__)
    surrogates()
    r = nnx.Rngs(0)
    cell("li", lambda u: snn.LI((u,), rngs=r))
    cell("lif", lambda u: snn.LIF((u,), rngs=r))
    cell("alif", lambda u: snn.ALIF((u,), rngs=r))
    cell("cubalif", lambda u: snn.CuBaLIF((u,), rngs=r), shift=.05)
    cell("rlif", lambda u: snn.RLIF((u,), rngs=r))
    cell("rcubalif", lambda u: snn.RCuBaLIF((u,), rngs=r), shift=.05)
    write(os.path.join(folder, "spyx_cells.json.gz"), {"versions": versions("spyx", "flax"), "cases": CASES})


main()
