"""Environments and objectives of JAX, as files that the program reads."""
from __future__ import annotations

import json
import os
from typing import Any


def from_jax(env: Any, folder: str | os.PathLike[str], action: dict[str, Any],
             observation: dict[str, Any] | None = None, max_steps: int = 1, threshold: float = 0) -> str:
    """Exports an environment of JAX functions into a folder, and returns its name, for `xlarun evolve NAME`.

    env has reset(key), which returns the first observation and the state, and step(key, state, action), which returns
    the observation, the state, the reward, terminated and truncated; one flag instead of two counts as terminated.
    Or env is a function of one array, whose value is the reward: an objective, for `--policy vector`. Functions are of
    one member, without a batch; keys are those of jax.random.

    action and observation are spaces: {"n": 3}, {"nvec": [3, 2]}, or {"low": -1, "high": 1, "shape": [2]} with numbers,
    lists or None as bounds; a shape may be missing where a list of bounds says it. The default observation has no
    bounds. max_steps is the step limit of an episode, threshold the mean return that solves the task. ValueError says
    what is wrong with an action.
    """
    try:
        import jax
        import jax.numpy as jnp
    except ModuleNotFoundError:
        raise ImportError("xlarun.from_jax needs JAX: pip install jax") from None

    def reset_objective(key):
        return jnp.zeros(1), ()

    def step_objective(key, state, x):
        return jnp.zeros(1), (), jnp.asarray(env(x), jnp.float32), jnp.array(True)

    if hasattr(env, "step"):
        reset, step = env.reset, env.step
    else:
        reset, step = reset_objective, step_objective
    key, path = jax.random.key(0), os.fspath(folder)
    state = jax.eval_shape(reset, key)[1]
    texts = {"env.json": json.dumps({"action": action, "observation": observation or {"low": None, "high": None},
                                     "max_steps": max_steps, "threshold": threshold})}
    # For CPUs, where JAX has a GPU, too: its custom calls for GPUs are not read.
    for name, function, arguments in [("reset", reset, [key]), ("step", step, [key, state, _example(action)])]:
        exported = jax.export.export(jax.jit(function, keep_unused=True), platforms=["cpu"])(*arguments)
        texts[name + ".mlir"] = exported.mlir_module()
    os.makedirs(path, exist_ok=True)
    for name, text in texts.items():
        with open(os.path.join(path, name), "w") as f:
            f.write(text)
    return "program:" + path


def _example(space):
    """An array of a space."""
    import jax.numpy as jnp
    if "n" in space:
        return jnp.int32(0)
    if "nvec" in space:
        return jnp.zeros(len(space["nvec"]), jnp.int32)
    lists = [space[bound] for bound in ("low", "high") if isinstance(space.get(bound), list)]
    if "shape" not in space and not lists:
        raise ValueError(f'action got {space}, want {{"n": 3}}, {{"nvec": [3, 2]}}, or the bounds low and high with a '
                         "shape")
    return jnp.zeros(space.get("shape", [len(bound) for bound in lists[:1]]), jnp.dtype(space.get("dtype", "float32")))
