"""Functions that jax.export writes as StableHLO, for graph/stablehlo, written to OUTPUT_DIR/jax_export.json.gz.

{"versions": {...}, "cases": [{"name", "text", "bytecode", "inputs": [array...], "outputs": [array...], "gradients": [array...]}...],
"forms": [{"name", "bytecode"}...], "refused": [{"name", "bytecode"}...]}; arrays as in common.py, "bytecode" in base64. "inputs" and
"outputs" are leaves in JAX's order. "gradients" are those of the sum of all float outputs by each float input, or missing where JAX
has none. "forms" are the first case in other forms: of StableHLO 1.13, and of Exported.serialize, which needs flatbuffers. "refused"
have ops that are not known.

The public functions of jax_export_functions.py go to OUTPUT_DIR/jax_export_functions.json.gz: {"versions": {...}, "cases": [{"name",
"text", "inputs", "outputs", "gradients", "gradient"}...]}. "gradient" is the program of the gradients, a function of the float inputs; a
long one is left out.
"""
import base64
import os
import re

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxlib.mlir.dialects import stablehlo

import jax_export_functions
from common import encode, out_dir, versions, write

jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*")  # no paths in the bytecode

RNG = np.random.default_rng(7)
CASES, REFUSED = [], []
MOST = 6000  # characters of the program of a gradient that is kept: the file is to be small
PLACE = re.compile(r' \{jax\.result_info = "[^"]*"\}| loc\((?:unknown|#loc\d*|"[^"]*"(?:\(#loc\d+\))?)\)')


def text64(data):
    return base64.b64encode(data).decode()


def normal(*shape):
    return jnp.asarray(RNG.standard_normal(shape), jnp.float32)


def is_float(x):
    return jnp.issubdtype(x.dtype, jnp.floating)


def text_of(exported):
    """The text without places in the source, names of results and blanks at the margin."""
    lines = [line.strip() for line in exported.mlir_module().split("\n") if line.strip() and not line.startswith("#loc")]
    return PLACE.sub("", "\n".join(lines))


def total(f, args):
    """The sum of all float outputs as a function of the float leaves, and those leaves."""
    leaves, tree = jax.tree.flatten(args)
    floats = [i for i, x in enumerate(leaves) if is_float(x)]

    def of(free):
        all = list(leaves)
        for i, x in zip(floats, free):
            all[i] = x
        return sum(jnp.sum(x) for x in jax.tree.leaves(f(*jax.tree.unflatten(tree, all))) if is_float(x))

    return of, [leaves[i] for i in floats]


def keep(name, f, *args, grad=True):
    exported = jax.export.export(jax.jit(f))(*args)
    # Lines that begin with #loc hold the places of the source; the references to them stay.
    text = "\n".join(line for line in exported.mlir_module().split("\n") if not line.startswith("#loc"))
    data = [jax.random.key_data(x) if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else x for x in jax.tree.leaves(args)]
    case = {"name": name, "text": text, "bytecode": text64(exported.mlir_module_serialized), "inputs": [encode(x) for x in data],
            "outputs": [encode(x) for x in jax.tree.leaves(jax.jit(f)(*args))]}
    if grad:
        of, free = total(f, args)
        case["gradients"] = [encode(g) for g in jax.jit(jax.grad(of))(free)]
    CASES.append(case)


def function(name, f, args):
    """A function of jax_export_functions.py: its program and the program of its gradient, where it has one."""
    args = jax.tree.map(jnp.asarray, args)
    out = jax.tree.leaves(jax.jit(f)(*args))
    record = {"name": name, "text": text_of(jax.export.export(jax.jit(f, keep_unused=True))(*args)), "inputs": [encode(x) for x in jax.tree.leaves(args)],
              "outputs": [encode(x) for x in out]}
    of, free = total(f, args)
    if free and any(is_float(x) for x in out):
        try:
            record["gradients"] = [encode(g) for g in jax.jit(jax.grad(of))(free)]
        except (ValueError, TypeError, NotImplementedError) as e:
            print(f"{name} has no gradient: {str(e)[:80]!r}")
        else:
            text = text_of(jax.export.export(jax.jit(jax.grad(of), keep_unused=True))(free))
            if len(text) <= MOST:
                record["gradient"] = text
    return record


def refuse(name, f, *args):
    REFUSED.append({"name": name, "bytecode": text64(jax.export.export(jax.jit(f))(*args).mlir_module_serialized)})


def mlp(params, x):
    for w, b in params[:-1]:
        x = jnp.tanh(x @ w + b)
    w, b = params[-1]
    return jax.nn.softmax(x @ w + b)


