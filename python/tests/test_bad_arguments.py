"""Bad arguments and damaged files are one sentence."""
import json
import pathlib
import sys

import numpy as np
import pytest

import xlarun
from xlarun.safetensors import crc32c

DATA = pathlib.Path(__file__).parents[2] / "rollout" / "episode" / "testdata"
DIGESTS = [path for path in sorted(DATA.glob("*.safetensors")) if b'"digest"' in path.read_bytes()]


@pytest.mark.parametrize("file, legal, want", [
    ("cartpole", [False, False], "legal allows no action"),
    ("cartpole", [0, 0], "legal allows no action"),
    ("cartpole", [True], r"legal has the shape \[1\], want \[2\]"),
    ("cartpole", True, r"legal has the shape \[\], want \[2\]"),
    ("cartpole", [], r"legal has the shape \[0\]"),
    ("cartpole", [[True, True]], r"legal has the shape \[1, 2\]"),
    ("lander", [True, True, False, False, False], "legal allows no action"),
    ("lander", [False, False, True, True, True], "legal allows no action"),
    ("lander", [True] * 4, r"want \[5\]"),
    ("pendulum", [True], "the actions are a Box"),
])
def test_masks(file, legal, want):
    """A mask that allows nothing, or is one of other actions."""
    member = xlarun.load(DATA / f"{file}.safetensors")
    with pytest.raises(ValueError, match=want):
        member.act(np.zeros(member.observation_space["shape"]), legal=legal)


def test_mask_of_each_choice():
    member = xlarun.load(DATA / "lander.safetensors")
    for actions in ("greedy", "sampled"):
        action, _ = member.act(np.zeros(4), actions=actions, legal=[False, True, False, False, True])
        np.testing.assert_array_equal(action, [1, 2])


@pytest.mark.parametrize("file", ["cartpole", "cnn", "gru", "spiking", "nir", "pendulum-normalized", "normedmlp"])
def test_sizes_of_observations(file):
    """Observations of another size, none, or a number."""
    member = xlarun.load(DATA / f"{file}.safetensors")
    shape = member.observation_space["shape"]
    n = int(np.prod(shape))
    others = [np.zeros(s) for s in (n + 1, n - 1, (2, 1, *shape), (0, *shape), 1)]
    for bad in (*others, 0.5, []):
        with pytest.raises(ValueError, match="the observation has the shape"):
            member.act(bad)
    shaped, _ = member.outputs(np.arange(n).reshape(shape) / n, rng=np.random.default_rng(1))
    flat, _ = member.outputs(np.arange(n) / n, rng=np.random.default_rng(1))
    np.testing.assert_array_equal(shaped, flat)


def test_discrete_observations():
    """A number that is no observation is not the last one."""
    member = xlarun.load(DATA / "cartpole.safetensors")
    member.observation_space = {"type": "Discrete", "n": 4, "shape": [], "dtype": "int32"}
    assert member.act(3)[0] == member.act(np.int32(3))[0]
    for bad in (-1, 4, 1.5, float("nan"), float("inf"), [1, 4], np.zeros((4, 1))):
        with pytest.raises(ValueError, match="the observation got"):
            member.act(bad)


