#!/usr/bin/env python3
"""Simulates an environment of Gymnasium for xlarun, by the protocol of docs/how-to/gymnasium.md.

    xlarun evolve "exec:./env.py CartPole-v1"

It needs gymnasium. For an environment of your own change the function make.
"""

import json
import os
import sys

import gymnasium
import numpy as np
from gymnasium import spaces


def make():
    if len(sys.argv) != 2:
        sys.exit("name an environment of Gymnasium, such as env.py CartPole-v1, or change the function make")
    return gymnasium.make(sys.argv[1])


def described(space):
    if isinstance(space, spaces.Discrete):
        return {"n": int(space.n)}, np.dtype("int32")
    if isinstance(space, spaces.MultiDiscrete):
        return {"nvec": space.nvec.tolist()}, np.dtype("int32")
    dtype = space.dtype if space.dtype == np.uint8 else np.dtype("float32")
    low, high = ([float(x) if np.isfinite(x) else None for x in bound.reshape(-1)] for bound in (space.low, space.high))
    return {"low": low, "high": high, "shape": list(space.shape), "dtype": str(dtype)}, dtype


out, inp = os.fdopen(os.dup(1), "wb"), sys.stdin.buffer
os.dup2(2, 1)  # what the environment prints goes to the standard error
one, simulators = make(), {}
(observation, seen), (action, acts) = described(one.observation_space), described(one.action_space)
first = getattr(one.action_space, "start", 0)
out.write(json.dumps({"protocol": 1, "observation": observation, "action": action, "threshold": one.spec.reward_threshold or 0,
                      "max_steps": one.spec.max_episode_steps or 1000}).encode() + b"\n")
out.flush()
while line := inp.readline().split():
    word, n = line[0], int(line[1])
    slots, results = np.frombuffer(inp.read(4 * n), "<u4"), []
    if word == b"reset":
        for slot, seed in zip(slots, np.frombuffer(inp.read(4 * n), "<u4")):
            if slot not in simulators:
                simulators[slot] = make()
            results.append([np.asarray(simulators[slot].reset(seed=int(seed))[0], seen)])
    else:
        size = int(np.prod(one.action_space.shape))
        for slot, a in zip(slots, np.frombuffer(inp.read(n * size * acts.itemsize), acts).reshape(n, *one.action_space.shape)):
            obs, reward, terminated, truncated, _ = simulators[slot].step(int(a) + first if a.shape == () else a)
            results.append([np.asarray(obs, seen), np.float32(reward), np.bool_(terminated), np.bool_(truncated)])
    answer = b"".join(np.stack(column).tobytes() for column in zip(*results))
    out.write(b"ok %d\n" % len(answer) + answer)
    out.flush()
