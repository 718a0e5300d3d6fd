"""Makes an environment for xlarun from JAX functions: reset and step as StableHLO text, and their spaces.

    python jax_env.py FOLDER
    xlarun evolve program:FOLDER

A ball falls through a grid, and a paddle at the bottom catches it (Osband et al., "Behaviour Suite for Reinforcement Learning", 2020).
"""

import json
import sys

import jax
import jax.numpy as jnp

ROWS, COLUMNS = 10, 5


def observe(state):
    grid = jnp.zeros((ROWS, COLUMNS)).reshape(-1)
    cell = jnp.arange(ROWS * COLUMNS)
    ball, paddle = state["row"] * COLUMNS + state["ball"], (ROWS - 1) * COLUMNS + state["paddle"]
    return jnp.where((cell == ball) | (cell == paddle), 1.0, grid).reshape(ROWS, COLUMNS)


def reset(key):
    state = {"row": jnp.int32(0), "ball": jax.random.randint(key, (), 0, COLUMNS), "paddle": jnp.int32(COLUMNS // 2)}
    return observe(state), state


def step(key, state, action):
    paddle = jnp.clip(state["paddle"] + action - 1, 0, COLUMNS - 1)
    wind = jax.random.bernoulli(key, 0.1).astype(jnp.int32)
    state = {"row": state["row"] + 1, "ball": (state["ball"] + wind) % COLUMNS, "paddle": paddle}
    done = state["row"] == ROWS - 1
    return observe(state), state, jnp.where(done, jnp.where(state["ball"] == paddle, 1.0, -1.0), 0.0), done


folder = sys.argv[1]
key = jax.random.key(0)
state = jax.eval_shape(reset, key)[1]
for name, function, arguments in [("reset", reset, [key]), ("step", step, [key, state, jnp.int32(0)])]:
    exported = jax.export.export(jax.jit(function, keep_unused=True))(*arguments)
    with open(f"{folder}/{name}.mlir", "w") as f:
        f.write(exported.mlir_module())
with open(f"{folder}/env.json", "w") as f:
    json.dump({"action": {"n": 3}, "observation": {"low": 0, "high": 1}, "max_steps": ROWS, "threshold": 0.8}, f)