def scan(x, w):
    def step(c, t):
        h = jnp.tanh(w @ c["h"] + t)
        return {"h": h, "n": c["n"] + 1}, h.sum()

    last, ys = lax.scan(step, {"h": x, "n": jnp.int32(0)}, jnp.linspace(0, 1, 6))
    return {"last": last, "ys": ys}


def attention(q, k, v):
    scores = jnp.einsum("qhd,khd->hqk", q, k) / jnp.sqrt(q.shape[-1])
    mask = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    return jnp.einsum("hqk,khd->qhd", jax.nn.softmax(jnp.where(mask, scores, -1e9)), v)


def norm(x, scale):
    return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * scale


def conv(x, k, d):
    y = jax.nn.relu(lax.conv_general_dilated(x, k, (2, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
    y = lax.conv_general_dilated(y, d, (1, 1), "VALID", rhs_dilation=(1, 2), dimension_numbers=("NHWC", "HWIO", "NHWC"),
                                 feature_group_count=4)
    return y.mean(axis=(1, 2))


def floats(x, y):
    return [jnp.exp(x), jnp.log1p(jnp.abs(x)), jnp.sin(x) * jnp.cos(y), jnp.arctan2(x, y), jnp.abs(y) ** x, jnp.maximum(x, y),
            jnp.clip(x, -0.5, 0.5), jax.nn.sigmoid(y), jnp.expm1(x), jnp.cbrt(x), jax.nn.gelu(y), jax.nn.elu(x), lax.erf(x),
            x / y, jnp.concatenate([x, y])[1:7:2], jnp.flip(x), jnp.pad(x, (1, 2)), jnp.stack([x, y]).T, jnp.prod(x),
            jnp.min(y), lax.rem(x, y), jnp.square(x)]


def whole(a, b):
    return [a // 3, a % 3, lax.div(a, b), lax.rem(a, b), a & b, a | b, a ^ b, ~a, a << 2, a >> 1, lax.shift_right_logical(a, 3),
            jnp.floor(a / 2), jnp.round(a * .5), a > b, (a > b) & (a < 5), a.astype(jnp.int8), a.astype(jnp.uint8), jnp.sum(a),
            jnp.argmax(a), jnp.argmin(b), jnp.any(a > 3), jnp.all(a > 3), jnp.sign(a), lax.population_count(a), jnp.arange(4)]


def special(x):
    return [x, x + 1, jnp.max(x), jnp.isnan(x), jnp.isfinite(x), jnp.where(x > 0, jnp.inf, jnp.nan), jnp.argmax(x)]


def branches(flag, x):
    return lax.cond(flag > 0, lambda x: x * 2, lambda x: x - 1, x)


def dynamic(x, i):
    return x[i], lax.dynamic_slice(x, (i, 1), (2, 2)), x[jnp.asarray([1, -2]) + i], x[:, i], lax.dynamic_update_slice(x, x[:1], (i, 0))


def collatz(n):
    return lax.while_loop(lambda s: s[0] != 1,
                          lambda s: (jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1), (n, jnp.int32(0)))


def drawn(seed):
    key = jax.random.key(seed)
    return jax.random.uniform(key, (5,)), jax.random.bits(jax.random.split(key)[1], (3,))


def spectrum(x, w):
    y = jnp.fft.rfft(x)
    z = y * lax.complex(w, 2 * w) + (1 - 2j)
    return [jnp.fft.irfft(z, 7), jnp.abs(z), jnp.real(jnp.exp(z / 9)), jnp.imag(z / (2 + 1j)), jnp.real(jnp.fft.ifft(jnp.fft.fft2(jnp.outer(x, w))))]


keep("mlp", mlp, [(normal(4, 8), normal(8)), (normal(8, 3), normal(3))], normal(4))
keep("mlp of a batch", mlp, [(normal(4, 8), normal(8)), (normal(8, 3), normal(3))], normal(5, 4))
keep("scan", scan, normal(3), normal(3, 3))
keep("attention", attention, normal(5, 2, 4), normal(5, 2, 4), normal(5, 2, 4))
keep("layer norm", norm, normal(3, 6), normal(6))
keep("convolution", conv, normal(2, 8, 9, 3), normal(3, 3, 3, 4), normal(2, 2, 1, 8))
keep("floats", floats, normal(4), normal(4))
keep("whole numbers", whole, jnp.asarray([-7, 0, 5, 12], jnp.int32), jnp.asarray([2, -3, 4, 5], jnp.int32), grad=False)
keep("special values", special, jnp.asarray([1, -np.inf, np.inf, np.nan, 1e38], jnp.float32), grad=False)
keep("cond, true", branches, jnp.int32(1), normal(3))
keep("cond, false", branches, jnp.int32(0), normal(3))
keep("dynamic", dynamic, normal(4, 3), jnp.int32(2))
keep("while", collatz, jnp.int32(27), grad=False)
keep("random", drawn, jnp.uint32(3), grad=False)
keep("constants", lambda x: x + jnp.asarray(RNG.standard_normal((2, 3)), jnp.float32), normal(3))
keep("half", lambda x: (x.astype(jnp.bfloat16) * 1.5, x.astype(jnp.float16) + 2), normal(3), grad=False)
keep("empty", lambda x: (jnp.sum(x), x * 2), jnp.zeros((0, 3), jnp.float32))
keep("complex", spectrum, normal(6), normal(4))

keep("typed key", lambda key: jax.random.uniform(key, (3,)), jax.random.key(5), grad=False)
keep("booleans", lambda x: (x & jnp.asarray([True, False, True] * 5), x | jnp.asarray([True])), jnp.asarray([True, False, False] * 5),
     grad=False)



def ordered(x, y, n):
    return jnp.sort(x), lax.sort((n, x, y), num_keys=2), jnp.argsort(-x), lax.top_k(x, 2), jnp.searchsorted(jnp.sort(x), y)


def scattered(x, y, i):
    return x.at[i].set(y), x.at[i, 1].add(y[:, 0]), x.at[:, i].max(0.5), x.at[1:3].apply(jnp.sin), x.at[i].subtract(y)


def windows(x):
    pooled = jax.grad(lambda x: jnp.sum(lax.reduce_window(x, -jnp.inf, lax.max, (2, 3), (1, 2), "SAME") ** 2))(x)
    return jnp.cumsum(x, 1), lax.cumprod(x, 0, reverse=True), lax.cummax(x, 1), lax.cumlogsumexp(x, 1), pooled


def bits(x):
    b = lax.bitcast_convert_type(x, jnp.uint8)
    key = jax.random.wrap_key_data(jnp.asarray([1, 2, 3, 4], jnp.uint32), impl="rbg")
    return b, lax.bitcast_convert_type(b, jnp.float32), lax.reduce_precision(x, 5, 4), jax.random.uniform(key, (7,)), jax.random.bits(key, (3,), "uint8")


def matrices(x, b):
    a = x @ x.T + 2 * jnp.eye(3)
    q, r = jnp.linalg.qr(x)
    return (jnp.linalg.cholesky(a), jax.scipy.linalg.solve_triangular(x, b, lower=True, trans="T"), jnp.linalg.solve(x, b), q, r,
            jnp.linalg.eigvalsh(a), jnp.linalg.svd(x, compute_uv=False))


def kernel_turned(x, k):
    return lax.conv_general_dilated(x, k, (2, 1), ((1, 0), (0, 2)), (1, 2), (2, 1), dimension_numbers=("NHWC", "WHIO", "NHWC"))


def two_arrays(x, y):
    return (lax.reduce((x, y), (0.0, 1.0), lambda a, b: (a[0] + b[0], a[1] * b[1]), (1,)),
            lax.reduce((x, y), (0.0, 0.0), lambda a, b: (a[0] + b[0] + a[1] * b[1], a[1] + b[1]), (0,)))


keep("sort", ordered, jnp.asarray([0.5, -1, 2, -0.25], jnp.float32), normal(4), jnp.asarray([1, 0, 1, 0], jnp.int32))
keep("scatter", scattered, normal(4, 3), normal(2, 3), jnp.asarray([2, -4], jnp.int32), grad=False)
keep("windows", windows, normal(3, 5))
keep("bits", bits, normal(3), grad=False)
keep("linear algebra", matrices, normal(3, 3), normal(3))
keep("a turned kernel", kernel_turned, normal(1, 6, 5, 2), normal(3, 2, 2, 3))
keep("two arrays", two_arrays, normal(2, 3), normal(2, 3))
keep("switch", lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, jnp.exp], x), jnp.int32(1), normal(3))

refuse("a draw without a key", lambda x: lax.rng_uniform(0.0, x, (2,)), normal())
refuse("a custom call", jnp.linalg.eigvals, normal(2, 2))

first = jax.export.export(jax.jit(mlp))([(normal(4, 8), normal(8)), (normal(8, 3), normal(3))], normal(4))
FORMS = [{"name": "StableHLO 1.13", "bytecode": text64(stablehlo.serialize_portable_artifact_str(first.mlir_module(), "1.13.0"))},
         {"name": "serialize", "bytecode": text64(bytes(first.serialize()))}]

write(os.path.join(out_dir(__doc__), "jax_export.json.gz"),
      {"versions": versions("flatbuffers"), "cases": CASES, "forms": FORMS, "refused": REFUSED})

write(os.path.join(out_dir(__doc__), "jax_export_functions.json.gz"),
      {"versions": versions("flax", "optax", "distrax", "equinox"), "cases": [function(*f) for f in jax_export_functions.functions()]})
