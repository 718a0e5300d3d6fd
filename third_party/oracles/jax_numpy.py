"""Functions of jax.numpy and jax.scipy.special that graph composes of ops, written to OUTPUT_DIR/jax_numpy.json.gz.

{"versions": {...}, "cases": [CASE...]}; calls.py says what a CASE is. The op is the number of a test and the function's
name.
"""
import os

import jax
import jax.numpy as jnp
import jax.scipy.linalg
import jax.scipy.special
import numpy as np
from jax.flatten_util import ravel_pytree

from calls import INF, NAN, Calls, f32, i32
from common import out_dir, versions, write

CALLS = Calls(30)
case, normal = CALLS.case, CALLS.normal


def making():
    for start, stop, step in ((0, 7, 2), (5, -4, -3), (3, 3, 1), (4, 0, 1)):
        case("arange", lambda: jnp.arange(start, stop, step), [], {"dims": [start, stop, step]}, 0)
    for start, stop, step in ((0.0, 1.0, 0.1), (1.5, -2.0, -0.25), (0.0, -1.0, 0.5), (-3.0, 1e3, 33.3)):
        case("arange of floats", lambda: jnp.arange(start, stop, step), [], {"values": [start, stop, step]}, 1e-6)
    case("geomspace", lambda: jnp.geomspace(1.0, 1000.0, 7), [], {"values": [1, 1000], "n": 7}, 2e-6)
    case("geomspace", lambda: jnp.geomspace(-0.5, -8.0, 4), [], {"values": [-0.5, -8], "n": 4}, 2e-6)
    case("logspace", lambda: jnp.logspace(-2.0, 3.0, 6, base=2.0), [], {"values": [-2, 3, 2], "n": 6}, 2e-6)
    tree = lambda a, b, c: ravel_pytree({"a": a, "b": [b, c]})  # noqa: E731
    case("ravel_pytree", lambda a, b, c: tree(a, b, c)[0], [normal(2, 3), normal(), normal(0, 2)], {}, 0, grad=True)
    case("ravel_pytree and back", lambda a, b, c: jax.tree.leaves(tree(a, b, c)[1](2 * tree(a, b, c)[0])), [normal(2, 3), i32([4, -5]), normal(1)], {}, 0)


def reductions():
    x, mask = normal(3, 4), np.array([[1, 0, 1, 1], [0, 0, 0, 0], [1, 1, 1, 1]], bool)
    for name in ("sum", "prod", "mean", "var", "std", "max", "min", "all", "any"):
        f = getattr(jnp, name)
        for axes in ([], [1]):
            axis = tuple(axes) or None
            case("reductions that keep axes", lambda x: f(x, axis=axis, keepdims=True), [x], {"mode": name, "axes": axes}, grad=name not in ("all", "any"))
            initial = {"max": {"initial": -INF}, "min": {"initial": INF}}.get(name, {})
            some = mask[:, :] if not axes else mask[[0, 0, 2]]  # JAX's gradient of the mean of nothing is NaN, and so is ours
            case("reductions where", lambda x, m: f(x, axis=axis, where=m, **initial), [x, some], {"mode": name, "axes": axes},
                 grad=name not in ("all", "any", "prod"))
        initial = {"max": {"initial": -INF}, "min": {"initial": INF}}.get(name, {})
        case("reductions of nothing", lambda x, m: f(x, axis=1, where=m, **initial), [x, mask], {"mode": name, "axes": [1]})
    for ddof in (1, 2):
        case("ddof", lambda x: jnp.var(x, axis=1, ddof=ddof), [x], {"mode": "var", "axes": [1], "ddof": ddof}, grad=True)
        case("ddof", lambda x, m: jnp.std(x, axis=0, where=m, ddof=ddof), [x, mask | (np.arange(3) != 1)[:, None]], {"mode": "std", "axes": [0], "ddof": ddof}, grad=True)


def statistics():
    case("cov", jnp.cov, [normal(3, 6)], {"ddof": 1}, grad=True)
    case("cov", lambda x: jnp.cov(x, ddof=0), [normal(2, 5)], {"ddof": 0}, grad=True)
    case("corrcoef", jnp.corrcoef, [normal(3, 6)], grad=False)
    case("average", lambda x, w: jnp.average(x, weights=w, axis=0), [normal(4, 3), np.abs(normal(4, 3))], {"axes": [0]}, grad=True)
    case("average", lambda x, w: jnp.average(x, weights=w), [normal(4), np.abs(normal(4))], {"axes": []}, grad=True)
    case("ptp", lambda x: jnp.ptp(x, axis=1), [normal(3, 4)], {"axes": [1]}, grad=True)
    case("count_nonzero", lambda x: jnp.count_nonzero(x, axis=1).astype(jnp.int32), [f32([[0, 1, NAN], [-0.0, 2, 0]])], {"axes": [1]}, 0)
    for n, m in ((6, 3), (3, 6), (5, 4), (4, 5), (1, 1)):
        for mode in ("full", "same", "valid"):
            case("correlate", lambda x, y: jnp.correlate(x, y, mode), [normal(n), normal(m)], {"mode": mode}, grad=True)


