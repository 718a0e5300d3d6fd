"""Layers, losses, activations and initializers from flax.linen, optax and jax.nn for graph/nn, written to OUTPUT_DIR/jax_nn.json.gz.

{"versions": {...}, "cases": [{"name", "config", "inputs": {name: array}, "outputs": {name: array}}...]}; arrays as in common.py,
float32 where not said otherwise. A layer's case has as inputs the parameters (the last two parts of flax's paths, joined by "/"), "x" and what else is
named below; "y" is the layer's output and "d_<input>" the gradient of loss = sum(y * weight) with the input "weight", y's shape (of
several outputs: the sum over them, with "weight_<output>").
  dense, dense_nobias    x [5, in]
  conv_<n>        x [spatial…, in] without a batch axis; config: kernel, strides, dilation, padding ("SAME", "VALID" or pairs), groups
  conv_transpose_<n>     the same without groups
  layer_norm, rms_norm   x [5, features]; config: epsilon
  group_norm      x [spatial…, features] without a batch axis; config: epsilon, groups
  batch_norm      x [batch…, features], mean and var the running averages; y and the next averages "new_mean", "new_var";
                  batch_norm_apply: y by the running averages; config: epsilon, momentum
  glu             x; config: axis
  rnn, rnn_scan   flax's SimpleCell; as gru
  mingru          kernel_z, bias_z, kernel_h, bias_h, h, x [steps, in]: "y" all states, by a loop over the definition
  embedding       i int32; attend: "x" and "attend" = x @ table^T
  gru, lstm       one step: state h (and c), x; outputs h (and c)
  gru_scan, lstm_scan    x [steps, in] from zeros: "y" all outputs, "last"
  mha, mha_causal, mha_cross    x [positions, width] (cross: q and x); config: heads
  pool_<n>        config: kind, window, strides, padding (average: padding not counted)
  activation      config: function; x includes 0 and the kinks; "y" and "d_x", the derivative at each x
  loss            config: function, delta; inputs prediction and target, or logits and label; "loss" for each example and
                  gradients of the sum of all
  bidirectional   two SimpleCells; conv_lstm as lstm; weight_norm, spectral_norm (one more output: the next u); ntxent, triplet, ctc (config:
                  window: steps and length); rotary (at: positions)
  init            config: function, seed, args; "y" the draw with jax.random.key(seed); orthogonal too
"""
import os

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.nn import initializers

from common import encode, out_dir, versions, write

RNG = np.random.default_rng(11)
CASES = []


def normal(*shape, scale=1.0):
    return jnp.asarray(RNG.standard_normal(shape) * scale, jnp.float32)


def keep(name, inputs, outputs, config=None):
    assert all(np.isfinite(np.asarray(v)).all() for v in outputs.values()), name
    CASES.append({"name": name, "config": config or {}, "inputs": {k: encode(v) for k, v in inputs.items()},
                  "outputs": {k: encode(v) for k, v in outputs.items()}})


def name_of(path):
    return "/".join(k.key for k in path[-2:])


def flat(params):
    return {name_of(path): v for path, v in jax.tree_util.tree_flatten_with_path(params)[0]}


def unflat(like, values):
    return jax.tree_util.tree_map_with_path(lambda path, _: values[name_of(path)], like)


def grads(f, inputs, free):
    """Outputs of f, a dict, and gradients of the sum of all outputs, each times its weight."""
    out = jax.jit(f)(inputs)
    weights = {"weight" + ("" if len(out) == 1 else "_" + k): normal(*v.shape) for k, v in out.items()}
    loss = lambda some: sum((v * weights["weight" + ("" if len(out) == 1 else "_" + k)]).sum() for k, v in f({**inputs, **some}).items())
    g = jax.jit(jax.grad(loss))({k: inputs[k] for k in free})
    return {**inputs, **weights}, {**out, **{"d_" + k: v for k, v in g.items()}}


def layer(name, module, *args, config=None, names=("x",), result=lambda y: {"y": y}, fixed=()):
    params = module.init(jax.random.key(len(CASES)), *args)["params"] if name.split("_")[0] != "pool" else {}
    # Biases and scales are not left at their initial 0 and 1.
    params = jax.tree.map(lambda p: p + normal(*p.shape, scale=0.1), params)
    inputs = {**flat(params), **dict(zip(names, args))}
    f = lambda v: result(module.apply({"params": unflat(params, v)}, *[v[n] for n in names]))
    keep(name, *grads(f, inputs, [k for k in inputs if k not in fixed]), config)


