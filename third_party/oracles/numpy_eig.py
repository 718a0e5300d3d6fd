"""Eigenvalues and eigenvectors of general matrices from NumPy for graph, written to OUTPUT_DIR/numpy_eig.json.gz.

{"versions": {...}, "cases": [C...]}; arrays as in common.py.
C: {"name", "error", "input", "re", "im", "vectors_re", "vectors_im", "cotangents_re", "cotangents_im", "gradient"}. The input is
float32 or float64; everything else is float64, computed in float64 from the same numbers. error is by how many epsilons of the
input's dtype (times the largest eigenvalue) an eigenvalue may be off, because of its condition number. 0: the matrix is defective or
close to it, so it may be off by a root of epsilon; vectors and gradient are null.
The gradient is that of sum(re * cotangents_re + im * cotangents_im) by the input, from JAX.

Order: ascending real part, then the imaginary part's size, each rounded to 1/4096 of a power of two near the largest, then not
rounded; of a pair the positive imaginary part first. Phase: the first element of a vector that is at least 0.45 times as large as
its largest is real and positive.
"""
import os

os.environ["JAX_ENABLE_X64"] = "1"
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import scipy.linalg  # noqa: E402

from common import encode, out_dir, versions, write  # noqa: E402

RNG = np.random.default_rng(23)


def normal(*shape):
    return RNG.standard_normal(shape)


def rotation(*angles):
    x = np.zeros((2 * len(angles), 2 * len(angles)))
    for k, a in enumerate(angles):
        x[2 * k:2 * k + 2, 2 * k:2 * k + 2] = [[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]
    return x


def orthogonal(n):
    return np.linalg.qr(normal(n, n))[0]


def similar(x):
    q = orthogonal(len(x))
    return q @ x @ q.T


def matrices():
    """Names, matrices, and whether they are defective."""
    for n in (1, 2, 3, 4, 5, 8, 16, 64):
        yield f"random {n}", normal(n, n), False
    for n in (2, 5, 12):
        x = normal(n, n)
        yield f"symmetric {n}", x + x.T, False
        if n < 12:
            yield f"skew-symmetric {n}", x - x.T, False
    yield "a rotation by 0.3", rotation(0.3), False
    yield "a quarter turn", np.array([[0.0, -1], [1, 0]]), False
    yield "three rotations in a plane each", similar(rotation(0.3, 1.1, 2.5)), False
    yield "companion of 1 2 3 4", scipy.linalg.companion(np.poly([1, 2, 3, 4])), False
    yield "companion of x^5 - 1", np.roll(np.eye(5), 1, 0), False
    yield "companion of x^4 + 4", scipy.linalg.companion([1.0, 0, 0, 0, 4]), False
    yield "upper triangular", np.triu(normal(6, 6), 1) + np.diag(np.arange(6)), False
    yield "lower triangular", np.tril(normal(6, 6), -1) + np.diag(np.arange(6, 0, -1)), False
    yield "a permuted triangle", (np.triu(normal(6, 6), 1) + np.diag(np.arange(6)))[[3, 1, 5, 0, 2, 4]][:, [3, 1, 5, 0, 2, 4]], False
    yield "diagonal", np.diag([3.0, -1, 2, 0]), False
    yield "zeros", np.zeros((3, 3)), True
    yield "the identity", np.eye(4), True
    yield "a Jordan block of 2", np.array([[1.0, 1], [0, 1]]), True
    yield "a Jordan block of 3, turned", similar(np.diag([1.0, 1, 1]) + np.diag([1.0, 1], 1)), True
    yield "nilpotent 4", np.diag([1.0, 1, 1], 1), True
    yield "a defective pair", np.kron(np.eye(2), rotation(1.0)) + np.kron(np.diag([1.0], 1), np.eye(2)), True
    yield "rank one", np.outer(np.arange(1, 6), np.ones(5)), True
    size = 10.0 ** np.array([-6, 2, 5, 0, -3, 4])
    yield "badly scaled", (normal(6, 6) + np.diag(np.arange(6) * 3)) * size[:, None] / size, False
    yield "two rows of 1e-12 and 1e12", np.array([[1.0, 1e-12], [1e12, 3]]), False
    yield "stochastic", (lambda x: x / x.sum(1, keepdims=True))(abs(normal(5, 5))), False
    yield "Wilkinson's, of 21", np.diag(abs(np.arange(-10.0, 11))) + np.diag(np.ones(20), 1) + np.diag(np.ones(20), -1), True
    yield "large numbers", normal(4, 4) * 1e30, False
    yield "small numbers", normal(4, 4) * 1e-30, False


def order(w):
    top = max(abs(w.real).max(), abs(w.imag).max())
    grid = (2.0 ** np.floor(np.log2(top)) if top else 1.0) / 4096
    re, im = w.real, abs(w.imag)
    return np.lexsort((-w.imag, im, re, np.round(im / grid), np.round(re / grid)))


def phases(v):
    size = abs(v)
    lead = np.argmax(size >= 0.45 * size.max(0), 0)
    first = np.take_along_axis(v, lead[None], 0)
    return v * np.conj(first) / abs(first)


def case(name, x, defective, dtype):
    x = x.astype(dtype)
    wide = x.astype(np.float64)
    w, v = np.linalg.eig(wide)
    w, v = w.astype(complex), v.astype(complex)
    o = order(w)
    w, v = w[o], phases(v[:, o])
    out = {"name": name, "error": 0.0, "input": encode(x), "re": encode(w.real), "im": encode(w.imag), "vectors_re": None,
           "vectors_im": None, "cotangents_re": None, "cotangents_im": None, "gradient": None}
    if defective:
        return out
    left = np.linalg.inv(v)
    # Of the balanced matrix: scaling is exact.
    b, (scale, _) = scipy.linalg.matrix_balance(wide, permute=False, separate=True)
    bv = v / scale[:, None]
    bl = left * scale
    condition = (np.linalg.norm(bl, axis=1) * np.linalg.norm(bv, axis=0)).max() * np.linalg.norm(b) / abs(w).max()
    out["error"] = float(np.ceil(condition))
    c, d = normal(len(w)), normal(len(w))

    def loss(x):
        values = jnp.linalg.eigvals(x)[o]
        return jnp.sum(values.real * c + values.imag * d)

    assert np.allclose(np.asarray(jnp.linalg.eigvals(jnp.asarray(wide)))[o], w), name
    gradient = jax.grad(loss)(jnp.asarray(wide))
    assert np.isfinite(gradient).all(), name
    out.update(vectors_re=encode(v.real), vectors_im=encode(v.imag), cotangents_re=encode(c), cotangents_im=encode(d),
               gradient=encode(gradient))
    return out


def main():
    out = out_dir(__doc__)
    all_cases = [case(name, x, defective, dtype) for name, x, defective in matrices() for dtype in (np.float32, np.float64)
                 if len(x) < 64 or dtype == np.float64]
    write(os.path.join(out, "numpy_eig.json.gz"), {"versions": versions(), "cases": all_cases})


main()
