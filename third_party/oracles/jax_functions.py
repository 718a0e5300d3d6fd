"""Functions of JAX that graph composes of ops, written to OUTPUT_DIR/jax_functions.json.gz.

{"versions": {...}, "cases": [CASE...]}; calls.py says what a CASE is.
"""
import os

import jax
import jax.numpy as jnp
import jax.scipy.special
import numpy as np
from jax import lax

from calls import INF, NAN, Calls, f32, i32
from common import out_dir, versions, write

CALLS = Calls(3)
case, normal = CALLS.case, CALLS.normal


def segments():
    x = f32([[1, NAN], [2, 3], [-INF, 5], [7, -0.0], [2, 8], [1, 1]])
    ids = i32([0, 2, 0, -1, 2, 9])
    for kind in ("sum", "max", "min", "prod"):
        f = getattr(jax.ops, "segment_" + kind)
        case("segment_" + kind, lambda x, i: f(x, i, 4), [x, ids], {"n": 4})
        case("segment_" + kind, lambda x, i: f(x, i, 3), [i32(np.arange(6)), ids], {"n": 3}, 0)
        if kind != "prod":  # JAX has no gradient of a product
            case("segment_" + kind, lambda x, i: f(x, i, 3), [normal(7, 2), i32([0, 2, 0, 0, 2, 1, 5])], {"n": 3}, grad=True)


def scans():
    for n in (1, 2, 7, 16):
        for reverse in (False, True):
            step = lambda a, b: (b[0] * a[0], b[0] * a[1] + b[1])  # noqa: E731
            case("associative_scan affine", lambda a, b: lax.associative_scan(step, (a, b), reverse=reverse)[1], [normal(n, 3), normal(n, 3)],
                 {"reverse": reverse}, grad=True)
            product = lambda a, b: jnp.einsum("...ij,...jk", a, b)  # noqa: E731
            case("associative_scan matmul", lambda x: lax.associative_scan(product, x, reverse=reverse), [normal(n, 2, 2)], {"reverse": reverse}, grad=True)
    case("associative_scan max", lambda x: lax.associative_scan(jnp.maximum, x), [f32([1, -INF, 3, NAN, 2, INF])], {"reverse": False}, 0)
    case("fori_loop", lambda x: lax.fori_loop(0, 5, lambda i, c: jnp.sin(c) * x + i * 0.1, x), [normal(3)], {"n": 5}, grad=True)


def nans():
    x = f32([[1, NAN, 3, -2], [NAN, NAN, NAN, NAN], [INF, 1, NAN, 0], [4, -4, 2, 1]])
    for name in ("nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd"):
        f = getattr(jnp, name)
        for axis in (None, 0, 1):
            case(name, lambda x: f(x, axis=axis), [x], {"axes": [] if axis is None else [axis]})
        case(name, lambda x: f(x, axis=1), [f32([[1, NAN, 3, -2], [2, 5, 7, NAN]])], {"axes": [1]}, grad=True)
    for q in (0.0, 0.3, 0.5, 1.0):
        case("nanquantile", lambda x: jnp.nanquantile(x, q, axis=1), [x[[0, 1, 3]]], {"q": q, "axis": 1})
    case("nanquantile", lambda x: jnp.nanquantile(x, 0.3, axis=0), [f32([[1, NAN], [3, 2], [5, NAN], [2, 9]])], {"q": 0.3, "axis": 0}, grad=True)
    case("nanargmax", lambda x: jnp.nanargmax(x, axis=1), [x[[0, 2, 3]]], {"axis": 1}, 0)
    case("nanargmin", lambda x: jnp.nanargmin(x, axis=1), [x[[0, 2, 3]]], {"axis": 1}, 0)
    case("nan_to_num", jnp.nan_to_num, [f32([NAN, INF, -INF, 1.5, -0.0, 3e38])], {"values": []}, 0, grad=True)
    case("nan_to_num", lambda x: jnp.nan_to_num(x, nan=1.0, posinf=2.0, neginf=3.0), [f32([NAN, INF, -INF, 1.5])], {"values": [1, 2, 3]}, 0)


