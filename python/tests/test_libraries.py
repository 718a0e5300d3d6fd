"""The networks of members in JAX and PyTorch compute what they compute in NumPy, and learn."""
import numpy as np
import pytest
from test_members import CASES, DATA, decode

import xlarun
from xlarun.networks import Batched


def member(name):
    m = xlarun.load(DATA / name)
    return m, decode(CASES[name]["observations"]).reshape(5, -1, *m.observation_space["shape"]).copy()  # 5 steps


def variants():
    """Members of each policy with a form in other libraries, and what no file of a member has."""
    plain = [name for name in CASES if isinstance(xlarun.load(DATA / name).network, Batched)]
    assert len(plain) > 15
    return [(name, {}) for name in plain] + [
        ("cnn.safetensors", {"padding": "same", "stride": stride}) for stride in ("1", "3")]


def changed(name, metadata):
    known, observations = member(name)
    if "padding" not in metadata:
        return known, observations
    rng, arrays = np.random.default_rng(0), dict(known.arrays)
    side = -(-10 // int(metadata["stride"]))  # of what the convolution returns
    arrays["Convs.0.W"] = rng.normal(size=(4, 3, *arrays["Convs.0.W"].shape[2:])).astype(np.float32)
    size = side * side * arrays["Convs.0.W"].shape[3], arrays["Dense.Layers.0.W"].shape[1]
    arrays["Dense.Layers.0.W"] = rng.normal(size=size).astype(np.float32)
    return xlarun.Member(arrays, {**known.metadata, **metadata}), observations


def refused():
    for name in ("genome", "spiking", "nir", "transformer"):
        yield xlarun.load(DATA / f"{name}.safetensors")


def discrete():
    m, _ = member("cartpole.safetensors")
    m.observation_space = {"type": "Discrete", "n": 4, "shape": [], "dtype": "int32"}
    return m


@pytest.mark.parametrize("name, metadata", variants())
def test_jax(name, metadata):
    jax = pytest.importorskip("jax")
    m, observations = changed(name, metadata)
    apply, params = m.jax()
    assert all(np.array_equal(a, m.arrays[key]) for key, a in params.items())
    apply, state = jax.jit(jax.vmap(apply, (None, 0, 0))), m.start(4)
    # without a state an episode begins
    got, _ = jax.vmap(m.jax()[0], (None, 0))(params, observations[0, :4])
    np.testing.assert_allclose(got, m.outputs(observations[0, :4], state)[0], atol=1e-5, rtol=1e-5)
    after = state
    for x in observations[:, :4]:
        want, state = m.outputs(x, state)
        got, after = apply(params, x, after)
        np.testing.assert_allclose(got, want, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("stride", [1, 3])
def test_padding(stride):
    """A convolution with zeros around is XLA's, in NumPy too."""
    jax = pytest.importorskip("jax")
    m, observations = changed("cnn.safetensors", {"padding": "same", "stride": str(stride)})
    a, x = m.arrays, observations[0]
    x = jax.lax.conv_general_dilated(x, a["Convs.0.W"], (stride, stride), "SAME",
                                     dimension_numbers=("NHWC", "HWIO", "NHWC"))
    x = jax.nn.gelu(x + a["Convs.0.B"], approximate=False).reshape(len(x), -1)
    x = jax.nn.gelu(x @ a["Dense.Layers.0.W"] + a["Dense.Layers.0.B"], approximate=False)
    want = x @ a["Dense.Layers.1.W"] + a["Dense.Layers.1.B"]
    np.testing.assert_allclose(m.outputs(observations[0])[0], want, atol=1e-4, rtol=1e-4)


def test_jax_learns():
    jax = pytest.importorskip("jax")
    m, observations = member("gru.safetensors")
    apply, params = m.jax()

    def loss(params):
        def step(state, x):
            out, state = apply(params, x, state)
            return state, out
        return (jax.lax.scan(step, m.start(), observations[:, 0])[1] ** 2).mean()

    before, gradient = loss(params), jax.jit(jax.grad(loss))
    for _ in range(20):
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, gradient(params))
    assert loss(params) < 0.5 * before
    trained = xlarun.Member({**m.arrays, **{key: np.asarray(a) for key, a in params.items()}}, m.metadata)
    np.testing.assert_allclose(trained.outputs(observations[0, 0])[0], apply(params, observations[0, 0])[0], atol=1e-5)


def test_jax_of_numbers_and_refusals():
    jax = pytest.importorskip("jax")
    m = discrete()
    apply, params = m.jax()
    got = jax.vmap(apply, (None, 0))(params, np.arange(4))[0]
    np.testing.assert_allclose(got, m.outputs(np.arange(4))[0], atol=1e-5)
    for m in refused():
        with pytest.raises(NotImplementedError, match=f"the policy {m.metadata['policy']} runs in NumPy only"):
            m.jax()


@pytest.mark.parametrize("name", ["cartpole.safetensors", "cnn.safetensors", "lstm.safetensors"])
def test_nnx(name):
    jax, nnx = pytest.importorskip("jax"), pytest.importorskip("flax.nnx")
    m, observations = member(name)
    module, state, after = m.nnx(), m.start(4), None
    params = {".".join(path): a[...] for path, a in nnx.to_flat_state(nnx.state(module, nnx.Param))}
    assert params.keys() == m.jax()[1].keys() and all(np.array_equal(a, m.arrays[key]) for key, a in params.items())
    step = nnx.jit(lambda module, x, state: module(x, state))
    for x in observations[:, :4]:
        want, state = m.outputs(x, state)
        got, after = step(module, x, after)
        np.testing.assert_allclose(got, want, atol=1e-5, rtol=1e-5)

    def loss(module):
        return (module(observations[0])[0] ** 2).mean()

    before = loss(module)
    gradient = nnx.grad(loss)(module)
    nnx.update(module, jax.tree.map(lambda p, g: p - 0.01 * g, nnx.state(module, nnx.Param), gradient))
    assert loss(module) < before


@pytest.mark.parametrize("name, metadata", variants())
def test_torch(name, metadata):
    torch = pytest.importorskip("torch")
    m, observations = changed(name, metadata)
    module, state = m.torch(), None
    assert all(np.array_equal(a, m.arrays[key]) for key, a in module.state_dict().items())
    after = None
    for x in observations[:, :4]:
        want, state = m.outputs(x, state if state is not None else m.start(4))
        with torch.no_grad():
            got, after = module(x, after)
        np.testing.assert_allclose(got, want, atol=1e-5, rtol=1e-5)


def test_torch_learns():
    torch = pytest.importorskip("torch")
    m, observations = member("gru.safetensors")
    module = m.torch()
    descent = torch.optim.SGD(module.parameters(), 0.1)
    losses = []
    for _ in range(20):
        state, outputs = None, []
        for x in observations[:, :1]:
            out, state = module(x, state)
            outputs.append(out)
        losses.append((torch.cat(outputs) ** 2).mean())
        descent.zero_grad()
        losses[-1].backward()
        descent.step()
    assert losses[-1] < 0.5 * losses[0]
    arrays = {key: a.numpy() for key, a in module.state_dict().items()}
    trained = xlarun.Member({**m.arrays, **arrays}, m.metadata)
    with torch.no_grad():
        np.testing.assert_allclose(trained.outputs(observations[0, :1])[0], module(observations[0, :1])[0], atol=1e-5)


def test_torch_of_numbers_and_refusals():
    torch = pytest.importorskip("torch")
    m = discrete()
    with torch.no_grad():
        np.testing.assert_allclose(m.torch()(np.arange(4))[0], m.outputs(np.arange(4))[0], atol=1e-5)
    for m in refused():
        with pytest.raises(NotImplementedError, match=f"the policy {m.metadata['policy']} runs in NumPy only"):
            m.torch()
