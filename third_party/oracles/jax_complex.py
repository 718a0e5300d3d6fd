"""Complex numbers and Fourier transforms of JAX, written to OUTPUT_DIR/jax_complex.json.gz.

{"versions": {...}, "cases": [CASE...]}; calls.py says what a CASE is. Weights of complex outputs are complex, and the
real part of the weighted sum is differentiated.
"""
import os

import jax
import jax.numpy as jnp
import jax.scipy.signal
import numpy as np
from jax import lax

from calls import Calls, f32
from common import out_dir, versions, write

CALLS = Calls(30)
case, normal = CALLS.case, CALLS.normal


def c64(x):
    return np.asarray(x, np.complex64)


def z(*shape):
    return normal(*shape) + 1j * normal(*shape)


def elementwise():
    for f in ("real", "imag", "conj", "angle", "abs", "sign"):
        case(f"{f}", getattr(jnp, f), [z(3, 4)], grad=f != "sign")
    case("abs", jnp.abs, [c64([0, 3 + 4j, -1, 1e-20j])], grad=True)
    case("angle", jnp.angle, [c64([1, -1, 1j, -1j])])
    case("complex", lax.complex, [normal(3), normal(3)], tol=0, grad=True)
    for f in ("exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "expm1", "log1p", "negative", "square", "reciprocal"):
        case(f"{f}", getattr(jnp, f), [z(4, 3)], tol=3e-5, grad=True)
    case("rsqrt", lax.rsqrt, [z(4)], grad=True)
    case("logistic", lax.logistic, [z(4)], grad=True)
    for f in ("add", "subtract", "multiply", "divide", "power"):
        case(f"{f}", getattr(jnp, f), [z(4), z(4)], tol=3e-5, grad=True)
        case(f"{f}", getattr(jnp, f), [z(4), np.abs(normal(4)) + f32(1)], tol=3e-5, grad=True)
    a, b = c64([1, 1 + 1j, 2, 1j]), c64([1, 1 - 1j, 2 + 1j, 1j])
    case("equal", jnp.equal, [a, b], tol=0)
    case("not_equal", jnp.not_equal, [a, b], tol=0)
    case("where", jnp.where, [np.array([True, False, True, False]), z(4), z(4)], tol=0, grad=True)
    case("isfinite", jnp.isfinite, [c64([1, complex(np.nan, 0), complex(0, np.inf)])], tol=0)
    case("isreal", jnp.isreal, [a], tol=0)
    case("iscomplex", jnp.iscomplex, [a], tol=0)


def together():
    for axes in (None, 0, 1):
        attrs = {"axes": [] if axes is None else [axes]}
        for f in ("sum", "prod", "mean", "var", "std"):
            case(f"{f}", lambda x: getattr(jnp, f)(x, axis=axes), [z(3, 4)], attrs, tol=3e-5, grad=True)
    for f in ("cumsum", "cumprod"):
        case(f"{f}", lambda x: getattr(jnp, f)(x, axis=1), [z(2, 5)], {"axis": 1}, tol=3e-5, grad=True)
    case("matmul", jnp.matmul, [z(3, 4), z(4, 2)], grad=True)
    case("matmul", jnp.matmul, [z(3, 4), normal(4, 2)], grad=True)
    case("vdot", jnp.vdot, [z(5), z(5)], grad=True)
    case("batched", lambda x, y: jnp.einsum("bij,bjk->bik", x, y), [z(20, 3, 3), z(20, 3, 3)], grad=True)
    case("scatter", lambda x, y: x.at[jnp.array([1, 3, 1])].add(y), [z(4), z(3)], grad=True)
    case("take", lambda x: x[jnp.array([2, 0, 2])], [z(4, 2)], tol=0, grad=True)
    case("pad", lambda x: jnp.pad(x[::-1].T, ((1, 0), (0, 2))), [z(3, 2)], tol=0, grad=True)
    case("scan", lambda c, xs: lax.scan(lambda c, x: (c * x + 1j, jnp.abs(c)), c, xs), [z(3), z(6, 3)], tol=3e-5, grad=True)
    case("vmap", jax.vmap(lambda x, w: jnp.sum(jnp.exp(x) * w)), [z(5, 3), z(5, 3)], tol=3e-5, grad=True)
    case("while", lambda x: lax.fori_loop(0, 4, lambda i, c: c * c * 0.5 + x, x), [z(3)], tol=3e-5, grad=True)
    case("holomorphic", jax.grad(lambda x: jnp.sum(jnp.sin(x) * x), holomorphic=True), [z(4)], tol=3e-5)
    case("gradient descent", jax.grad(lambda x: jnp.sum(jnp.abs(x - (1 + 2j)) ** 2)), [z(4)], tol=3e-5)
    case("jvp", lambda x, t: list(jax.jvp(lambda x: jnp.abs(x) * jnp.exp(x), (x,), (t,))), [z(4), z(4)], tol=3e-5)
    case("norm", lambda x: jnp.linalg.norm(x, axis=1), [z(3, 4)], grad=True)
    case("cov", jnp.cov, [z(3, 6)], tol=3e-5)


def fourier():
    for norm in (None, "ortho", "forward"):
        attrs = lambda axes, dims: {"axes": axes, "dims": dims, "mode": norm or ""}  # noqa: E731
        for n in (1, 5, 8, 12):
            case("fft", lambda x: jnp.fft.fft(x, norm=norm), [z(2, n)], attrs([], []), grad=True)
            case("ifft", lambda x: jnp.fft.ifft(x, norm=norm), [z(2, n)], attrs([], []), grad=True)
            case("rfft", lambda x: jnp.fft.rfft(x, norm=norm), [normal(2, n)], attrs([], []), grad=True)
            case("irfft", lambda x: jnp.fft.irfft(x, n, norm=norm), [z(2, n // 2 + 1)], attrs([-1], [n]), grad=True)
            case("hfft", lambda x: jnp.fft.hfft(x, n, norm=norm), [z(2, n // 2 + 1)], attrs([-1], [n]), grad=True)
            case("ihfft", lambda x: jnp.fft.ihfft(x, norm=norm), [normal(2, n)], attrs([], []), grad=True)
        for axes, dims in (([0], [5]), ([0], [2]), ([0, 2], [3, 6]), ([2, 0], [4, 4])):
            s = dict(s=dims, axes=axes, norm=norm)
            case("fftn", lambda x: jnp.fft.fftn(x, **s), [z(3, 2, 4)], attrs(axes, dims), grad=True)
            case("ifftn", lambda x: jnp.fft.ifftn(x, **s), [z(3, 2, 4)], attrs(axes, dims), grad=True)
            case("rfftn", lambda x: jnp.fft.rfftn(x, **s), [normal(3, 2, 4)], attrs(axes, dims), grad=True)
            case("irfftn", lambda x: jnp.fft.irfftn(x, **s), [z(3, 2, 4)], attrs(axes, dims), grad=True)
    four = {"axes": [0, 1, 2, 3], "dims": [], "mode": ""}
    case("fftn", lambda x: four_axes(x, jnp.fft.fft, jnp.fft.fft), [z(2, 3, 2, 3)], four, grad=True)
    case("rfftn", lambda x: four_axes(x, jnp.fft.rfft, jnp.fft.fft), [normal(2, 3, 2, 3)], four, grad=True)
    case("fft of real numbers", jnp.fft.fft, [normal(6)], grad=True)
    case("vmap of rfft", jax.vmap(lambda x: jnp.fft.irfft(jnp.fft.rfft(x) * 2), in_axes=1, out_axes=1), [normal(6, 3)], grad=True)
    for n in (1, 4, 7):
        case("fftfreq", lambda: jnp.fft.fftfreq(n, 0.25), [], {"n": n, "q": 0.25})
        case("rfftfreq", lambda: jnp.fft.rfftfreq(n, 0.25), [], {"n": n, "q": 0.25})
        case("fftshift", lambda x: jnp.fft.fftshift(x), [normal(n, 3)], {"axes": []}, tol=0)
        case("ifftshift", lambda x: jnp.fft.ifftshift(x, axes=(0,)), [normal(n, 3)], {"axes": [0]}, tol=0)
    for mode in ("full", "same", "valid"):
        for a, b in ((normal(9), normal(4)), (z(5), normal(3)), (normal(3), normal(7)), (normal(4, 5), normal(3, 2)), (z(3, 4), z(2, 2))):
            if mode == "same" and len(a) < len(b):
                continue
            case("fftconvolve", lambda x, y: jax.scipy.signal.fftconvolve(x, y, mode), [a, b], {"mode": mode}, tol=2e-5, grad=True)
        case("fftconvolve", lambda x, y: jax.scipy.signal.fftconvolve(x, y, mode, axes=(1,)), [normal(2, 5), normal(2, 3)],
             {"mode": mode, "axes": [1]}, tol=2e-5, grad=True)


def four_axes(x, last, others):
    x = last(x, axis=3)
    for axis in (2, 1, 0):
        x = others(x, axis=axis)
    return x


def main():
    out = out_dir(__doc__)
    elementwise()
    together()
    fourier()
    write(os.path.join(out, "jax_complex.json.gz"), {"versions": versions(), "cases": CALLS.cases})


main()
