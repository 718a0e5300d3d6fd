"""Calls of JAX functions with their values and gradients, for the tests of functions that graph composes of ops.

Arrays as in common.py, of 32-bit types and complex64. A call:
  op         JAX's name of the function
  attrs      what else it is given: plain values
  inputs     arrays
  outputs    arrays; compared with a relative and absolute tolerance, NaN and infinities in the same places
  tol        that tolerance; 0: equal
  weights, gradients    where not empty: gradients of the sum of outputs times weights (its real part) by the float and complex inputs (others: empty)
"""
import jax
import jax.numpy as jnp
import numpy as np

from common import encode

NAN, INF = np.nan, np.inf


def f32(x):
    return np.asarray(x, np.float32)


def i32(x):
    return np.asarray(x, np.int32)


class Calls:
    def __init__(self, seed):
        self.cases = []
        self.rng = np.random.default_rng(seed)

    def normal(self, *shape):
        return f32(self.rng.standard_normal(shape))

    def case(self, op, f, inputs, attrs=None, tol=1e-5, grad=False):
        inputs = [jnp.asarray(x) for x in inputs]
        outputs = lambda *x: list(y) if isinstance(y := f(*x), (list, tuple)) else [y]  # noqa: E731
        outs = jax.jit(outputs)(*inputs)
        record = {"op": op, "attrs": attrs or {}, "inputs": [encode(x) for x in inputs], "outputs": [encode(o) for o in outs], "tol": tol,
                  "weights": [], "gradients": []}
        if grad:
            inexact = (jnp.float32, jnp.complex64)
            floats = [i for i, x in enumerate(inputs) if x.dtype in inexact]
            weights = [self.normal(*o.shape) + (1j * self.normal(*o.shape) if o.dtype == jnp.complex64 else 0) for o in outs]

            def loss(free):
                x = list(inputs)
                for i, v in zip(floats, free):
                    x[i] = v
                return sum(jnp.sum(jnp.real(o * w)) for o, w in zip(outputs(*x), weights) if o.dtype in inexact)

            got = jax.jit(jax.grad(loss))([inputs[i] for i in floats])
            record["weights"] = [encode(w) for w in weights]
            record["gradients"] = [encode(got[floats.index(i)]) if i in floats else encode(np.zeros(0, np.float32)) for i in range(len(inputs))]
        self.cases.append(record)