def counts():
    x = i32([3, 1, 1, 0, 5, 9, 3])
    case("bincount", lambda x: jnp.bincount(x, length=6), [x], {"n": 6}, 0)
    case("bincount", lambda x, w: jnp.bincount(x, w, length=6), [x, normal(7)], {"n": 6}, grad=True)
    case("bincount", lambda x: jnp.bincount(x, length=3), [i32([])], {"n": 3}, 0)
    v = f32([-1, 0, 0.5, 1, 2, 2.5, 4, 5, INF, -INF])
    edges = f32([0, 1, 2, 4])
    for right in (False, True):
        case("digitize", lambda x, e: jnp.digitize(x, e, right=right), [v, edges], {"right": right}, 0)
    case("histogram edges", lambda x, e: jnp.histogram(x, e)[0].astype(jnp.int32), [v, edges], {}, 0)
    case("histogram", lambda x: list(jnp.histogram(x, 5)), [normal(40)], {"n": 5}, 1e-6)
    case("histogram", lambda x: list(jnp.histogram(x, 3)), [f32([2, 2, 2])], {"n": 3}, 1e-6)
    for size in (2, 4, 7):
        u = i32([4, 1, 4, 0, 1, 1, 7])
        case("unique", lambda x: list(jnp.unique(x, return_index=True, return_inverse=True, return_counts=True, size=size)), [u], {"n": size}, 0)
        case("unique", lambda x: list(jnp.unique(x, return_index=True, return_inverse=True, return_counts=True, size=size)),
             [f32([[2, NAN, 1], [NAN, 2, -INF]])], {"n": size}, 0)
    case("unique fill", lambda x: jnp.unique(x, size=5, fill_value=-9), [i32([3, 3, 1])], {"n": 5, "fill": -9}, 0)
    for size in (0, 2, 8):
        case("nonzero", lambda x: list(jnp.nonzero(x, size=size)), [f32([[0, 1, NAN], [-0.0, 2, 0]])], {"n": size, "fill": 0}, 0)
    case("nonzero", lambda x: list(jnp.nonzero(x, size=4, fill_value=-1)), [np.array([True, False, True])], {"n": 4, "fill": -1}, 0)
    case("unravel_index", lambda i: list(jnp.unravel_index(i, (2, 3, 4))), [i32([0, 5, 23, 11, -1, 24, -25])], {"dims": [2, 3, 4]}, 0)


def products():
    case("tensordot", lambda x, y: jnp.tensordot(x, y, 2), [normal(2, 3, 4), normal(3, 4, 5)], {"n": 2}, grad=True)
    case("tensordot", lambda x, y: jnp.tensordot(x, y, 0), [normal(2), normal(3)], {"n": 0}, grad=True)
    case("kron", jnp.kron, [normal(2, 3), normal(3, 2)], grad=True)
    case("kron", jnp.kron, [normal(3), normal(2, 2)], grad=True)
    for mode in ("xy", "ij"):
        case("meshgrid", lambda *v: jnp.meshgrid(*v, indexing=mode), [normal(2), normal(3), normal(4)], {"mode": mode}, 0)
        case("meshgrid", lambda *v: jnp.meshgrid(*v, indexing=mode), [normal(2)], {"mode": mode}, 0)
    for mode in ("full", "same", "valid"):
        for n, m in ((6, 3), (6, 4), (2, 5), (1, 1)):
            case("convolve", lambda x, y: jnp.convolve(x, y, mode), [normal(n), normal(m)], {"mode": mode}, grad=True)
    for q in (0.0, 30.0, 100.0):
        case("percentile", lambda x: jnp.percentile(x, q, axis=0), [normal(5, 2)], {"q": q, "axis": 0})
    a, b = f32([1, 1.00001, INF, NAN, -INF, 0]), f32([1, 1, INF, NAN, INF, 1e-9])
    case("isclose", jnp.isclose, [a, b], {}, 0)
    case("allclose", jnp.allclose, [a[:3], b[:3]], {}, 0)
    case("xlogy", jax.scipy.special.xlogy, [f32([0, 0, 2, 1, 3]), f32([0, 2, 3, 0, INF])])
    case("xlogy", jax.scipy.special.xlogy, [f32([0, 1.5, 2]), f32([2, 3, 0.1])], grad=True)
    case("xlog1py", jax.scipy.special.xlog1py, [f32([0, 0, 2, 1]), f32([-1, 2, 3, -1])])
    case("xlog1py", jax.scipy.special.xlog1py, [f32([0, 1.5, 2]), f32([2, 3, -0.1])], grad=True)


def matrices():
    for scale in (0.1, 1.0, 6.0):
        case("expm", jax.scipy.linalg.expm, [scale * normal(4, 4)], tol=2e-4, grad=True)
    case("expm", jax.scipy.linalg.expm, [np.zeros((2, 2), np.float32)])
    case("expm", jax.scipy.linalg.expm, [f32([[-200, 100], [0, -300]])], tol=1e-4)
    solve = lambda a, b: [v for i, v in enumerate(jnp.linalg.lstsq(a, b)) if i != 1]  # noqa: E731
    for m, n in ((5, 3), (3, 3), (2, 4)):
        case("lstsq", solve, [normal(m, n), normal(m)], tol=1e-4)
        case("lstsq", solve, [normal(m, n), normal(m, 2)], tol=1e-4)
    low = normal(5, 1) @ normal(1, 3)
    case("lstsq", lambda a, b: jnp.linalg.lstsq(a, b, rcond=1e-4)[0::2], [low, normal(5)], {"rcond": 1e-4}, tol=1e-3)
    case("lstsq x", lambda a, b: jnp.linalg.lstsq(a, b)[0], [normal(5, 3) + 3 * np.eye(5, 3, dtype=np.float32), normal(5)], tol=2e-3, grad=True)


def main():
    out = out_dir(__doc__)
    segments()
    scans()
    nans()
    counts()
    products()
    matrices()
    write(os.path.join(out, "jax_functions.json.gz"), {"versions": versions(), "cases": CALLS.cases})


main()
