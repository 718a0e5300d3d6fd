"""Vectors of jax.random (threefry2x32, partitionable) for graph/random, written to OUTPUT_DIR/jax_random.json.

{"versions": {...}, "cases": [CASE...]}, each case
  op     "key", "split", "fold_in", "bits", "uniform", "normal", "randint", "bernoulli", "categorical", "gumbel",
         "permutation", "choice", "truncated_normal", "exponential", "laplace", "gamma", "loggamma", "beta", "dirichlet",
         "poisson", "multivariate_normal", and others by the names of jax.random (parameters a, b, c in its order); "gamma_slope" and "loggamma_slope": derivatives of the draws by a
  x64    whether JAX ran with jax_enable_x64
  key    the key's two words; absent for "key"
  args   what the call was given (shape, dtype, minval, ...; numbers as JSON; arrays as in common.py)
  out    the result, exact (common.py)
  exact  true: every bit must agree; false: compare with a tolerance
  fma    true: uniform with a range that is no power of two; the bits need f*(maxval-minval)+minval to be rounded once,
         which is what XLA's CPU compiler does
The same file holds both modes: the script runs itself once more with 64-bit types on.
"""
import json
import os
import subprocess
import sys

X64_ONLY = os.environ.get("ORACLE_X64") == "1"
if X64_ONLY:
    os.environ["JAX_ENABLE_X64"] = "1"

import jax  # noqa: E402
import numpy as np  # noqa: E402
from jax import random as jr  # noqa: E402

from common import encode, out_dir, versions, write  # noqa: E402

CASES = []
SHAPES = [(), (0,), (1,), (5,), (3, 4), (2, 3, 5), (7, 1), (2, 0, 3)]


def add(op, key, args, out, exact=True, **more):
    case = {"op": op, "x64": X64_ONLY}
    if key is not None:
        case["key"] = [int(w) for w in np.asarray(jr.key_data(key))]
    case["args"] = {k: encode(v) if isinstance(v, (np.ndarray, jax.Array)) else v for k, v in args.items()}
    case.update(out=encode(out), exact=exact, **more)
    CASES.append(case)


def keys_and_bits():
    for seed in (0, 1, 42, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40 + 3, -1, -2):
        add("key", None, {"seed": seed}, jr.key_data(jr.key(seed)))
    k = jr.key(42)
    for n in (1, 2, 3, 7):
        add("split", k, {"shape": [n]}, jr.key_data(jr.split(k, n)))
    for shape in ((2, 3), (0,), (), (2, 1, 2)):
        add("split", k, {"shape": list(shape)}, jr.key_data(jr.split(k, shape)))
    for data in (0, 1, 2, 1000, 2**31, 2**32 - 1):
        add("fold_in", k, {"data": data}, jr.key_data(jr.fold_in(k, data)))
    k2 = jr.fold_in(jr.split(jr.key(7), 3)[2], 5)
    for dtype in ("uint8", "uint16", "uint32") + (("uint64",) if X64_ONLY else ()):
        for shape in SHAPES:
            add("bits", k2, {"shape": list(shape), "dtype": dtype}, jr.bits(k2, shape, dtype))


def uniforms():
    k = jr.key(11)
    for dtype in ("float32", "float16", "bfloat16") if not X64_ONLY else ("float64", "float32"):
        for shape in SHAPES:
            add("uniform", k, {"shape": list(shape), "dtype": dtype, "minval": 0.0, "maxval": 1.0}, jr.uniform(k, shape, dtype))
        for lo, hi in ((-1.0, 1.0), (-4.0, 4.0)):
            add("uniform", k, {"shape": [33], "dtype": dtype, "minval": lo, "maxval": hi},
                jr.uniform(k, (33,), dtype, lo, hi))
        for lo, hi in ((-0.05, 0.05), (-3.7, 12.9), (1e-3, 700.0)):
            # Half precision is computed with excess precision inside a fusion, so only the wide types are exact here.
            add("uniform", k, {"shape": [33], "dtype": dtype, "minval": lo, "maxval": hi},
                jr.uniform(k, (33,), dtype, lo, hi), exact=dtype in ("float32", "float64"), fma=True)
        add("uniform", k, {"shape": [9], "dtype": dtype, "minval": 2.0, "maxval": 2.0}, jr.uniform(k, (9,), dtype, 2, 2))
        add("uniform", k, {"shape": [9], "dtype": dtype, "minval": 2.0, "maxval": 1.0}, jr.uniform(k, (9,), dtype, 2, 1))
    if not X64_ONLY:
        lo, hi = np.float32([-1, 0, 2]), np.float32([1, 4, 10])
        add("uniform", k, {"shape": [4, 3], "dtype": "float32", "minval": lo, "maxval": hi},
            jr.uniform(k, (4, 3), "float32", lo, hi))


