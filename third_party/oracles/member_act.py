"""Exported members acting in NumPy, for rollout/episode: OUTPUT_DIR/member_act.json, of each FILE.safetensors in OUTPUT_DIR.

Needs numpy only: the members are those of the package in the folder python. {"versions", "policies": those that the
package steps, "members": [{"file", "observations": [20, …], "outputs": [20, m], "actions": [20] or [20, m], "rewards": [20] where weights
change by rewards}]}; arrays as in common.py. Observations whose two largest
outputs are closer than 1e-4 are left out: which is the larger one hangs on rounding there. The 20 are the steps of one episode to
members that remember.
"""
import glob
import os
import sys

import numpy as np

import common

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python"))
import xlarun  # noqa: E402
from xlarun.networks import networks  # noqa: E402


def close(outputs, space):
    """Whether two largest outputs of a choice are so close that rounding decides."""
    if space["type"] == "Box":
        return False
    choices = np.split(outputs, np.cumsum(space.get("nvec", [len(outputs)]))[:-1])
    return any(np.diff(np.sort(own)[-2:])[0] < 1e-4 for own in choices)


def main():
    folder = common.out_dir(__doc__)
    members = []
    for path in sorted(glob.glob(os.path.join(folder, "*.safetensors"))):
        member = xlarun.load(path)
        space, learns = member.observation_space, member.metadata.get("plasticity") == "rewarded"
        rng = np.random.default_rng(0)
        rows, state = [], member.start()
        while len(rows) < 20:
            scale = [1 if high is None else high for high in space["high"]]
            observation = (rng.uniform(-1, 1, space["shape"]) * np.reshape(scale, space["shape"])).astype(np.float32)
            outputs, after = member.outputs(observation, state)
            action, _ = member.act(observation, state, actions="greedy")
            if not close(outputs, member.action_space):
                reward = np.float32(rng.uniform(-1, 1)) if learns else None
                rows.append((observation, outputs, np.asarray(action), reward))
                state = member.learn(after, reward)
        observations, outputs, actions, rewards = (np.stack(column) for column in zip(*rows))
        members.append({"file": os.path.basename(path), "observations": common.encode(observations), "outputs": common.encode(outputs),
                        "actions": common.encode(actions)} | ({"rewards": common.encode(rewards)} if learns else {}))
    common.write(os.path.join(folder, "member_act.json"), {"versions": common.versions_of("numpy"), "policies": sorted(networks),
                                                         "members": members})


if __name__ == "__main__":
    main()
