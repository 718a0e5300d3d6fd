#!/usr/bin/env python3
"""Plays members of xlarun in Gymnasium, and compares their returns with those in xlarun.

    replay.py runs/RUN runs/RUN:hall-of-fame-4 champion.safetensors

A line of the table is a member: its mean return over 100 episodes each and the standard errors, and by how many
standard errors of the difference the two differ. The status is 1 if one differs by more than --most.

    replay.py --search Swimmer-v5 --out linear.safetensors

searches a linear policy in Gymnasium, by random changes and without xlarun, and plays it in both, too. It needs
gymnasium[mujoco], xlarun on PATH, and the package in the folder python. Gymnasium's tasks have no factors: a member of a
run with factors=1 is refused.
"""
import argparse
import inspect
import json
import os
import struct
import subprocess
import sys
import tempfile

import gymnasium
import numpy as np

import xlarun

args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
args.add_argument("members", nargs="*", metavar="RUN[:MEMBER]|FILE.safetensors")
args.add_argument("--episodes", type=int, default=100)
args.add_argument("--seed", type=int, default=1)
args.add_argument("--most", type=float, default=2.0, help="difference that is accepted, in standard errors")
args.add_argument("--search", metavar="ENV", help="task for which a linear policy is searched in Gymnasium")
args.add_argument("--rounds", type=int, default=200, help="policies that the search tries")
args.add_argument("--out", default="linear.safetensors", help="file of the policy that the search finds")


def make(metadata):
    """The environment of a member, with its parameters under Gymnasium's names."""
    params = dict(pair.split("=") for pair in metadata.get("env_params", "").split(",") if pair)
    task = type(gymnasium.make(metadata["env"]).unwrapped)
    given = {}
    for name, p in inspect.signature(task.__init__).parameters.items():
        known = name.replace("_", "-")
        if name.endswith("_range"):
            two = [params.pop(known[:-len("range")] + end, at) for end, at in zip(("min", "max"), p.default)]
            if tuple(two) != p.default:
                given[name] = tuple(map(float, two))
        elif known in params:
            value = float(params.pop(known))
            given[name] = type(p.default)(value)
    if params.pop("engine", "4") != gymnasium.envs.mujoco.mujoco_env.mujoco.__version__[0]:
        print("the member's engine is not the version of mujoco that is installed", file=sys.stderr)
    steps = min(int(metadata["steps"]), int(float(params.pop("max-steps", 10**9))))
    if params:
        sys.exit(f"{metadata['env']} of Gymnasium has no {', '.join(params)}")
    return gymnasium.make(metadata["env"], max_episode_steps=steps, **given)


def play(env, act, seed):
    """The return of an episode."""
    observation, _ = env.reset(seed=seed)
    total, state, over = 0.0, None, False
    while not over:
        action, state = act(observation, state)
        observation, reward, terminated, truncated, _ = env.step(action)
        total, over = total + reward, terminated or truncated
    return total


def member(name, episodes, seed):
    """Means and errors of a member's returns in xlarun and in Gymnasium."""
    path, _, which = name.partition(":")
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "member.safetensors")
        which = ["--member", which] if which else []
        subprocess.run(["xlarun", "export", path, "--out", file, *which], check=True, stdout=subprocess.DEVNULL)
        out = subprocess.run(["xlarun", "play", file, "--episodes", str(episodes), "--seed", str(seed), "--gif", "none",
                              "--json"], check=True, stdout=subprocess.PIPE, text=True).stdout
        here = json.loads(out.splitlines()[-1])
        loaded = xlarun.load(file)
    env, rng = make(loaded.metadata), np.random.default_rng(seed)
    act = lambda observation, state: loaded.act(observation, loaded.start() if state is None else state, rng=rng)
    returns = [play(env, act, 1000 * seed + i) for i in range(episodes)]
    return loaded.metadata["env"], (here["mean_return"], here["standard_error"]), (
        np.mean(returns), np.std(returns, ddof=1) / np.sqrt(episodes))


def search(task, rounds, seed, file):
    """Writes a linear policy: of random changes of one those that are better over two episodes stay."""
    env, rng = gymnasium.make(task), np.random.default_rng(seed)
    low, high = env.action_space.low, env.action_space.high
    weights = np.zeros((env.observation_space.shape[0] + 1, len(low)), np.float32)
    best, size = -np.inf, 0.3
    for i in range(rounds):
        tried = weights + np.float32(size) * rng.normal(size=weights.shape).astype(np.float32) * (i > 0)
        act = lambda x, _: ((low + high) / 2 + (high - low) / 2 * np.tanh(np.float32(x) @ tried[:-1] + tried[-1]), None)
        result = np.mean([play(env, act, 2 * i + k) for k in range(2)])
        if result > best:
            best, weights, size = result, tried, min(1.0, size * 1.5)
        else:
            size = max(0.02, size * 0.95)
    space = lambda box, bounds: json.dumps({"type": "Box", "low": bounds[0], "high": bounds[1], "shape": box.shape,
                                            "dtype": "float32"})
    unbounded = [None] * env.observation_space.shape[0]
    metadata = {"format": "xlarun member", "format_version": "1", "env": task, "steps": str(env.spec.max_episode_steps),
                "policy": "linear", "policy_settings": "{}", "head": "tanh", "layers": json.dumps(weights[:-1].shape),
                "observation_space": space(env.observation_space, [unbounded, unbounded]),
                "action_space": space(env.action_space, [low.tolist(), high.tolist()])}
    header, data = {"__metadata__": metadata}, b""
    for name, array in {"Layers.0.W": weights[:-1], "Layers.0.B": weights[-1]}.items():
        header[name] = {"dtype": "F32", "shape": array.shape, "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    header = json.dumps(header).encode()
    with open(file, "wb") as f:
        f.write(struct.pack("<Q", len(header)) + header + data)


def main():
    a = args.parse_args()
    if a.search:
        search(a.search, a.rounds, a.seed, a.out)
        a.members.append(a.out)
    print(f"{'member':40}{'task':28}{'xlarun':>20}{'Gymnasium':>20}{'differ by':>11}", flush=True)
    far = 0
    for name in a.members:
        task, here, there = member(name, a.episodes, a.seed)
        apart = abs(here[0] - there[0])
        sigmas = apart / max(np.hypot(here[1], there[1]), 1e-6 * abs(there[0]), 1e-300)
        far += sigmas > a.most
        texts = [f"{mean:.5g} ± {error:.2g}" for mean, error in (here, there)]
        print(f"{os.path.basename(name):40}{task:28}{texts[0]:>20}{texts[1]:>20}{sigmas:>11.2f}", flush=True)
    sys.exit(far > 0)


if __name__ == "__main__":
    main()