def randints():
    k = jr.key(5)
    ranges = [(0, 10), (-5, 7), (3, 4), (3, 3), (9, 3), (0, 2**31 - 1), (-2**31, 2**31 - 1), (0, 65536), (0, 65537),
              (0, 1 << 20), (-1000000, 123456789)]
    for lo, hi in ranges:
        add("randint", k, {"shape": [17], "dtype": "int32", "minval": lo, "maxval": hi}, jr.randint(k, (17,), lo, hi, "int32"))
    for shape in ((), (0,), (2, 3, 5)):
        add("randint", k, {"shape": list(shape), "dtype": "int32", "minval": 0, "maxval": 6}, jr.randint(k, shape, 0, 6, "int32"))
    if X64_ONLY:
        for dtype, pairs in (("int64", ranges + [(0, 2**63 - 1), (-2**63, 2**63 - 1), (-2**40, 2**41 + 7), (0, 2**32)]),
                             ("uint64", [(0, 10), (0, 2**63 - 1), (5, 2**40)])):
            for lo, hi in pairs:
                add("randint", k, {"shape": [17], "dtype": dtype, "minval": lo, "maxval": hi}, jr.randint(k, (17,), lo, hi, dtype))
        return
    lo, hi = np.int32([0, -3, 100]), np.int32([2, 3, 1000])
    add("randint", k, {"shape": [4, 3], "dtype": "int32", "minval": lo, "maxval": hi}, jr.randint(k, (4, 3), lo, hi))
    for dtype, pairs in (("int8", [(-128, 128), (0, 3), (-7, 7), (-1000, 1000)]), ("uint8", [(0, 256), (3, 200), (-5, 9)]),
                         ("int16", [(-32768, 32768), (0, 1000)]), ("uint16", [(0, 65536)]),
                         ("uint32", [(0, 10), (0, 2**31 - 1), (-4, 9)])):
        for lo, hi in pairs:
            add("randint", k, {"shape": [17], "dtype": dtype, "minval": lo, "maxval": hi}, jr.randint(k, (17,), lo, hi, dtype))


def continuous():
    k = jr.key(3)
    for dtype in ("float32", "float16", "bfloat16") if not X64_ONLY else ("float64",):
        for shape in ((), (0,), (5,), (3, 4)):
            add("normal", k, {"shape": list(shape), "dtype": dtype}, jr.normal(k, shape, dtype), False)
        add("normal", k, {"shape": [600 if dtype == "float32" else 60], "dtype": dtype},
            jr.normal(k, (600 if dtype == "float32" else 60,), dtype), False)
        for mode in ("low", "high"):
            add("gumbel", k, {"shape": [60], "dtype": dtype, "mode": mode}, jr.gumbel(k, (60,), dtype, mode=mode), False)
        add("exponential", k, {"shape": [6, 10], "dtype": dtype}, jr.exponential(k, (6, 10), dtype), False)
        for lo, hi in ((-2.0, 2.0), (-1.0, 0.5), (0.5, 3.0), (-0.01, 0.01)):
            add("truncated_normal", k, {"shape": [60], "dtype": dtype, "lower": lo, "upper": hi},
                jr.truncated_normal(k, lo, hi, (60,), dtype), False)
    if not X64_ONLY:
        lo, hi = np.float32([-2, -1, 0]), np.float32([2, 0, 4])
        add("truncated_normal", k, {"shape": [4, 3], "dtype": "float32", "lower": lo, "upper": hi},
            jr.truncated_normal(k, lo, hi, (4, 3)), False)