def activations():
    x = jnp.concatenate([jnp.asarray([0, -0.0, 1, -1, 3, -3, 6, 20, -20, 90, -90], jnp.float32), normal(40, scale=2.0)])
    table = {"relu": jax.nn.relu, "relu6": jax.nn.relu6, "selu": jax.nn.selu, "gelu": lambda x: jax.nn.gelu(x, approximate=False),
             "gelu_tanh": jax.nn.gelu, "silu": jax.nn.silu, "swish": jax.nn.swish, "sigmoid": jax.nn.sigmoid, "log_sigmoid": jax.nn.log_sigmoid,
             "tanh": jnp.tanh, "softplus": jax.nn.softplus, "softsign": jax.nn.soft_sign, "hard_tanh": jax.nn.hard_tanh,
             "hard_sigmoid": jax.nn.hard_sigmoid, "hard_swish": jax.nn.hard_swish, "mish": jax.nn.mish, "elu": jax.nn.elu,
             "leaky_relu": jax.nn.leaky_relu, "softmax": jax.nn.softmax}
    for name, f in table.items():
        d = jax.vmap(jax.grad(f))(x) if name != "softmax" else jax.grad(lambda v: (f(v) * jnp.arange(len(x))).sum())(x)
        keep("activation", {"x": x}, {"y": f(x), "d_x": d}, {"function": name})


def losses():
    p, t = normal(4, 6), normal(4, 6)
    label = jnp.asarray(RNG.integers(0, 6, 4), jnp.int32)
    prob = jax.nn.softmax(normal(4, 6))
    mean = lambda f: lambda p, t: f(p, t).mean(-1)
    table = [
        ("mse", mean(optax.squared_error), p, t, {}), ("mae", mean(lambda p, t: abs(p - t)), p, t, {}),
        ("huber", mean(lambda p, t: optax.huber_loss(p, t, delta=1.0)), p, t, {"delta": 1.0}),
        ("huber", mean(lambda p, t: optax.huber_loss(p, t, delta=0.3)), p, t, {"delta": 0.3}),
        ("cross_entropy", optax.softmax_cross_entropy_with_integer_labels, 3 * p, label, {}),
        ("cross_entropy", optax.softmax_cross_entropy_with_integer_labels, 60 * p, label, {}),
        ("cross_entropy_one_hot", optax.softmax_cross_entropy, 3 * p, prob, {}),
        ("binary_cross_entropy", mean(optax.sigmoid_binary_cross_entropy), 8 * p, jax.nn.sigmoid(t), {}),
        ("cosine", lambda p, t: optax.cosine_distance(p, t, epsilon=1e-8), p, t, {}),
        ("kl", lambda p, t: optax.kl_divergence(jax.nn.log_softmax(p), t), p, prob, {}),
        ("focal", mean(lambda p, t: optax.sigmoid_focal_loss(p, t, gamma=2.0)), 4 * p, jax.nn.sigmoid(t), {"delta": -1.0}),
        ("focal", mean(lambda p, t: optax.sigmoid_focal_loss(p, t, alpha=0.3, gamma=2.0)), 4 * p, jax.nn.sigmoid(t), {"delta": 0.3}),
        ("hinge", mean(optax.hinge_loss), p, jnp.sign(t), {}), ("log_cosh", mean(optax.log_cosh), 5 * p, t, {}),
    ]
    for name, f, a, b, config in table:
        free = (0, 1) if b.dtype == jnp.float32 and name != "mae" else (0,)
        g = jax.grad(lambda a, b: f(a, b).sum(), free)(a, b)
        out = {"loss": f(a, b), "d_prediction": g[0]}
        if len(free) == 2:
            out["d_target"] = g[1]
        keep("loss", {"prediction": a, "target": b}, out, {"function": name, **config})


def inits():
    for seed, shape in enumerate([(5, 7), (16, 4), (3, 3, 4, 8), (64, 64)]):
        key = jax.random.key(seed)
        table = {"lecun_normal": initializers.lecun_normal(), "lecun_uniform": initializers.lecun_uniform(), "he_normal": initializers.he_normal(),
                 "he_uniform": initializers.he_uniform(), "xavier_normal": initializers.glorot_normal(),
                 "xavier_uniform": initializers.glorot_uniform(), "orthogonal": initializers.orthogonal(2 ** 0.5)}
        if seed < 2:
            table |= {"normal": initializers.normal(0.3), "uniform": initializers.uniform(0.3),
                      "truncated_normal": initializers.truncated_normal(0.3, lower=-1, upper=1.5), "zeros": initializers.zeros,
                      "ones": initializers.ones, "constant": initializers.constant(0.7),
                      "fan_geo_avg": initializers.variance_scaling(1.5, "fan_geo_avg", "normal"),
                      "fan_out": initializers.variance_scaling(0.5, "fan_out", "truncated_normal")}
        for name, f in table.items():
            keep("init", {}, {"y": f(key, shape, jnp.float32)}, {"function": name, "seed": seed})


