"""Gradients of linear algebra where singular values tie or vanish: OUTPUT_DIR/jax_linalg_ties.json.gz.

{"versions": {...}, "cases": [C]}; arrays as in common.py, float64. A case is
  C  "op", "kind" (the matrix), "input" [m, n], "value" of JAX, "cotangent" of the value's shape, and "gradient" [m, n] of the sum of
     their product by jax.vjp. JAX's is NaN or wrong at some of these matrices: "differences" [m, n] are central differences of
     JAX's function, NaN where it is not smooth. The right-hand side of lstsq is sin(1), sin(2), ….
"""
import os

import jax
import jax.numpy as jnp
import jax.scipy.linalg
import numpy as np

from common import encode, out_dir, versions, write

jax.config.update("jax_enable_x64", True)


def weights(shape):
    return np.cos(1.0 + np.arange(int(np.prod(shape)))).reshape(shape)


def side(m):
    return jnp.sin(1.0 + jnp.arange(m))


OPS = {
    "det": jnp.linalg.det,
    "nuclear": lambda x: jnp.linalg.norm(x, "nuc"),
    "spectral": lambda x: jnp.linalg.norm(x, 2),
    "singular values": lambda x: jnp.linalg.svd(x, compute_uv=False),
    "eigenvalues": lambda x: jnp.linalg.eigh(x)[0],
    "pinv": jnp.linalg.pinv,
    "lstsq": lambda x: jnp.linalg.lstsq(x, side(x.shape[0]))[0],
    "expm": jax.scipy.linalg.expm,
    "power": lambda x: jnp.linalg.matrix_power(x, 3),
}
SQUARE = {"det", "eigenvalues", "expm", "power"}


def matrices(m, n):
    rng = np.random.default_rng(10 * m + n)
    q, _ = np.linalg.qr(rng.standard_normal((m, m)))
    p, _ = np.linalg.qr(rng.standard_normal((n, n)))
    s = lambda values: q[:, :min(m, n)] * np.array(values[:min(m, n)]) @ p[:min(m, n)]
    yield "identity", np.eye(m, n)
    yield "zero", np.zeros((m, n))
    yield "ones", np.ones((m, n))
    yield "orthogonal", s([1.0] * 9)
    yield "tied pair", s([2.0, 2.0, 1.0, 0.5, 0.25])
    yield "rank less by 1", s([3.0, 2.0, 1.0, 0.5, 0.25][:min(m, n) - 1] + [0.0])
    yield "rank 1", s([3.0] + [0.0] * 8)
    yield "diagonal with a zero", np.diag([0.0, 2.0, 1.0, 0.5, 0.25])[:m, :n]
    yield "diagonal with ties", np.diag([2.0, 1.0, 2.0, 1.0, 2.0])[:m, :n]
    yield "whole singular", np.array([[(i + 1.0) * (j - 1.0) + (i == j == 1) for j in range(n)] for i in range(m)])
    yield "random", rng.standard_normal((m, n))
    yield "huge", 1e30 * rng.standard_normal((m, n))
    yield "nilpotent", np.eye(m, n, 1)


def differences(f, x, cotangent):
    h = 1e-6 * max(1e-300, np.abs(x).max() or 1)
    g = np.full(x.shape, np.nan)
    for i in np.ndindex(*x.shape):
        d = np.zeros_like(x)
        d[i] = h
        steps = [np.sum(np.asarray(f(x + k * d)) * cotangent) for k in (-2, -1, 1, 2)]
        near, far = (steps[2] - steps[1]) / (2 * h), (steps[3] - steps[0]) / (4 * h)
        one = (steps[3] - steps[2]) / h - (steps[1] - steps[0]) / h  # a kink
        if np.isfinite(near) and abs(near - far) <= 1e-4 * abs(near) + 1e-9 and abs(one) <= 1e-3 * abs(near) + 1e-4 * np.abs(steps).max():
            g[i] = near
    return g


def main():
    folder = out_dir(__doc__)
    cases = []
    for m, n in [(1, 1), (3, 3), (4, 4), (5, 3), (3, 5)]:
        for kind, x in matrices(m, n):
            for name, f in OPS.items():
                if m != n and name in SQUARE:
                    continue
                value, back = jax.vjp(f, jnp.asarray(x))
                cotangent = weights(value.shape)
                gradient = back(jnp.asarray(cotangent))[0]
                cases.append({"op": name, "kind": kind, "input": encode(x), "value": encode(value), "cotangent": encode(cotangent),
                              "gradient": encode(gradient), "differences": encode(differences(f, x, cotangent))})
    write(os.path.join(folder, "jax_linalg_ties.json.gz"), {"versions": versions(), "cases": cases})


main()