def discrete():
    k = jr.key(9)
    for p in (0.5, 0.3, 0.0, 1.0):
        add("bernoulli", k, {"shape": [40], "p": p, "mode": "low"}, jr.bernoulli(k, p, (40,)))
    add("bernoulli", k, {"shape": [40], "p": 0.3, "mode": "high"}, jr.bernoulli(k, 0.3, (40,), mode="high"))
    ps = np.float32([[0.1, 0.5, 0.9]])
    add("bernoulli", k, {"shape": [8, 3], "p": ps, "mode": "low"}, jr.bernoulli(k, ps, (8, 3)))
    logits = np.asarray(jr.normal(jr.key(1), (4, 6), "float32"))
    for axis, shape, replace in ((-1, None, True), (0, None, True), (1, (7, 4), True), (-1, (3, 4), False), (-1, (2, 3, 4), False)):
        add("categorical", k, {"logits": logits, "axis": axis, "shape": shape and list(shape), "replace": replace},
            jr.categorical(k, logits, axis, shape, replace))
    add("categorical", k, {"logits": logits[0], "axis": -1, "shape": [25], "replace": True}, jr.categorical(k, logits[0], shape=(25,)))
    masked = np.where(np.arange(6) % 2, logits[1], np.float32(-np.inf))
    add("categorical", k, {"logits": masked, "axis": -1, "shape": [25], "replace": True}, jr.categorical(k, masked, shape=(25,)))

    for n in (1, 2, 10, 1625, 1626):
        add("permutation", k, {"x": n, "axis": 0, "independent": False}, np.asarray(jr.permutation(k, n)))
    x = np.arange(12, dtype=np.float32).reshape(4, 3) * np.float32(0.5)
    for axis in (0, 1):
        for independent in (False, True):
            add("permutation", k, {"x": x, "axis": axis, "independent": independent}, jr.permutation(k, x, axis, independent))
    p = np.float32([0.1, 0.2, 0.3, 0.15, 0.25])
    a = np.float32([[10, 11], [20, 21], [30, 31], [40, 41], [50, 51]])
    for arr in (5, a):
        for shape, replace in (((), True), ((7,), True), ((2, 3), True), ((3,), False), ((2, 2), False), ((5,), False), ((0,), True)):
            for prob in (None, p, 4 * p):
                add("choice", k, {"a": arr, "shape": list(shape), "replace": replace, "p": prob, "axis": 0},
                    jr.choice(k, arr, shape, replace, prob))
    add("choice", k, {"a": a, "shape": [4], "replace": True, "p": None, "axis": 1}, jr.choice(k, a, (4,), axis=1))


def rejections():
    k = jr.key(13)
    dtype = "float64" if X64_ONLY else "float32"
    a = np.array([[1e-3, 0.05, 0.3, 0.9999], [1.0, 1.5, 3.3, 10.0], [100.0, 2345.6, 1e5, 0.5]], dtype)
    for shape in ((), (0,), (5,), (3, 4)):
        add("laplace", k, {"shape": list(shape), "dtype": dtype}, jr.laplace(k, shape, dtype), False)
    add("gamma", k, {"shape": [20, 3, 4], "dtype": dtype, "a": a}, jr.gamma(k, a, (20, 3, 4), dtype), False)
    add("loggamma", k, {"shape": [20, 3, 4], "dtype": dtype, "a": a}, jr.loggamma(k, a, (20, 3, 4), dtype), False)
    add("beta", k, {"shape": [3, 4], "dtype": dtype, "a": a, "b": 0.3}, jr.beta(k, a, 0.3, (3, 4), dtype), False)
    add("dirichlet", k, {"shape": [2, 3], "alpha": a}, jr.dirichlet(k, a, (2, 3), dtype), False)
    m = np.array([[2.0, 0.3, -0.1], [0.3, 1.0, 0.2], [-0.1, 0.2, 0.5]], dtype)
    for shape in ((), (5,), (2, 3)):
        add("multivariate_normal", k, {"shape": list(shape), "mean": m[0], "cov": m}, jr.multivariate_normal(k, m[0], m, shape, dtype), False)
    if X64_ONLY:
        b = np.tile(a.ravel(), 20)
        for name, f in (("gamma", jr.gamma), ("loggamma", jr.loggamma)):
            add(name + "_slope", k, {"a": b}, jax.jit(jax.grad(lambda x: f(k, x, x.shape, dtype).sum()))(b), False)
        return
    for name, f in (("gamma", jr.gamma), ("loggamma", jr.loggamma)):
        for shape, x in (((), 2.5), ((), 0.5), ((0,), 2.0)):
            add(name, k, {"shape": list(shape), "dtype": dtype, "a": x}, f(k, x, shape, dtype), False)
    add("beta", k, {"shape": [], "dtype": dtype, "a": 2.0, "b": 3.0}, jr.beta(k, 2.0, 3.0, (), dtype), False)
    add("dirichlet", k, {"shape": [], "alpha": a[0]}, jr.dirichlet(k, a[0], (), dtype), False)
    rates = np.float32([[0.0, 0.1, 1.0, 3.5], [9.999, 10.0, 11.0, 50.0], [70.0, 1000.0, 9.5, np.nan]])
    for shape, rate in (((), 3.0), ((), 30.0), ((0,), 2.0), ((30, 3, 4), rates)):
        add("poisson", k, {"shape": list(shape), "rate": rate}, jr.poisson(k, rate, shape))