@pytest.mark.parametrize("path", sorted(DATA.glob("*.safetensors")), ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_outputs_of_nan(path):
    """One NaN makes all outputs NaN; rollout/episode/member_nan_test.go has the same for Go."""
    member = xlarun.load(path)
    observation = np.full(member.observation_space["shape"], 0.1)
    observation.flat[0] = np.nan
    if member.metadata["policy"] == "genome":
        observation[...] = np.nan  # a genome may have no connection from the first element
    outputs, _ = member.outputs(observation, rng=np.random.default_rng(1))
    assert np.isnan(outputs).all() or member.metadata["policy"] == "vector"  # which observes nothing


def test_nan_acts_as_in_go():
    """NaN outputs: the first is the largest, but with a mask they are the least finite number."""
    member = xlarun.load(DATA / "cartpole.safetensors")
    nan = np.full(4, np.nan)
    assert member.act(nan)[0] == 0
    assert member.act(nan, legal=[False, True])[0] == 1
    assert member.act(nan, legal=[True, True])[0] == 0


def test_crc32c():
    assert crc32c(b"123456789") == 0xE3069283  # the check value of CRC-32C
    assert crc32c(b"") == 0
    assert crc32c(bytes(32)) == 0x8A9136AA  # RFC 3720, B.4
    assert crc32c(b"\xff" * 32) == 0x62A8AB43


@pytest.mark.parametrize("path", DIGESTS, ids=lambda path: path.stem)
def test_damaged_files(tmp_path, path):
    """A bit that has changed in an array or in the metadata."""
    whole = path.read_bytes()
    xlarun.load(path)
    length = int.from_bytes(whole[:8], "little")
    kind = whole.index(b'"policy":') + len(b'"policy":"')
    for at in (8 + length, len(whole) - 1, (8 + length + len(whole)) // 2, kind):
        damaged = bytearray(whole)
        damaged[at] ^= 1
        file = tmp_path / "damaged.safetensors"
        file.write_bytes(damaged)
        with pytest.raises(ValueError, match="is damaged: its digest is crc32c:"):
            xlarun.load(file)


def test_digest_of_no_array(tmp_path):
    """A digest of a file that has nothing else, and a file without one."""
    for digest, damaged in [("crc32c:00000001", True), ("", True), ("crc32c:00000000", False), (None, False)]:
        metadata = {} if digest is None else {"digest": digest}
        header = json.dumps({"__metadata__": metadata}).encode()
        file = tmp_path / "a.safetensors"
        file.write_bytes(len(header).to_bytes(8, "little") + header)
        with pytest.raises(ValueError, match="is damaged" if damaged else "has no policy"):
            xlarun.load(file)


@pytest.mark.parametrize("metadata", [[], "x", 3, None, {"digest": 3}, {"policy": ["mlp"]}])
def test_metadata_of_no_texts(tmp_path, metadata):
    """Metadata that are no texts."""
    header = json.dumps({"__metadata__": metadata}).encode()
    file = tmp_path / "a.safetensors"
    file.write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(ValueError, match="its metadata are no texts"):
        xlarun.load(file)


@pytest.mark.parametrize("reward, started, want", [
    (None, True, "reward is None, want a number"),
    ([1.0], True, r"reward has the shape \[1\], want a number"),
    (1.0, False, "state is None: give the state that act returned"),
])
def test_rewards(reward, started, want):
    """No reward made all weights NaN, and no state was an error of Python's own."""
    member = xlarun.load(DATA / "spiking-rewarded.safetensors")
    with pytest.raises(ValueError, match=want):
        member.learn(member.start() if started else None, reward)


def test_transformer_without_heads():
    """A member of an earlier release is one sentence."""
    member = xlarun.load(DATA / "transformer.safetensors")
    for key in ("heads", "memory"):
        metadata = {k: v for k, v in member.metadata.items() if k != key}
        with pytest.raises(ValueError, match=f"the member has no {key} in its metadata"):
            xlarun.Member(member.arrays, metadata)


def test_batches_of_another_size():
    """States, masks and rewards of another number of observations."""
    member = xlarun.load(DATA / "gru.safetensors")
    observations = np.zeros((3, *member.observation_space["shape"]))
    with pytest.raises(ValueError, match=r"the state is of 2 episodes, want one for each of the 3 observations"):
        member.act(observations, member.start(2))
    member = xlarun.load(DATA / "cartpole.safetensors")
    for legal in ([[True, True]], [[True, True]] * 2):
        with pytest.raises(ValueError, match=r"want \[3, 2\], a row for each observation"):
            member.act(np.zeros((3, 4)), legal=legal)
    with pytest.raises(ValueError, match="legal allows no action"):
        member.act(np.zeros((2, 4)), legal=[[True, False], [False, False]])
    member = xlarun.load(DATA / "spiking-rewarded.safetensors")
    with pytest.raises(ValueError, match=r"reward has the shape \[3\], want 2 numbers"):
        member.learn(member.start(2), [1, 2, 3])


def test_genome_without_layers():
    """A member of hyperneat of an earlier release, without the perceptron that its genome draws."""
    member = xlarun.load(DATA / "hyperneat.safetensors")
    genome = {name: a for name, a in member.arrays.items() if not name.startswith("Layers")}
    with pytest.raises(ValueError, match="the member has no layers, which its genome draws: export its run again"):
        xlarun.Member(genome, member.metadata)


@pytest.mark.parametrize("use, module, library, want", [
    (lambda: xlarun.load(DATA / "cartpole.safetensors").jax(), "jax_function", "jax",
     "Member.jax needs JAX: pip install jax"),
    (lambda: xlarun.load(DATA / "cartpole.safetensors").nnx(), "nnx_module", "flax",
     "Member.nnx needs JAX and Flax: pip install jax flax"),
    (lambda: xlarun.load(DATA / "cartpole.safetensors").torch(), "torch_module", "torch",
     "Member.torch needs PyTorch: pip install torch"),
    (lambda: xlarun.from_jax(abs, "folder", {"n": 2}), "", "jax", "xlarun.from_jax needs JAX: pip install jax"),
    (lambda: xlarun.make_vec("CartPole-v1", 2), "vector", "gymnasium",
     "xlarun.make_vec needs Gymnasium 1.1 or newer: pip install 'gymnasium>=1.1'"),
    (lambda: xlarun.sb3, "sb3", "stable_baselines3",
     "xlarun.sb3 needs Stable-Baselines3: pip install stable-baselines3"),
    *[(lambda to=to: xlarun.track(DATA, to), "", to, f"xlarun.track needs {to}: pip install {to}")
      for to in ("mlflow", "wandb", "trackio", "aim")],
])
def test_without_a_library(monkeypatch, use, module, library, want):
    """What is not installed is one sentence, which says what to install."""
    monkeypatch.delitem(sys.modules, f"xlarun.{module}", raising=False)
    monkeypatch.delitem(vars(xlarun), module, raising=False)
    for name in [name for name in sys.modules if name.startswith(library + ".")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises((ImportError, xlarun.Error)) as e:
        use()
    assert str(e.value) == want
