"""Random layers of flax.linen and losses of optax, written to OUTPUT_DIR/random_nn.json.gz. CASES=n makes n cases instead of a few of
each kind, SEED=k others: for a search by hand.

{"versions": {...}, "cases": [{"name", "config", "inputs", "outputs", "slack"}...]}, arrays as in common.py.
  inputs   float32, bfloat16, float16 or int32, as the functions of KINDS below draw them
  outputs  float32: what float64 gives for these inputs, and "d_<input>", the gradient of the sum of all outputs, each times its "weight_<output>"
  slack    the largest error of the peer in the inputs' own dtype, for each output, in parts of the output's largest number;
           -1 where it has a NaN or an infinity that float64 has not
"""
import os
import random

os.environ["JAX_ENABLE_X64"] = "1"
os.environ["XLA_FLAGS"] = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true --xla_allow_excess_precision=false"
import flax.linen as nn  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import optax  # noqa: E402

from common import encode, out_dir, versions, write  # noqa: E402

KINDS = {}


def kind(f):
    KINDS[f.__name__] = f
    return f


class Draw:
    """Random choices and numbers of one case."""

    def __init__(self, seed):
        self.r, self.n = random.Random(seed), np.random.default_rng(seed)
        self.dtype = self.r.choice(["float32"] * 4 + ["bfloat16", "float16"])

    def __call__(self, *options):
        return self.r.choice(options)

    def size(self, most=5):
        return self.r.choice([1, 1, 2, 3, most])

    def normal(self, *shape, scale=1.0):
        return np.asarray(self.n.standard_normal(shape) * scale, np.float32)

    def chance(self, p):
        return self.r.random() < p

    def extreme(self, x, values, p=0.3):
        """x with some of its elements replaced by the values."""
        x = np.array(x)
        if x.size and self.chance(p):
            for _ in range(self.r.randint(1, 4)):
                x.reshape(-1)[self.r.randrange(x.size)] = self.r.choice(values)
        return x


def nest(v, names):
    """flax's tree of parameters from flat names."""
    tree = {}
    for name in names:
        node = tree
        *path, leaf = name.split("/")
        for p in path:
            node = node.setdefault(p, {})
        node[leaf] = v[name]
    return {"params": tree}


# A kind returns its config, its inputs, the names of those that have a gradient, and the function of the inputs.


@kind
def ctc(d):
    steps, classes, n = d.r.randint(1, 12), d.r.randint(2, 6), d.r.randint(1, 6)
    count = d.r.choice([steps, steps, d.r.randint(0, steps)])
    length = d.r.choice([n, d.r.randint(0, n), 0])
    x = d.extreme(d.normal(steps, classes, scale=d(1, 1, 3, 100, 1e4)), [1e4, -1e4, 1e4, 3e4, -3e4])
    label = np.asarray(d.n.integers(1, classes, n), np.int32)
    if d.chance(0.3):
        label[:] = label[0]
    pads = (np.arange(steps) >= count)[None], (np.arange(n) >= length)[None]
    # One hot in float64 mode is float64, and so is all of a float32 loss: its error is not measured.
    f = lambda v: {"loss": optax.ctc_loss(v["x"][None], jnp.asarray(pads[0], v["x"].dtype), v["label"][None], jnp.asarray(pads[1], v["x"].dtype))[0]}  # noqa: E731
    return {"window": [count, length]}, {"x": x, "label": label}, ["x"], f


def gates(d, inputs, names, rows, columns, bias, path=""):
    scale = d(1, 1, 1, 1e4)
    for n in names:
        inputs[f"{path}{n}/kernel"] = d.normal(rows, columns, scale=scale / np.sqrt(rows))
        if bias:
            inputs[f"{path}{n}/bias"] = d.extreme(d.normal(columns), [1e4, -1e4], 0.2)


