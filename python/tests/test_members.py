"""The members of rollout/episode/testdata act as the Go program computes; see third_party/oracles/member_act.py."""
import base64
import json
import pathlib

import numpy as np
import pytest

import xlarun

DATA = pathlib.Path(__file__).parents[2] / "rollout" / "episode" / "testdata"
CASES = {case["file"]: case for case in json.loads((DATA / "member_act.json").read_text())["members"]}


def decode(x):
    return np.frombuffer(base64.b64decode(x["data"]), x["dtype"]).reshape(x["shape"])


@pytest.mark.parametrize("name", CASES)
def test_outputs_and_actions(name):
    case, member = CASES[name], xlarun.load(DATA / name)
    observations, outputs, actions = (decode(case[key]) for key in ("observations", "outputs", "actions"))
    rewards = decode(case["rewards"]) if "rewards" in case else np.zeros(len(actions))
    state = member.start()
    for observation, want, action, reward in zip(observations, outputs, actions, rewards):
        got, _ = member.outputs(observation, state)
        np.testing.assert_allclose(got, want, atol=1e-5)
        chosen, state = member.act(observation, state, actions="greedy")
        np.testing.assert_allclose(chosen, action, atol=1e-5)
        state = member.learn(state, reward)


@pytest.mark.parametrize("name", CASES)
def test_batches(name):
    """n observations at a time are n episodes."""
    member = xlarun.load(DATA / name)
    if member.metadata.get("encoder") in ("rate", "population"):
        pytest.skip("its inputs are drawn")
    episodes = decode(CASES[name]["observations"]).reshape(4, 5, *member.observation_space["shape"])[::2]
    rewards = np.linspace(-1, 1, 10).reshape(2, 5)
    states, singles = member.start(2), [member.start() for _ in range(2)]
    for step in range(5):
        actions, after = member.act(episodes[:, step], states, actions="greedy")
        outputs, _ = member.outputs(episodes[:, step], states)
        states = member.learn(after, rewards[:, step])
        for i, state in enumerate(singles):
            want, _ = member.outputs(episodes[i, step], state)
            action, state = member.act(episodes[i, step], state, actions="greedy")
            np.testing.assert_allclose(outputs[i], want, atol=1e-5)
            np.testing.assert_allclose(actions[i], action, atol=1e-5)
            singles[i] = member.learn(state, rewards[i, step])


def test_batches_of_masks_and_draws():
    member, rng = xlarun.load(DATA / "lander.safetensors"), np.random.default_rng(1)
    observations = decode(CASES["lander.safetensors"]["observations"])
    legal = np.ones((len(observations), 5), bool)
    legal[::2, :1] = False
    actions, _ = member.act(observations, rng=rng, legal=legal)
    assert actions.shape == (len(observations), 2) and (actions[::2, 0] == 1).all() and (actions[1::2, 0] == 0).any()
    member = xlarun.load(DATA / "cartpole.safetensors")
    assert member.act(np.zeros((3, 4)), legal=[False, True])[0].tolist() == [1, 1, 1]


def test_a_policy_of_ones_own():
    """A class in xlarun.networks loads members of a policy that this package does not have."""
    class Sum:
        def __init__(self, arrays, metadata):
            self.arrays = arrays

        def start(self):
            return 0.0

        def step(self, x, state, rng):
            return np.array([state, x.sum()]), state + 1.0

    known = xlarun.load(DATA / "cartpole.safetensors")
    metadata = {**known.metadata, "policy": "sum:3"}
    with pytest.raises(NotImplementedError, match='set xlarun.networks\\["sum"\\] to a class'):
        xlarun.Member(known.arrays, metadata)
    xlarun.networks["sum"] = Sum
    try:
        member = xlarun.Member(known.arrays, metadata)
        action, state = member.act(np.ones(4))
        assert action == 1
        assert member.outputs(np.ones(4), state)[0].tolist() == [1, 4]
        assert member.act(np.ones((2, 4)), member.start(2))[1] == [1.0, 1.0]
    finally:
        del xlarun.networks["sum"]


def test_learning_by_rewards():
    """Rewards change a member that learns by them from the next step on, and no other one."""
    for name, learns in [("spiking-rewarded.safetensors", True), ("spiking-stdp.safetensors", False),
                         ("gru.safetensors", False), ("cartpole.safetensors", False)]:
        case, member = CASES[name], xlarun.load(DATA / name)
        last = []
        for reward in (0, 5):
            state = member.start()
            for observation in decode(case["observations"]):
                outputs, state = member.outputs(observation, state)
                state = member.learn(state, reward)
            last.append(outputs)
        assert learns == (not np.array_equal(*last)), name
    member = xlarun.load(DATA / "spiking-rewarded.safetensors")
    with pytest.raises(ValueError, match="reward has the shape"):
        member.learn(member.start(), [1, 2])
    unknown = xlarun.load(DATA / "spiking.safetensors")
    with pytest.raises(NotImplementedError, match="the plasticity hebb is not among none, stdp, rewarded"):
        xlarun.Member(unknown.arrays, {**unknown.metadata, "plasticity": "hebb"})