class Scanned(nn.Module):
    cell: nn.Module

    @nn.compact
    def __call__(self, x):
        carry, y = nn.RNN(self.cell, return_carry=True)(x)
        return {"y": y, "last": carry[1] if isinstance(carry, tuple) else carry}


def more_layers():
    transposed = [
        ((3, 3), (1, 1), (1, 1), "SAME", (4, 5, 2)), ((3, 3), (2, 2), (1, 1), "SAME", (4, 3, 2)), ((2, 4), (3, 1), (1, 1), "SAME", (4, 3, 2)),
        ((3, 2), (2, 3), (1, 1), "VALID", (4, 3, 2)), ((3,), (2,), (2,), "VALID", (5, 3)), ((3, 3), (2, 2), (1, 1), ((1, 2), (0, 1)), (4, 3, 2)),
    ]
    for i, (kernel, strides, dilation, padding, shape) in enumerate(transposed):
        layer(f"conv_transpose_{i}", nn.ConvTranspose(4, kernel, strides, padding, kernel_dilation=dilation), normal(*shape),
              config={"strides": strides, "dilation": dilation, "padding": padding if isinstance(padding, str) else "",
                      "pads": [] if isinstance(padding, str) else padding})
    group = lambda groups: type("G", (nn.Module,), {"__call__": nn.compact(lambda self, x: nn.GroupNorm(groups, name="norm")(x[None])[0])})()
    for groups, shape in ((4, (3, 5, 8)), (1, (8,)), (8, (6, 8))):
        layer("group_norm", group(groups), 2 + normal(*shape), config={"epsilon": 1e-6, "groups": groups})
    for shape in ((6, 4), (2, 3, 4, 4)):
        inputs = {"x": 3 + 2 * normal(*shape), "scale": 1 + 0.1 * normal(4), "bias": normal(4), "mean": normal(4), "var": 1 + abs(normal(4))}
        config = {"epsilon": 1e-5, "momentum": 0.9}
        module = lambda average: nn.BatchNorm(use_running_average=average, momentum=0.9)
        tree = lambda v: {"params": {"scale": v["scale"], "bias": v["bias"]}, "batch_stats": {"mean": v["mean"], "var": v["var"]}}

        def train(v):
            y, new = module(False).apply(tree(v), v["x"], mutable=["batch_stats"])
            fixed = jax.lax.stop_gradient(new["batch_stats"])
            return {"y": y, "new_mean": fixed["mean"], "new_var": fixed["var"]}

        keep("batch_norm", *grads(train, inputs, ["x", "scale", "bias"]), config)
        keep("batch_norm_apply", *grads(lambda v: {"y": module(True).apply(tree(v), v["x"])}, inputs, ["x", "scale", "bias"]), config)
    for axis in (-1, 0):
        keep("glu", *grads(lambda v: {"y": jax.nn.glu(v["x"], axis)}, {"x": normal(4, 6)}, ["x"]), {"axis": axis})
    layer("rnn", nn.SimpleCell(6), normal(6), normal(4), names=("h", "x"), result=lambda y: {"h": y[0]})
    layer("rnn_scan", Scanned(nn.SimpleCell(6)), normal(12, 4), result=lambda y: y)

    def mingru(v):
        def step(h, x):
            z = jax.nn.sigmoid(x @ v["kernel_z"] + v["bias_z"])
            h = (1 - z) * h + z * (x @ v["kernel_h"] + v["bias_h"])
            return h, h

        return {"y": jax.lax.scan(step, v["h"], v["x"])[1]}

    for steps in (1, 13):
        inputs = {"kernel_z": normal(4, 6), "bias_z": normal(6), "kernel_h": normal(4, 6), "bias_h": normal(6), "h": normal(6), "x": normal(steps, 4)}
        keep("mingru", *grads(mingru, inputs, list(inputs)))