def transformed():
    k = jr.key(17)
    dtype = "float64" if X64_ONLY else "float32"
    for shape in ((), (0,), (5, 3)):
        args = {"shape": list(shape), "dtype": dtype}
        a = np.array([0.5, 1.5, 4.0], dtype) if shape == (5, 3) else 2.5
        b = np.array([3.0, 0.7, 9.0], dtype) if shape == (5, 3) else 0.8
        for name in ("cauchy", "logistic", "maxwell"):
            add(name, k, args, getattr(jr, name)(k, shape=shape, dtype=dtype), False)
        add("rademacher", k, args, jr.rademacher(k, shape, dtype))
        add("lognormal", k, {**args, "a": a}, jr.lognormal(k, a, shape, dtype), False)
        for name in ("pareto", "rayleigh", "chisquare", "t", "wald"):
            add(name, k, {**args, "a": a}, getattr(jr, name)(k, a, shape=shape, dtype=dtype), False)
        add("weibull_min", k, {**args, "a": a, "b": b}, jr.weibull_min(k, a, b, shape, dtype), False)
        add("f", k, {**args, "a": a, "b": b}, jr.f(k, np.broadcast_to(np.asarray(a, dtype), shape), np.broadcast_to(np.asarray(b, dtype), shape), shape, dtype), False)
        add("triangular", k, {**args, "a": -2.0, "b": 0.5, "c": 3.0}, jr.triangular(k, -2.0, 0.5, 3.0, shape, dtype), False)
        if shape != (0,):
            scalar = jr.double_sided_maxwell(k, 1.0, 2.0, shape, dtype)
            add("double_sided_maxwell", k, {**args, "a": 1.0, "b": 2.0}, scalar, False)
        for p in (1.0, 2.0, 3.5):
            add("generalized_normal", k, {**args, "p": p}, jr.generalized_normal(k, p, shape, dtype), False)
            add("ball", k, {"shape": [*shape, 3], "dtype": dtype, "p": p}, jr.ball(k, 3, p, shape, dtype), False)
    for n, m in ((3, 3), (4, 2), (2, 4)):
        for shape in ((), (2,)):
            add("orthogonal", k, {"shape": [*shape, n, m], "dtype": dtype}, jr.orthogonal(k, n, shape, dtype, m), False)
    if X64_ONLY:
        return
    for p in (0.3, 1.0, np.float32([0.01, 0.5, 0.99])):
        add("geometric", k, {"shape": [6, 3], "dtype": "int32", "p": p}, jr.geometric(k, p, (6, 3), "int32"))
    n, p = np.float32([0, 1, 7, 12, 40, 1000, 1e5, 3.7, -1, np.nan, np.inf, 50]), np.float32([0.5, 0.3, 1, 0.9, 0.5, 0.2, 0.7, 0.4, 0.5, 0.5, 0.5, np.nan])
    add("binomial", k, {"shape": [20, 12], "dtype": dtype, "n": n, "p": p}, jr.binomial(k, n, p, (20, 12), dtype), True)
    for n, p in ((5.0, 0.0), (30.0, 1.0), (100.0, 0.5)):
        add("binomial", k, {"shape": [], "dtype": dtype, "n": n, "p": p}, jr.binomial(k, n, p, (), dtype), True)
    p = np.float32([[0.1, 0.2, 0.7], [0, 0.5, 0.5]])
    add("multinomial", k, {"shape": [2, 3], "dtype": dtype, "n": np.float32([9, 200]), "p": p}, jr.multinomial(k, np.float32([9, 200]), p, dtype=dtype), True)


def main():
    keys_and_bits()
    uniforms()
    randints()
    continuous()
    rejections()
    transformed()
    if X64_ONLY:
        json.dump(CASES, sys.stdout)
        return
    discrete()
    out = out_dir(__doc__)
    wide = subprocess.run([sys.executable, os.path.abspath(__file__), out], env={**os.environ, "ORACLE_X64": "1"},
                          check=True, capture_output=True, text=True)
    assert jax.config.jax_threefry_partitionable and not jax.config.jax_enable_x64
    write(os.path.join(out, "jax_random.json"), {"versions": versions(), "cases": CASES + json.loads(wide.stdout)})


main()