def recurrent(d, cell, path=""):
    """A cell's sizes, parameters and start."""
    n, h, steps = d.size(), d.size(), d(1, 1, 2, 7, 12)
    inputs = {}
    if cell == "lstm":
        gates(d, inputs, ["ii", "if", "ig", "io"], n, h, False, path)
        gates(d, inputs, ["hi", "hf", "hg", "ho"], h, h, True, path)
    elif cell == "gru":
        gates(d, inputs, ["ir", "iz", "in"], n, h, True, path)
        gates(d, inputs, ["hr", "hz"], h, h, False, path)
        gates(d, inputs, ["hn"], h, h, True, path)
    else:
        gates(d, inputs, ["i"], n, h, True, path)
        gates(d, inputs, ["h"], h, h, False, path)
    make = {"lstm": nn.OptimizedLSTMCell, "gru": nn.GRUCell, "rnn": nn.SimpleCell}[cell]
    return n, h, steps, inputs, make


def through_time(d, cell):
    n, h, steps, inputs, make = recurrent(d, cell)
    names = list(inputs)
    inputs["h"] = d.normal(h) * d(0, 1, 1)
    if cell == "lstm":
        inputs["c"] = d.normal(h, scale=d(0, 1, 1e3))
    inputs["x"] = d.normal(steps, n)

    def f(v):
        carry = (v["c"], v["h"]) if cell == "lstm" else v["h"]
        module = nn.RNN(make(h), return_carry=True)
        p = {"params": {"cell": nest(v, names)["params"]}}
        (last, y) = module.apply(p, v["x"], initial_carry=carry)
        return {"y": y, "last": last[1], "last_c": last[0]} if cell == "lstm" else {"y": y, "last": last}

    return {}, inputs, list(inputs), f


@kind
def lstm_from(d):
    return through_time(d, "lstm")


@kind
def gru_from(d):
    return through_time(d, "gru")


@kind
def rnn_from(d):
    return through_time(d, "rnn")


@kind
def both_ways(d):
    """Bidirectional GRUs from zeros."""
    n, h, steps, inputs, make = recurrent(d, "gru", "forward/")
    other = {}
    gates(d, other, ["ir", "iz", "in"], n, h, True, "backward/")
    gates(d, other, ["hr", "hz"], h, h, False, "backward/")
    gates(d, other, ["hn"], h, h, True, "backward/")
    inputs |= other
    names = list(inputs)
    inputs["x"] = d.normal(steps, n)

    def f(v):
        p = nest(v, names)["params"]
        module = nn.Bidirectional(nn.RNN(make(h)), nn.RNN(make(h)))
        return {"y": module.apply({"params": {"forward_rnn": {"cell": p["forward"]}, "backward_rnn": {"cell": p["backward"]}}}, v["x"],
                                  initial_carry=(jnp.zeros(h, v["x"].dtype),) * 2)}

    return {}, inputs, list(inputs), f


@kind
def mingru(d):
    n, h, steps = d.size(), d.size(), d(1, 2, 9)
    inputs = {}
    for k in ("z", "h"):
        inputs["kernel_" + k], inputs["bias_" + k] = d.normal(n, h, scale=d(1, 1, 3)), d.extreme(d.normal(h), [1e4, -1e4])
    inputs["h"], inputs["x"] = d.normal(h), d.normal(steps, n)

    def f(v):
        def step(s, x):
            z = jax.nn.sigmoid(x @ v["kernel_z"] + v["bias_z"])
            s = (1 - z) * s + z * (x @ v["kernel_h"] + v["bias_h"])
            return s, s
        return {"y": jax.lax.scan(step, v["h"], v["x"])[1]}

    return {}, inputs, list(inputs), f


