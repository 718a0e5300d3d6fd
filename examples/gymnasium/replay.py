#!/usr/bin/env python3
"""Plays members of xlarun in Gymnasium, and compares their returns with those in xlarun.

    replay.py runs/RUN runs/RUN:hall-of-fame-4 champion.safetensors

A line of the table is a member: its mean return over 100 episodes each and the standard errors, and by how many
standard errors of the difference the two differ. The status is 1 if one differs by more than --most.

    replay.py --train Hopper-v5 --out sac.safetensors

trains a policy in Gymnasium by Stable-Baselines3, without xlarun, and plays it in both, too. It needs
gymnasium[mujoco], xlarun on PATH, the package in the folder python, and for --train stable-baselines3. Gymnasium's
tasks have no factors: a member of a run with factors=1 is refused.
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
args.add_argument("--train", metavar="ENV", help="task for which SAC trains a policy in Gymnasium")
args.add_argument("--steps", type=int, default=10_000, help="steps of --train")
args.add_argument("--out", default="sac.safetensors", help="file of the policy of --train")


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


def member(name, episodes, seed, act=None):
    """Means and errors of a member's returns in xlarun and in Gymnasium, where act acts, or else the loaded member."""
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
    act = act or (lambda x, state: loaded.act(x, loaded.start() if state is None else state, rng=rng))
    returns = [play(env, act, 1000 * seed + i) for i in range(episodes)]
    return loaded.metadata["env"], (here["mean_return"], here["standard_error"]), (
        np.mean(returns), np.std(returns, ddof=1) / np.sqrt(episodes))


def train(task, steps, seed, file):
    """Trains a policy by SAC of Stable-Baselines3 in Gymnasium, writes it, and returns how it acts without noise."""
    import torch
    from stable_baselines3 import SAC
    torch.set_num_threads(1)
    model = SAC("MlpPolicy", task, policy_kwargs={"net_arch": [64, 64]}, seed=seed, device="cpu").learn(steps)
    bounds = lambda a: [float(x) if np.isfinite(x) else None for x in a]
    box = lambda space: json.dumps({"type": "Box", "low": bounds(space.low), "high": bounds(space.high),
                                    "shape": space.shape, "dtype": "float32"})
    layers = [m for m in (*model.actor.latent_pi, model.actor.mu) if isinstance(m, torch.nn.Linear)]
    metadata = {"format": "xlarun member", "format_version": "1", "env": task, "head": "tanh", "policy": "mlp:64,64",
                "policy_settings": '{"activation":"relu"}', "steps": str(gymnasium.spec(task).max_episode_steps),
                "layers": json.dumps([layer.in_features for layer in layers] + [layers[-1].out_features]),
                "observation_space": box(model.observation_space), "action_space": box(model.action_space)}
    header, data = {"__metadata__": metadata}, b""
    for i, layer in enumerate(layers):
        for name, array in {"W": layer.weight.T, "B": layer.bias}.items():
            end = len(data) + 4 * array.numel()
            header[f"Layers.{i}.{name}"] = {"dtype": "F32", "shape": array.shape, "data_offsets": [len(data), end]}
            data += array.detach().numpy().tobytes()
    header = json.dumps(header).encode()
    with open(file, "wb") as f:
        f.write(struct.pack("<Q", len(header)) + header + data)
    return lambda observation, _: (model.predict(observation, deterministic=True)[0], None)


def main():
    a = args.parse_args()
    members = [(name, None) for name in a.members]
    if a.train:
        members.append((a.out, train(a.train, a.steps, a.seed, a.out)))
    print(f"{'member':40}{'task':28}{'xlarun':>20}{'Gymnasium':>20}{'differ by':>11}", flush=True)
    far = 0
    for name, act in members:
        task, here, there = member(name, a.episodes, a.seed, act)
        apart = abs(here[0] - there[0])
        sigmas = apart / max(np.hypot(here[1], there[1]), 1e-6 * abs(there[0]), 1e-300)
        far += sigmas > a.most
        texts = [f"{mean:.5g} ± {error:.2g}" for mean, error in (here, there)]
        print(f"{os.path.basename(name):40}{task:28}{texts[0]:>20}{texts[1]:>20}{sigmas:>11.2f}", flush=True)
    sys.exit(int(far > 0))


if __name__ == "__main__":
    main()
