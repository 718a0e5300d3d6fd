"""xlarun's environments as those of Gymnasium. Importing this registers them: gymnasium.make("xlarun/CartPole-v1")."""
from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

try:
    import gymnasium
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ImportError:
    raise ImportError("xlarun.make_vec needs Gymnasium 1.1 or newer: pip install 'gymnasium>=1.1'") from None

from .process import Object, child, plain
from .program import Error


def space(description):
    """A space as the program describes it."""
    d = description
    if "n" in d:
        return gymnasium.spaces.Discrete(d["n"], dtype=np.int32)
    if "nvec" in d:
        return gymnasium.spaces.MultiDiscrete(d["nvec"], dtype=np.int32)
    dtype, limits = np.dtype(d["dtype"]), []
    for bounds, limit in ((d["low"], -np.inf), (d["high"], np.inf)):
        bounds = np.array([limit if x is None else x for x in bounds])
        limits.append(np.broadcast_to(bounds.reshape(d["shape"] if bounds.size > 1 else ()), d["shape"]).astype(dtype))
    return gymnasium.spaces.Box(*limits, shape=tuple(d["shape"]), dtype=dtype)


class Vector(VectorEnv):
    """Many environments of one kind, which the program steps at once. See make_vec."""

    def __init__(self, env_id, num_envs=1, *, seed=None, autoreset_mode=AutoresetMode.NEXT_STEP, **params):
        if not isinstance(env_id, str):
            raise Error(f"id: got {env_id!r}, want the name of an environment: xlarun help environments lists them", 2)
        for key, value in (("num_envs", num_envs), ("seed", 0 if seed is None else seed)):
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not -2**63 <= value < 2**63:
                raise Error(f"{key}: got {value!r}, want a whole number of 64 bits", 2)
        mode = autoreset_mode if isinstance(autoreset_mode, AutoresetMode) else AutoresetMode(autoreset_mode)
        self.num_envs, self._seed = int(num_envs), seed
        self._object = Object("vector", id=env_id, num_envs=int(num_envs), autoreset=mode.value,
                              params={key: int(value) if isinstance(value, (bool, np.bool_)) else plain(key, value)
                                      for key, value in params.items()})
        description = self._object.description
        self.single_observation_space = space(description["observation"])
        self.single_action_space = space(description["action"])
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.metadata = {"autoreset_mode": mode, "render_modes": []}
        self.render_mode = self.spec = None
        field = self._object.fields["action"]
        self._shape, self._kind = tuple(field["shape"]), np.dtype(field["dtype"])
        self._legal, self._final = "legal" in self._object.fields, "final" in self._object.fields
        self._new = True

    def reset(self, *, seed: int | list[int] | None = None,
              options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins episodes: the first ones of a seed (environment i has seed + i) or of one seed for each environment,
        or else the next ones. options={"reset_mask": mask} resets some of the environments."""
        if seed is None and self._new:
            seed = self._seed
        if seed is None and self._new:
            seed = int(np.random.default_rng().integers(2**31))
        mask, o = (options or {}).get("reset_mask"), self._object
        if self._new and mask is not None:
            raise Error("reset_mask: got one in the first reset, want a reset of all environments first", 2)
        if mask is not None and np.shape(mask) != (self.num_envs,):
            raise Error(f"reset_mask: got the shape {np.shape(mask)}, want ({self.num_envs},)", 2)
        o.take()
        o.input("mask")[...] = True if mask is None else np.asarray(mask, bool)
        o.input("new")[...] = False
        if seed is not None:
            several = isinstance(seed, (list, tuple, np.ndarray))
            if several and len(seed) != self.num_envs:
                raise Error(f"seed: got {len(seed)} seeds, want one or {self.num_envs}", 2)
            try:
                seeds = [0 if s is None else index(s) for s in seed] if several else index(seed)
                seeds = np.array(seeds, np.int64) if several else seeds + np.arange(self.num_envs, dtype=np.int64)
            except (OverflowError, TypeError, ValueError):
                raise Error(f"seed: got {seed!r}, want whole numbers of 64 bits", 2) from None
            o.input("seed")[:, 0], o.input("seed")[:, 1] = seeds >> 32 & 0xffffffff, seeds & 0xffffffff
            o.input("new")[...] = [s is not None for s in seed] if several else True
        o.call("reset")
        self._new = False
        info = {}
        if self._legal:
            info["action_mask"] = o.output("legal")
        return o.output("observation"), info

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Plays an action in each environment."""
        o = self._object
        try:
            actions = np.asarray(actions)
            fits = np.can_cast(actions.dtype, self._kind, "same_kind") or actions.dtype.kind in "iu" == self._kind.kind
        except ValueError:
            fits = False
        if not fits or actions.shape != self._shape:
            got = f"the shape {actions.shape} and dtype {actions.dtype}" if isinstance(actions, np.ndarray) else \
                f"{type(actions).__name__}"
            raise Error(f"actions: got {got}, want the shape {self._shape} and dtype {self._kind}", 2)
        o.take()
        given = o.input("action")
        np.copyto(given, actions, "unsafe")
        if self._kind.kind == "i" and actions.dtype.itemsize > self._kind.itemsize:
            given[given != actions] = -1  # a number that wrapped around is no action
        o.call("step")
        bad = o.input("bad")
        if bad.any():
            i = int(bad.argmax())
            wants = f"one of {self.single_action_space}" if self._kind.kind != "f" else "finite float32 numbers"
            raise Error(f"actions: got {actions[i]} for environment {i}, want {wants}", 2)
        info = {}
        terminated, truncated = o.output("terminated"), o.output("truncated")
        if self._legal:
            info["action_mask"] = o.output("legal")
        if self._final:
            ended = terminated | truncated
            if ended.any():
                info["final_obs"], info["_final_obs"] = o.output("final"), ended
                info["final_info"], info["_final_info"] = {}, ended
        return o.output("observation"), o.output("reward"), terminated, truncated, info

    def close_extras(self, **_: Any) -> None:
        """Frees the environments in the program."""
        self._object.close()


def make_vec(id: str, num_envs: int = 1, **arguments: Any) -> Vector:
    """A gymnasium.vector.VectorEnv of num_envs environments of `xlarun help environments`.

    Episode e of the environment with seed s is episode e that `xlarun play` plays with that seed: its first state to
    the bit, later ones apart from rounding. reset(seed=s) gives environment i the seed s + i; seed here is that of the
    first reset. autoreset_mode is Gymnasium's, NEXT_STEP by default. Other keyword arguments are the environment's
    parameters: walls=0.2, or "0.1..0.3", from which each episode draws.

    Observations, rewards and flags are not copied: they lie in memory that the program writes. An array that somebody
    holds stays as it is.
    """
    return Vector(id, num_envs, **arguments)


class Single(gymnasium.Env):
    """One environment. See make_vec."""

    metadata = {"render_modes": []}

    def __init__(self, env_id, render_mode=None, **arguments):
        self.vector = Vector(env_id, 1, autoreset_mode=AutoresetMode.DISABLED, **arguments)
        self.observation_space = self.vector.single_observation_space
        self.action_space = self.vector.single_action_space
        self.render_mode = render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        observation, info = self.vector.reset(seed=seed)
        return observation[0], {name: value[0] for name, value in info.items()}

    def step(self, action):
        observation, reward, terminated, truncated, info = self.vector.step(np.asarray(action)[None])
        return (observation[0], float(reward[0]), bool(terminated[0]), bool(truncated[0]),
                {name: value[0] for name, value in info.items()})

    def close(self):
        self.vector.close()


def register():
    """Registers the environments as xlarun/ID with Gymnasium."""
    for id in child().call(0, "environments"):
        if f"xlarun/{id}" not in gymnasium.registry:
            gymnasium.register(f"xlarun/{id}", entry_point="xlarun.vector:Single",
                               vector_entry_point="xlarun.vector:Vector", kwargs={"env_id": id})


register()