@kind
def conv_lstm(d):
    axes = d(1, 2)
    kernel, spatial = [d(1, 2, 3) for _ in range(axes)], [d(1, 2, 4) for _ in range(axes)]
    n, h = d(1, 2), d(1, 2)
    inputs = {"ih/kernel": d.normal(*kernel, n, 4 * h), "ih/bias": d.extreme(d.normal(4 * h), [1e4, -1e4]),
              "hh/kernel": d.normal(*kernel, h, 4 * h), "hh/bias": d.normal(4 * h)}
    names = list(inputs)
    inputs |= {"c": d.normal(*spatial, h), "h": d.normal(*spatial, h), "x": d.normal(*spatial, n)}

    def f(v):
        (c, out), _ = nn.ConvLSTMCell(h, tuple(kernel)).apply(nest(v, names), (v["c"], v["h"]), v["x"])
        return {"c": c, "h": out}

    return {}, inputs, list(inputs), f


def conv_sizes(d):
    axes = d(1, 2, 2, 3)
    return [d(1, 2, 3) for _ in range(axes)], [d(3, 4, 7) for _ in range(axes)], [d(1, 1, 2, 3) for _ in range(axes)], [d(1, 1, 2) for _ in range(axes)]


@kind
def conv(d):
    kernel, spatial, strides, dilation = conv_sizes(d)
    groups = d(1, 1, 2, 3)
    n, m = groups * d(1, 2), groups * d(1, 2)
    padding = d("SAME", "VALID", [[d(0, 1, 2), d(0, 1, 3)] for _ in kernel])
    if padding == "VALID":
        spatial = [max(s, (k - 1) * e + 1) for s, k, e in zip(spatial, kernel, dilation)]
    inputs = {"x": d.normal(*spatial, n), "kernel": d.normal(*kernel, n // groups, m), "bias": d.normal(m)}
    f = lambda v: {"y": nn.Conv(m, kernel, strides, padding, kernel_dilation=dilation, feature_group_count=groups).apply(nest(v, ["kernel", "bias"]), v["x"])}  # noqa: E731
    named = isinstance(padding, str)
    return {"strides": strides, "dilation": dilation, "padding": padding if named else "", "pads": [] if named else padding, "groups": groups}, inputs, list(inputs), f


@kind
def conv_transpose(d):
    kernel, spatial, strides, dilation = conv_sizes(d)
    n, m = d(1, 2), d(1, 2)
    padding = d("SAME", "VALID", [[d(0, 1, 2), d(0, 1, 3)] for _ in kernel])
    inputs = {"x": d.normal(*spatial, n), "kernel": d.normal(*kernel, n, m), "bias": d.normal(m)}
    f = lambda v: {"y": nn.ConvTranspose(m, kernel, strides, padding, kernel_dilation=dilation).apply(nest(v, ["kernel", "bias"]), v["x"])}  # noqa: E731
    named = isinstance(padding, str)
    return {"strides": strides, "dilation": dilation, "padding": padding if named else "", "pads": [] if named else padding}, inputs, list(inputs), f


def for_norm(d, *shape):
    """Numbers of large means, of no variance, of very different scales."""
    x = d.normal(*shape, scale=d(1, 1, 1e-4, 1e3)) + np.float32(d(0, 0, 10, 1e3, 1e6 if d.dtype == "float32" else 30))
    if d.chance(0.2):
        x[...] = x.reshape(-1)[0]
    return x


@kind
def layer_norm(d):
    shape = [d.size() for _ in range(d(1, 2, 3))]
    epsilon = d(1e-6, 1e-3, 1e-12)
    inputs = {"x": for_norm(d, *shape), "scale": d.normal(shape[-1]), "bias": d.normal(shape[-1])}
    f = lambda v: {"y": nn.LayerNorm(epsilon, use_fast_variance=False).apply(nest(v, ["scale", "bias"]), v["x"])}  # noqa: E731
    return {"epsilon": epsilon}, inputs, list(inputs), f


@kind
def rms_norm(d):
    shape = [d.size() for _ in range(d(1, 2, 3))]
    epsilon = d(1e-6, 1e-3, 1e-12)
    inputs = {"x": for_norm(d, *shape), "scale": d.normal(shape[-1])}
    f = lambda v: {"y": nn.RMSNorm(epsilon, use_fast_variance=False).apply(nest(v, ["scale"]), v["x"])}  # noqa: E731
    return {"epsilon": epsilon}, inputs, list(inputs), f


@kind
def group_norm(d):
    groups = d(1, 2, 3)
    shape = [d.size(4) for _ in range(d(0, 1, 2))] + [groups * d(1, 2, 3)]
    epsilon = d(1e-6, 1e-3)
    inputs = {"x": for_norm(d, *shape), "norm/scale": d.normal(shape[-1]), "norm/bias": d.normal(shape[-1])}
    f = lambda v: {"y": nn.GroupNorm(groups, epsilon=epsilon, use_fast_variance=False).apply(  # noqa: E731
        {"params": {"scale": v["norm/scale"], "bias": v["norm/bias"]}}, v["x"][None])[0]}
    return {"groups": groups, "epsilon": epsilon}, inputs, list(inputs), f


@kind
def batch_norm(d):
    shape = [d.size(4) for _ in range(d(1, 2, 3))] + [d.size()]
    epsilon, momentum = d(1e-5, 1e-3), d(0.99, 0.9, 0.0)
    inputs = {"x": for_norm(d, *shape), "scale": d.normal(shape[-1]), "bias": d.normal(shape[-1]), "mean": d.normal(shape[-1]), "var": d.normal(shape[-1])**2}

    def f(v):
        module = nn.BatchNorm(False, momentum=momentum, epsilon=epsilon, use_fast_variance=False)
        y, new = module.apply({**nest(v, ["scale", "bias"]), "batch_stats": {"mean": v["mean"], "var": v["var"]}}, v["x"], mutable=["batch_stats"])
        return {"y": y, "new_mean": jax.lax.stop_gradient(new["batch_stats"]["mean"]), "new_var": jax.lax.stop_gradient(new["batch_stats"]["var"])}

    return {"epsilon": epsilon, "momentum": momentum}, inputs, ["x", "scale", "bias"], f


@kind
def attention(d):
    """Dot products with masks of which some forbid all; no learned parts."""
    heads, q, k, depth, n = d(1, 2, 3), d(1, 2, 5), d(1, 2, 5), d(1, 2, 4), d(1, 3)
    scale = d(1, 1, 30, 1e2)
    inputs = {"q": d.normal(q, heads, depth, scale=scale), "k": d.normal(k, heads, depth, scale=scale), "v": d.normal(k, heads, n),
              "mask": np.asarray(d.n.random((d(1, heads), q, k)) < d(0.0, 0.5, 0.8, 1.0), np.int32)}
    f = lambda v: {"y": nn.dot_product_attention(v["q"], v["k"], v["v"], mask=v["mask"] > 0)}  # noqa: E731
    return {}, inputs, ["q", "k", "v"], f


@kind
def pool(d):
    axes = d(1, 2, 2, 3)
    what, spatial = d("max", "avg", "min"), [d(1, 3, 4, 7) for _ in range(axes)]
    window, strides, padding = [d(1, 2, 3, 5) for _ in range(axes)], [d(1, 2, 3) for _ in range(axes)], d("SAME", "VALID")
    if padding == "VALID":
        window = [min(w, s) for w, s in zip(window, spatial)]
    x = d.extreme(d.normal(*spatial, d(1, 2)) - d(0, 5), [-1e4, 1e4, 0])

    def f(v):
        if what == "avg":
            return {"y": nn.avg_pool(v["x"], tuple(window), tuple(strides), padding, count_include_pad=False)}
        sign = 1 if what == "max" else -1
        return {"y": sign * nn.max_pool(sign * v["x"], tuple(window), tuple(strides), padding)}

    return {"kind": what, "window": window, "strides": strides, "padding": padding}, {"x": x}, ["x"], f


@kind
def embedding(d):
    n, width = d(1, 2, 5), d(1, 3)
    inputs = {"embedding": d.normal(n, width), "i": np.asarray(d.n.integers(0, n, d(1, 4)), np.int32)}
    return {}, inputs, ["embedding"], lambda v: {"y": nn.Embed(n, width).apply(nest(v, ["embedding"]), v["i"])}


@kind
def activation_of(d):
    names = ["relu", "relu6", "selu", "gelu", "gelu_tanh", "silu", "sigmoid", "log_sigmoid", "tanh", "softplus", "soft_sign", "hard_tanh", "hard_sigmoid",
             "hard_swish", "mish", "elu", "leaky_relu"]
    name = d(*names)
    g = {"gelu": lambda x: jax.nn.gelu(x, approximate=False), "gelu_tanh": jax.nn.gelu}.get(name) or getattr(jax.nn, name)
    x = d.extreme(d.normal(12, scale=d(1, 1, 10, 1e-3)), [0, -0.0, 6, -3, 3, 1, -1, 1e4, -1e4, 50, -50, 100, -100], 0.9)
    return {"function": {"soft_sign": "softsign"}.get(name, name)}, {"x": x}, ["x"], lambda v: {"y": g(v["x"])}


@kind
def loss_of(d):
    name = d("mse", "mae", "huber", "cross_entropy", "cross_entropy_one_hot", "binary_cross_entropy", "kl", "focal", "hinge", "log_cosh", "cosine", "smooth")
    rows, classes = d(1, 3), d(1, 2, 2, 5)
    p = d.extreme(d.normal(rows, classes, scale=d(1, 1, 5, 100)), [0, 1e4, -1e4, 50, -50, 1e-4])
    t, config, free = d.normal(rows, classes), {"function": name}, ["prediction", "target"]
    soft = np.asarray(d.n.dirichlet([d(0.1, 1, 5)] * classes, rows), np.float32)
    if name in ("cross_entropy_one_hot", "kl", "smooth"):
        t = soft if d.chance(0.7) else np.eye(classes, dtype=np.float32)[d.n.integers(0, classes, rows)]
    elif name in ("binary_cross_entropy", "focal"):
        t = d.extreme(np.asarray(d.n.random((rows, classes)), np.float32), [0, 1], 0.8)
    elif name == "hinge":
        t = np.sign(t)
    if name == "kl" and (t == 0).any():
        free = ["prediction"]  # of 0 log 0 JAX has a NaN
    if name == "cross_entropy":
        t, free = np.asarray(d.n.integers(0, classes, rows), np.int32), ["prediction"]
    if name == "huber":
        config["delta"] = d(1.0, 0.1, 10.0)
    elif name == "focal":
        config |= {"delta": d(-1.0, 0.25, 0.0, 1.0), "epsilon": d(2.0, 0.5, 1.0, 0.0)}
        if np.isin(t, [0, 1]).any():
            free = ["prediction"]  # JAX's logsumexp has no derivative by a weight of 0
    elif name == "smooth":
        config["delta"] = d(0.0, 0.1, 1.0)
    mean = lambda f: lambda p, t: f(p, t).mean(-1)  # noqa: E731
    g = {"mse": mean(optax.squared_error), "mae": mean(lambda p, t: jnp.abs(p - t)), "huber": mean(lambda p, t: optax.huber_loss(p, t, delta=config["delta"])),
         "cross_entropy": optax.softmax_cross_entropy_with_integer_labels, "cross_entropy_one_hot": optax.softmax_cross_entropy,
         "binary_cross_entropy": mean(optax.sigmoid_binary_cross_entropy), "kl": lambda p, t: optax.kl_divergence(jax.nn.log_softmax(p), t),
         "focal": mean(lambda p, t: optax.sigmoid_focal_loss(p, t, alpha=config["delta"] if config["delta"] >= 0 else None, gamma=config["epsilon"])),
         "hinge": mean(optax.hinge_loss), "log_cosh": mean(optax.log_cosh), "cosine": lambda p, t: optax.cosine_distance(p, t, epsilon=1e-8),
         "smooth": lambda p, t: optax.softmax_cross_entropy(p, optax.smooth_labels(t, config["delta"]))}[name]
    return config, {"prediction": p, "target": t}, free, lambda v: {"loss": g(v["prediction"], v["target"])}


@kind
def contrast(d):
    n, width = d(2, 3, 6), d(1, 2, 4)
    label = np.asarray(d.n.integers(0, d(1, 2, 4), n), np.int32)
    label[-1] = label[0]  # one pair at least
    temperature = d(0.07, 0.5, 5.0)
    return {"delta": temperature}, {"x": d.normal(n, width), "label": label}, ["x"], lambda v: {"loss": optax.losses.ntxent(v["x"], v["label"], temperature)}


@kind
def triplet_margin(d):
    shape = [d(1, 3), d(1, 4)]
    inputs = {"x": d.normal(*shape), "positive": d.normal(*shape), "negative": d.normal(*shape)}
    if d.chance(0.3):
        inputs["positive"] = inputs["x"].copy()
    margin = d(1.0, 0.1)
    return {"delta": margin}, inputs, list(inputs), lambda v: {"loss": optax.losses.triplet_margin_loss(v["x"], v["positive"], v["negative"], margin=margin)}


def case(name, seed):
    d = Draw(seed)
    config, inputs, free, f = KINDS[name](d)
    if max(np.abs(v).max(initial=0) for v in inputs.values()) > 6e4:
        d.dtype = d("float32", "float32", "bfloat16")
    if os.environ.get("CASES"):
        print(name, seed, flush=True)
    narrow = {k: v if v.dtype == np.int32 else jnp.asarray(v, d.dtype) for k, v in inputs.items()}
    shapes = jax.eval_shape(f, {k: v if v.dtype == jnp.int32 else v.astype(jnp.float64) for k, v in narrow.items()})
    weights = {"weight_" + k: jnp.asarray(d.n.integers(-8, 9, s.shape) / 4, jnp.float32) for k, s in shapes.items()}

    def both(v):
        def loss(some):
            y = f({**v, **some})
            return sum((y[k] * weights["weight_" + k]).sum() for k in sorted(y)), y
        grads, y = jax.grad(loss, has_aux=True)({k: v[k] for k in free})
        return {**y, **{"d_" + k: g for k, g in grads.items()}}

    run = jax.jit(both)
    exact = run({k: jnp.asarray(v) if v.dtype == jnp.int32 else v.astype(jnp.float64) for k, v in narrow.items()})
    theirs = run({k: jnp.asarray(v) for k, v in narrow.items()})
    slack = {}
    for k, e in exact.items():
        e, t = np.asarray(e, np.float64), np.asarray(theirs[k], np.float64)
        good = np.isfinite(e)
        if not np.isfinite(t[good]).all():
            slack[k] = -1
        else:
            slack[k] = float(np.abs(t - e)[good].max(initial=0) / max(np.abs(e[good]).max(initial=0), 1e-30))
    with np.errstate(over="ignore"):
        outputs = {k: encode(np.asarray(v, np.float32)) for k, v in exact.items()}
    return {"name": name, "config": config, "inputs": {k: encode(v) for k, v in {**narrow, **weights}.items()}, "outputs": outputs, "slack": slack}


def main():
    out = out_dir(__doc__)
    n, seed = int(os.environ.get("CASES", 0)), int(os.environ.get("SEED", 0))
    only = os.environ["KINDS"].split(",") if "KINDS" in os.environ else list(KINDS)
    cases = []
    for i in range(n or 4 * len(only)):
        try:
            cases.append(case(only[i % len(only)], seed * 10**6 + i))
        except Exception as e:
            print("ERROR", only[i % len(only)], seed * 10**6 + i, str(e)[-300:], flush=True)
        if i % 60 == 59:
            write(os.path.join(out, "random_nn.json.gz"), {"versions": versions("flax", "optax"), "cases": cases})
    write(os.path.join(out, "random_nn.json.gz"), {"versions": versions("flax", "optax"), "cases": cases})


main()