def drawn(member, observation, rng):
    """Actions for an observation alone, and for many at a time."""
    alone = [member.act(observation, actions="sampled", rng=rng)[0] for _ in range(1000)]
    return np.concatenate([alone, member.act(np.stack([observation] * 19_000), actions="sampled", rng=rng)[0]])


def test_draws_follow_the_distribution():
    member, rng = xlarun.load(DATA / "lander.safetensors"), np.random.default_rng(1)
    assert member.actions == "sampled"
    observation = decode(CASES["lander.safetensors"]["observations"])[0]
    logits, _ = member.outputs(observation)
    draws = drawn(member, observation, rng)
    first = 0
    for i, n in enumerate(member.action_space["nvec"]):
        own = np.exp(logits[first:first + n] - logits[first:first + n].max())
        np.testing.assert_allclose(np.bincount(draws[:, i], minlength=n) / len(draws), own / own.sum(), atol=0.02)
        first += n


def test_draws_of_a_box():
    member, rng = xlarun.load(DATA / "ppo-pendulum.safetensors"), np.random.default_rng(1)
    observation = decode(CASES["ppo-pendulum.safetensors"]["observations"])[0]
    mean, _ = member.outputs(observation)
    draws = drawn(member, observation, rng)
    before = np.arctanh(np.clip(draws / 2, -1 + 1e-6, 1 - 1e-6))  # the action is 2 tanh of the draw
    deviation = np.exp(member.arrays["Distribution.Log"])
    assert abs(np.median(before) - mean[0]) < 0.05 * deviation[0]
    quartiles = np.quantile(before, [0.25, 0.75])
    assert abs(quartiles[1] - quartiles[0] - 1.349 * deviation[0]) < 0.05 * deviation[0]
    assert np.all(np.abs(draws) <= 2)


def test_legal_actions_only():
    member = xlarun.load(DATA / "cartpole.safetensors")
    observation = decode(CASES["cartpole.safetensors"]["observations"])[0]
    best, _ = member.act(observation)
    other, _ = member.act(observation, legal=np.arange(2) != best)
    assert other == 1 - best


def test_bad_files(tmp_path):
    path = tmp_path / "a.safetensors"
    for text, want in [(b"", "no safetensors"), (b"\xff" * 16, "no safetensors"), (b"\x02" + bytes(7) + b"{}", "has no policy")]:
        path.write_bytes(text)
        with pytest.raises(ValueError, match=want):
            xlarun.load(path)
    header = json.dumps({"__metadata__": {"kind": "sparse", "format": "xlarun member"}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(ValueError, match="has no layers in its metadata, as an older xlarun wrote it: go on with"):
        xlarun.load(path)
    whole = (DATA / "cartpole.safetensors").read_bytes()
    path.write_bytes(whole[:-8])
    with pytest.raises(ValueError, match="is cut"):
        xlarun.load(path)
    with pytest.raises(ValueError, match='want "sampled" or "greedy"'):
        xlarun.load(DATA / "cartpole.safetensors").act(np.zeros(4), actions="best")


@pytest.mark.parametrize("entry, want", [
    ('[]', "no JSON object"),
    ('{"a": 1}', "array a lacks"),
    ('{"a": {"dtype": "F32", "shape": [1]}}', "array a lacks"),
    ('{"a": {"dtype": "F32", "shape": [1], "data_offsets": [-8, -4]}}', "is cut"),
    ('{"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 1000000000000]}}', "is cut"),
    ('{"a": {"dtype": "F32", "shape": [1000000000000], "data_offsets": [0, 4]}}', "has 4 bytes"),
    ('{"a": {"dtype": "F32", "shape": "x", "data_offsets": [0, 4]}}', "has 4 bytes"),
    ('{"a": {"dtype": "F33", "shape": [1], "data_offsets": [0, 4]}}', "has the dtype F33"),
])
def test_bad_headers(tmp_path, entry, want):
    """A header that lies about its arrays is one sentence, and nothing of the size that it names is made."""
    path = tmp_path / "a.safetensors"
    path.write_bytes(len(entry).to_bytes(8, "little") + entry.encode() + bytes(8))
    with pytest.raises(ValueError, match=want):
        xlarun.load(path)