def sequences():
    both = type("Both", (nn.Module,), {"__call__": nn.compact(lambda self, x: nn.Bidirectional(nn.RNN(nn.SimpleCell(3, name="forward")),
                                                                                          nn.RNN(nn.SimpleCell(3, name="backward")))(x))})

    def renamed(v):
        cell = lambda side: {"i": {"kernel": v[side + "/i/kernel"], "bias": v[side + "/i/bias"]}, "h": {"kernel": v[side + "/h/kernel"]}}  # noqa: E731
        return {"y": both().apply({"params": {"forward": cell("forward"), "backward": cell("backward")}}, v["x"])}

    inputs = {"x": normal(5, 4)}
    for side in ("forward", "backward"):
        inputs |= {side + "/i/kernel": normal(4, 3), side + "/i/bias": normal(3), side + "/h/kernel": normal(3, 3)}
    keep("bidirectional", *grads(renamed, inputs, list(inputs)))
    step = type("Step", (nn.Module,), {"__call__": nn.compact(lambda self, c, h, x: nn.ConvLSTMCell(3, (3, 2), name="cell")((c, h), x)[0])})
    layer("conv_lstm", step(), normal(4, 5, 3), normal(4, 5, 3), normal(4, 5, 2), names=("c", "h", "x"), result=lambda y: {"c": y[0], "h": y[1]})

    x = normal(5, 4)
    tree = nn.WeightNorm(nn.Dense(3, use_bias=False)).init(jax.random.key(0), x)["params"]
    leaves, shape = jax.tree.flatten(tree)
    order = [("kernel" if v.ndim == 2 else "scale") for v in leaves]
    module = nn.WeightNorm(nn.Dense(3, use_bias=False))
    inputs = {"kernel": normal(4, 3), "scale": normal(3), "x": x}
    keep("weight_norm", *grads(lambda v: {"y": module.apply({"params": jax.tree.unflatten(shape, [v[n] for n in order])}, v["x"])}, inputs, list(inputs)))

    spectral = nn.SpectralNorm(nn.Conv(3, (2, 2), use_bias=False), n_steps=2)
    x = normal(4, 5, 2)
    tree = spectral.init(jax.random.key(0), x, update_stats=True)
    stats, stats_shape = jax.tree.flatten(tree["batch_stats"])

    def normalized(v):
        fixed = jax.tree.unflatten(stats_shape, [v["u"] if s.ndim == 2 else s for s in stats])
        y, new = spectral.apply({"params": jax.tree.unflatten(jax.tree.structure(tree["params"]), [v["kernel"]]), "batch_stats": fixed}, v["x"],
                                update_stats=True, mutable=["batch_stats"])
        return {"y": y, "u_next": jax.lax.stop_gradient([s for s in jax.tree.leaves(new["batch_stats"]) if s.ndim == 2][0])}

    keep("spectral_norm", *grads(normalized, {"kernel": normal(2, 2, 2, 3), "u": normal(1, 3), "x": x}, ["kernel", "x"]))
    label = jnp.asarray([0, 1, 0, 2, 1, 1], jnp.int32)
    keep("ntxent", *grads(lambda v: {"loss": optax.losses.ntxent(v["x"], v["label"], 0.5)}, {"x": normal(6, 4), "label": label}, ["x"]))
    keep("triplet", *grads(lambda v: {"loss": optax.losses.triplet_margin_loss(v["x"], v["positive"], v["negative"])},
                           {"x": normal(5, 4), "positive": normal(5, 4), "negative": normal(5, 4)}, ["x", "positive", "negative"]))
    for labels, steps, length in (([1, 2, 3], 7, 3), ([2, 2, 1], 8, 3), ([1, 3, 0], 5, 2), ([1, 1, 1], 8, 2), ([1, 2, 0], 6, 0)):
        pads = jnp.asarray(np.arange(8) >= steps, jnp.float32)[None], jnp.asarray(np.arange(3) >= length, jnp.float32)[None]
        loss = lambda v: {"loss": optax.ctc_loss(v["x"][None], pads[0], v["label"][None], pads[1])[0]}  # noqa: E731
        keep("ctc", *grads(loss, {"x": 2 * normal(8, 4), "label": jnp.asarray(labels, jnp.int32)}, ["x"]), {"window": [steps, length]})

    def rotated(v):  # as pairs of complex numbers
        x = v["x"]
        half = x.shape[-1] // 2
        turn = np.asarray(v["at"])[:, None, None] * 10000.0 ** (-np.arange(half) / half)
        z = (x[..., :half] + 1j * x[..., half:]) * jnp.asarray(np.exp(1j * turn), jnp.complex64)
        return {"y": jnp.concatenate([z.real, z.imag], -1)}

    at = jnp.asarray([0, 1, 2, 9, 100], jnp.int32)
    x, weight = normal(5, 2, 6), normal(5, 2, 6)
    got = jax.vjp(lambda x: rotated({"x": x, "at": at})["y"], x)
    keep("rotary", {"x": x, "at": at, "weight": weight}, {"y": got[0], "d_x": got[1](weight)[0]})