def elementwise():
    special = f32([0, -0.0, 1, -1, INF, -INF, NAN, 2.5, 1e30, -1e-30])
    a, b = (v.ravel() for v in np.meshgrid(special, special))
    for number, name in ((86, "hypot"), (87, "copysign"), (88, "heaviside"), (89, "fmax"), (90, "fmin"), (91, "logaddexp2")):
        f = getattr(jnp, name)
        case(f"30.{number} {name}", f, [a, b], tol=1e-6)
        case(f"30.{number} {name}", f, [normal(6), normal(6)], tol=2e-6, grad=True)
    case("signbit", jnp.signbit, [special], {}, 0)
    case("signbit", jnp.signbit, [i32([-1, 0, 1])], {}, 0)
    case("divmod", lambda x, y: list(jnp.divmod(x, y)), [f32([5, -5, 5.5, -0.3]), f32([3, 3, -2, 0.1])], {}, 1e-6)
    case("divmod", lambda x, y: list(jnp.divmod(x, y)), [i32([7, -7, 7, -7]), i32([3, 3, -3, -3])], {}, 0)
    case("modf", lambda x: list(jnp.modf(x)), [f32([1.5, -2.25, 0, -0.0, 7])], {}, 0)
    case("degrees", jnp.degrees, [normal(5)], tol=1e-6, grad=True)
    case("radians", jnp.radians, [normal(5) * 90], tol=1e-6, grad=True)
    case("sinc", jnp.sinc, [f32([0, 0.5, 1, -1.5, 0.031, 0.033, 20])], tol=2e-6, grad=True)
    case("sinc", jnp.sinc, [f32([1e-3, 1e-20, NAN])], tol=1e-6)


def curves():
    xp, fp = f32([-1, 0, 0.5, 2]), normal(4)
    case("interp", jnp.interp, [f32([-2, -1, -0.3, 0, 0.2, 1.9, 2, 3, NAN]), xp, fp])
    case("interp", jnp.interp, [f32([[-2, -0.3, 0.2], [1.9, 3, 0.7]]), xp, fp], grad=True)
    case("interp", jnp.interp, [f32([0, 1, 2]), f32([0, 1, 1, 2]), f32([0, 1, 5, 6])])
    case("trapezoid", lambda y: jnp.trapezoid(y, dx=0.5, axis=0), [normal(5, 2)], {"q": 0.5, "axis": 0}, grad=True)
    case("trapezoid", lambda y: jnp.trapezoid(y, dx=2.0), [normal(1)], {"q": 2, "axis": 0}, grad=True)
    for n in (2, 3, 6):
        case("gradient", lambda x: jnp.gradient(x, 0.25, axis=0), [normal(n, 2)], {"q": 0.25, "axis": 0}, grad=True)
    case("polyval", jnp.polyval, [normal(4), normal(2, 3)], grad=True)
    case("polyval", jnp.polyval, [normal(0), normal(2)])
    case("polyfit", lambda x, y: jnp.polyfit(x, y, 2), [f32([-1, -0.5, 0.1, 0.9, 2]), normal(5)], {"n": 2}, 1e-4)
    for n in (0, 1, 4):
        case("vander", lambda x: jnp.vander(x, n), [normal(3)], {"n": n}, 2e-6)
    case("unwrap", jnp.unwrap, [f32([0, 3, 6, 9, 1, -2, 12.566, 0.5])], {"q": 2 * np.pi, "axis": 0}, 2e-6, grad=True)
    case("unwrap", lambda x: jnp.unwrap(x, period=4, axis=1), [f32([[0, 2, 4, -1], [3, 1, 1.5, 9]])], {"q": 4, "axis": 1}, 2e-6)


def matrices():
    case("toeplitz", jax.scipy.linalg.toeplitz, [normal(3)], {}, 1e-6, grad=True)
    case("toeplitz", jax.scipy.linalg.toeplitz, [normal(3), normal(5)], {}, 1e-6, grad=True)
    case("block_diag", jax.scipy.linalg.block_diag, [normal(2, 3), normal(1, 1), normal(2), normal()], {}, 0, grad=True)
    case("swapaxes", lambda x: jnp.swapaxes(x, 0, 2), [normal(2, 3, 4)], {"dims": [0, 2]}, 0)
    for k in (-1, 0, 1, 2, 7):
        case("rot90", lambda x: jnp.rot90(x, k), [normal(2, 3, 2)], {"n": k}, 0)
    case("ravel_multi_index", lambda i, j: jnp.ravel_multi_index((i, j), (3, 4), mode="clip"), [i32([0, 2, 9, -1]), i32([3, 1, 0, 2])], {"dims": [3, 4]}, 0)
    for k in (-1, 0, 2):
        case("tril_indices", lambda: list(jnp.tril_indices(4, k)), [], {"dims": [4, k]}, 0)
        case("triu_indices", lambda: list(jnp.triu_indices(4, k)), [], {"dims": [4, k]}, 0)
    case("isin", jnp.isin, [f32([[1, 2, NAN], [0, 5, 1]]), f32([1, 5, NAN])], {}, 0)
    case("isin", jnp.isin, [i32([1, 2]), i32([])], {}, 0)


