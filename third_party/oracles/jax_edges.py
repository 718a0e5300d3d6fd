"""Losses of optax and bijectors of distrax at extreme arguments, written to OUTPUT_DIR/jax_edges.json.gz.

{"versions": {...}, "cases": [CASE...]}, arrays as in common.py. CASE:
  name           a loss, or "Bijector.method"
  dtype          what it was computed in: float32, float16, bfloat16
  x, y           float32, [n]: prediction and target; of a bijector x alone. The docstrings of LOSSES say how they are used.
  value          float32, [n]
  gradient       float32, [n]: of the value by x
  exact, exact_gradient    the same from float64, of the same arguments
"""
import os

os.environ["JAX_ENABLE_X64"] = "1"
import distrax  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import optax  # noqa: E402

from common import encode, out_dir, versions, write  # noqa: E402

V = [0, 1e-8, -1e-8, 1, -1, 50, -50, 100, -100, 1e4, -1e4, np.inf, -np.inf]
one = lambda x: jnp.ones_like(x)  # noqa: E731

LOSSES = {
    "MSE": optax.squared_error, "MAE": lambda p, t: jnp.abs(p - t), "Huber": lambda p, t: optax.huber_loss(p, t, delta=1.0),
    "BinaryCrossEntropy": optax.sigmoid_binary_cross_entropy, "Focal": lambda p, t: optax.sigmoid_focal_loss(p, t, gamma=2.0),
    "Hinge": optax.hinge_loss, "LogCosh": optax.log_cosh, "KLDivergence": lambda p, t: optax.kl_divergence(p[None], t[None]),
    # logits [x, y], the label 0
    "CrossEntropy": lambda p, t: optax.softmax_cross_entropy_with_integer_labels(jnp.stack([p, t]), 0),
    # logits [x, 1], the probabilities [y, 1]
    "CrossEntropyOneHot": lambda p, t: optax.softmax_cross_entropy(jnp.stack([p, one(p)]), jnp.stack([t, one(t)])),
    # [x, 1] and [y, 1]
    "CosineDistance": lambda p, t: optax.cosine_distance(jnp.stack([p, one(p)]), jnp.stack([t, one(t)]), epsilon=1e-8),
    # the anchor [x, 1], the positive [y, 1], the negative [1, -1]
    "TripletMargin": lambda p, t: optax.losses.triplet_margin_loss(jnp.stack([p, one(p)]), jnp.stack([t, one(t)]), jnp.stack([one(p), -one(p)])),
    # embeddings [x, 1], [y, 1], [1, -1] with the labels 0, 0, 1
    "NTXent": lambda p, t: optax.losses.ntxent(jnp.stack([p, one(p), t, one(p), one(p), -one(p)]).reshape(3, 2), jnp.array([0, 0, 1]), 0.5),
    "SmoothLabels": lambda p, t: optax.smooth_labels(jnp.stack([p, t]), 0.1)[0],
}
BIJECTORS = {"Tanh": distrax.Tanh(), "Sigmoid": distrax.Sigmoid(), "Exp": distrax.Lambda(jnp.exp), "Affine": distrax.ScalarAffine(1.0, 2.0)}


def both(f, x):
    value, gradient = jax.jit(jax.vmap(jax.value_and_grad(f)))(*x)
    return [encode(np.asarray(a.astype(jnp.float32))) for a in (value, gradient)]


def case(name, dtype, f, x):
    x = [jnp.asarray(v, dtype) for v in x]
    f32 = lambda a: encode(np.asarray(a.astype(jnp.float32)))  # noqa: E731
    value, gradient = both(f, x)
    exact, exact_gradient = both(f, [v.astype(jnp.float64) for v in x])
    return {"name": name, "dtype": dtype, "x": f32(x[0]), "y": f32(x[-1]), "value": value, "gradient": gradient, "exact": exact,
            "exact_gradient": exact_gradient}


def main():
    out = out_dir(__doc__)
    x, y = (np.array(v, np.float32) for v in zip(*((a, b) for a in V for b in V)))
    inner = np.array([*V, 0.5, -0.5, 0.99609375, -0.99609375], np.float32)
    cases = []
    for dtype in ("float32", "float16", "bfloat16"):
        cases += [case(name, dtype, f, [x, y]) for name, f in LOSSES.items()]
        for name, b in BIJECTORS.items():
            for method in ("forward", "inverse", "forward_log_det_jacobian"):
                cases.append(case(f"{name}.{method}", dtype, getattr(b, method), [inner]))
    write(os.path.join(out, "jax_edges.json.gz"), {"versions": versions("optax", "distrax"), "cases": cases})


main()
