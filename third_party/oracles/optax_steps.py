"""100 steps of optimizers that random_optax.py does not draw, for graph/optim: OUTPUT_DIR/optax.json.gz.

{"versions": {...}, "start": PARAMS, "gradients": {"w": [100, 3, 4], "b": [100, 4]}, "optimizers": [O...]}; arrays as in common.py,
PARAMS = {"w": [3, 4], "b": [4]}, float32
  O  {"spec": {"name", arguments}, "feedback": bool, "params": {"1": PARAMS, "2": …, "10": …, "100": …}}: parameters after that many
     steps. With feedback the gradient of step t is gradients[t] + 0.1 * params (a quadratic), else gradients[t].
"clipup" is evosax's. Of "schedule_free" the averages stand in "params".
"""
import os

import jax
import jax.numpy as jnp
import numpy as np
import optax
import optax.contrib
from evosax.core.optimizer import clipup

from common import encode, out_dir, versions, write

STEPS, KEPT = 100, (1, 2, 10, 100)
RNG = np.random.default_rng(11)
START = {"w": jnp.asarray(RNG.standard_normal((3, 4)), jnp.float32), "b": jnp.asarray(RNG.standard_normal(4), jnp.float32)}
GRADIENTS = {"w": jnp.asarray(RNG.standard_normal((STEPS, 3, 4)) * np.linspace(2, 0.2, STEPS)[:, None, None], jnp.float32),
             "b": jnp.asarray(RNG.standard_normal((STEPS, 4)) * 3 * np.linspace(1, 0.1, STEPS)[:, None], jnp.float32)}


def tree(t):
    return {k: encode(v) for k, v in t.items()}


def run(spec, optimizer, feedback=False, shown_of=lambda state, params: params):
    params, state = START, optimizer.init(START)

    @jax.jit
    def step(params, state, gradient):
        if feedback:
            gradient = jax.tree.map(lambda g, p: g + 0.1 * p, gradient, params)
        updates, state = optimizer.update(gradient, state, params)
        params = optax.apply_updates(params, updates)
        return params, state, shown_of(state, params)

    kept = {}
    for t in range(STEPS):
        params, state, shown = step(params, state, jax.tree.map(lambda g: g[t], GRADIENTS))
        if t + 1 in KEPT:
            kept[str(t + 1)] = tree(shown)
    return {"spec": spec, "feedback": feedback, "params": kept}


def main():
    out = out_dir(__doc__)
    runs = [
        run({"name": "clipup", "rate": 0.03, "max_speed": 0.06, "momentum": 0.9}, clipup(0.03, 0.06)),
        run({"name": "clipup", "rate": 0.02, "max_speed": 0.02, "momentum": 0.8}, clipup(0.02, 0.02, 0.8), feedback=True),
        run({"name": "schedule_free", "rate": 0.02, "b1": 0.8}, optax.contrib.schedule_free(optax.sgd(0.02), 0.02, 0.8),
            shown_of=optax.contrib.schedule_free_eval_params),
    ]
    write(os.path.join(out, "optax.json.gz"), {"versions": versions("optax", "evosax"), "start": tree(START), "gradients": tree(GRADIENTS),
                                              "optimizers": runs})


main()