def special():
    sp = jax.scipy.special
    x = f32([-11, -9.9, -6, -2, -0.5, 0, 0.7, 4, 5.5, 20])
    case("ndtr", sp.ndtr, [x], tol=1e-6, grad=True)
    case("log_ndtr", sp.log_ndtr, [x], tol=1e-5, grad=True)
    case("ndtr", sp.ndtr, [f32([INF, -INF, NAN])], tol=1e-6)
    case("log_ndtr", sp.log_ndtr, [f32([INF, -INF, NAN, -30, -1000])], tol=1e-6)
    case("ndtri", sp.ndtri, [f32([1e-12, 1e-5, 0.1, 0.13, 0.14, 0.5, 0.8, 0.87, 0.999])], tol=2e-6, grad=True)
    case("ndtri", sp.ndtri, [f32([0, 1, -0.1, 1.1, NAN, 1e-16, 1e-30])], tol=1e-6)
    case("logit", sp.logit, [f32([0, 1, -1, 2, NAN])], tol=1e-6)
    case("logit", sp.logit, [f32([1e-20, 0.1, 0.5, 0.9])], tol=1e-6, grad=True)
    a, y = f32([0.1, 0.5, 1, 2.5, 10, 40, 0.3, 1, 5, 9]), f32([0.01, 0.4, 3, 2, 12, 30, 5, 1e-10, 0.1, 30])
    case("gammainc", sp.gammainc, [a, y], tol=1e-5, grad=True)
    case("gammaincc", sp.gammaincc, [a, y], tol=1e-5, grad=True)
    edges = [f32([1, 1, 2, -1, 1, NAN]), f32([0, INF, -1, 1, NAN, 1])]
    case("gammainc", sp.gammainc, edges, tol=1e-6)
    case("gammaincc", sp.gammaincc, edges, tol=1e-6)
    case("zeta", sp.zeta, [f32([1.1, 1.5, 2, 3, 7, 20, 1, 0.5]), f32([0.3, 1, 1, 2.5, 0.1, 12, 1, 1])], tol=1e-5)
    for n in (0, 1, 2, 3, 6):
        case("polygamma", lambda x: sp.polygamma(n, x), [f32([0.2, 0.5, 1, 1.5, 3.25, 8, 30])], {"n": n}, 2e-5, grad=True)
    case("betaln", sp.betaln, [f32([0.1, 1, 2.5, 30]), f32([0.2, 1, 7, 4])], tol=1e-5, grad=True)
    a, b, x = i32([1, 2, 2, 5, 30, 1, 9]), i32([1, 3, 3, 1, 40, 8, 2]), f32([0.3, 0.1, 0.9, 0.7, 0.4, 0.01, 0.95])
    case("betainc", lambda a, b, x: sp.betainc(a.astype(jnp.float32), b.astype(jnp.float32), x), [a, b, x], tol=2e-5, grad=True)
    case("betainc", sp.betainc, [f32([0.5, 0.1, 1.5, 100]), f32([0.5, 3, 0.2, 0.5]), f32([0.2, 0.8, 0.99, 0.999])], tol=5e-5)
    case("betainc", sp.betainc, [f32([1, 1, -1, 2, NAN]), f32([2, 2, 2, 2, 1]), f32([0, 1, 0.5, 1.5, 0.5])])
    x, y = f32([0.5, 2, 1]), f32([1.5, 0.3, 1])
    case("entr", sp.entr, [x], tol=1e-6, grad=True)
    case("entr", sp.entr, [f32([0, -1, NAN, INF])])
    for name in ("rel_entr", "kl_div"):
        case("" + name, getattr(sp, name), [x, y], tol=1e-6, grad=True)
        case("" + name, getattr(sp, name), [f32([0, 0, -1, 1, 1]), f32([0, 2, 1, 0, -1])])


def main():
    out = out_dir(__doc__)
    making()
    reductions()
    statistics()
    elementwise()
    curves()
    matrices()
    special()
    write(os.path.join(out, "jax_numpy.json.gz"), {"versions": versions(), "cases": CALLS.cases})


main()