def main():
    out = out_dir(__doc__)
    layer("dense", nn.Dense(3), normal(5, 4))
    layer("dense_nobias", nn.Dense(3, use_bias=False), normal(5, 4))
    convs = [
        ((3, 3), (1, 1), (1, 1), "SAME", 1, (6, 5, 2)), ((3, 3), (2, 2), (1, 1), "SAME", 1, (7, 6, 2)), ((3, 2), (2, 1), (1, 1), "VALID", 1, (7, 6, 2)),
        ((3,), (2,), (2,), "SAME", 1, (11, 3)), ((3, 3), (1, 2), (1, 1), ((1, 2), (0, 1)), 1, (5, 6, 2)), ((3, 3), (1, 1), (1, 1), "SAME", 2, (4, 4, 4)),
    ]
    for i, (kernel, strides, dilation, padding, groups, shape) in enumerate(convs):
        layer(f"conv_{i}", nn.Conv(6, kernel, strides, padding, kernel_dilation=dilation, feature_group_count=groups), normal(*shape),
              config={"strides": strides, "dilation": dilation, "padding": padding if isinstance(padding, str) else "", "pads": [] if isinstance(padding, str) else padding,
                      "groups": groups})
    layer("layer_norm", nn.LayerNorm(), normal(5, 8), config={"epsilon": 1e-6})
    layer("layer_norm", nn.LayerNorm(epsilon=1e-3), 3 + normal(5, 8), config={"epsilon": 1e-3})
    layer("rms_norm", nn.RMSNorm(), normal(5, 8), config={"epsilon": 1e-6})
    layer("embedding", nn.Embed(7, 4), jnp.asarray([[0, 6, 3], [3, 3, 1]], jnp.int32), names=("i",), fixed=("i",))
    table = normal(7, 4)
    x = normal(2, 4)
    keep("attend", {"embedding": table, "x": x}, {"y": nn.Embed(7, 4).apply({"params": {"embedding": table}}, x, method="attend")})
    layer("gru", nn.GRUCell(6), normal(6), normal(4), names=("h", "x"), result=lambda y: {"h": y[0]})
    lstm = nn.LSTMCell(6)
    tuple_cell = type("Step", (nn.Module,), {"__call__": nn.compact(lambda self, c, h, x: nn.LSTMCell(6, name="cell")((c, h), x)[0])})
    layer("lstm", tuple_cell(), normal(6), normal(6), normal(4), names=("c", "h", "x"), result=lambda y: {"c": y[0], "h": y[1]})
    layer("gru_scan", Scanned(nn.GRUCell(6)), normal(12, 4), result=lambda y: y)
    layer("lstm_scan", Scanned(lstm), normal(12, 4), result=lambda y: y)
    mha = lambda: nn.MultiHeadDotProductAttention(2, qkv_features=8, out_features=8)
    layer("mha", mha(), normal(5, 8), config={"heads": 2})
    causal = type("Causal", (nn.Module,), {"__call__": nn.compact(lambda self, x: mha()(x, mask=nn.make_causal_mask(x[:, 0])))})
    layer("mha_causal", causal(), normal(5, 8), config={"heads": 2})
    layer("mha_cross", mha(), normal(3, 8), normal(5, 8), names=("q", "x"), config={"heads": 2})
    for i, (kind, f, padding, strides) in enumerate([("max", nn.max_pool, "VALID", (2, 2)), ("max", nn.max_pool, "SAME", (2, 1)), ("avg", nn.avg_pool, "VALID", (1, 2)),
                                                     ("avg", nn.avg_pool, "SAME", (2, 2))]):
        module = type("P", (nn.Module,), {"__call__": lambda self, x, f=f, p=padding, s=strides: f(x, (2, 3), s, p, **({"count_include_pad": False} if f is nn.avg_pool else {}))})
        layer(f"pool_{i}", module(), normal(5, 6, 3), config={"kind": kind, "window": (2, 3), "strides": strides, "padding": padding})
    activations()
    losses()
    inits()
    more_layers()
    sequences()
    write(os.path.join(out, "jax_nn.json.gz"), {"versions": versions("flax", "optax"), "cases": CASES})


main()
