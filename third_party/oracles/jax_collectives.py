"""Collectives of jax.lax under vmap with a named axis, for graph: OUTPUT_DIR/jax_collectives.json.

{"versions", "cases": [{"op", "axes": [arguments], "input", "output", "gradient"}]}; arrays as in common.py, float32.
Axis 0 of the input is the named axis. The gradient is that of sum(output * cos(0, 1, 2, …)).
"""
import os

import jax
import jax.numpy as jnp
import numpy as np

import common

lax = jax.lax
OPS = {
    "all_gather tiled": lambda x, dim: lax.all_gather(x, "lane", axis=dim, tiled=True),
    "all_to_all tiled": lambda x, split, concat: lax.all_to_all(x, "lane", split, concat, tiled=True),
    "all_to_all": lambda x, split, concat: lax.all_to_all(x, "lane", split, concat),
    "psum_scatter": lambda x, dim: lax.psum_scatter(x, "lane", scatter_dimension=dim),
    "psum_scatter tiled": lambda x, dim: lax.psum_scatter(x, "lane", scatter_dimension=dim, tiled=True),
}


def cases():
    random = np.random.default_rng(7)
    for op, axes, dims in [
        ("all_gather tiled", [0], [3, 2, 4]), ("all_gather tiled", [1], [3, 2, 4]), ("all_gather tiled", [2], [2, 1, 2, 3]),
        ("all_to_all tiled", [0, 0], [3, 6, 2]), ("all_to_all tiled", [0, 1], [3, 6, 2]), ("all_to_all tiled", [1, 0], [2, 3, 4]),
        ("all_to_all tiled", [2, 0], [2, 3, 1, 4]), ("all_to_all", [0, 1], [3, 3, 2]), ("all_to_all", [1, 0], [2, 5, 2]),
        ("psum_scatter", [0], [3, 3, 2]), ("psum_scatter", [1], [3, 2, 3]), ("psum_scatter", [0], [1, 1]),
        ("psum_scatter tiled", [0], [3, 6, 2]), ("psum_scatter tiled", [1], [2, 3, 4]), ("psum_scatter tiled", [0], [4, 4]),
    ]:
        yield op, axes, random.normal(size=dims).astype(np.float32)


def main():
    all_cases = []
    for op, axes, x in cases():
        def f(x):
            return jax.vmap(lambda row: OPS[op](row, *axes), axis_name="lane")(x)
        output = f(jnp.asarray(x))
        weights = jnp.cos(jnp.arange(output.size, dtype=jnp.float32)).reshape(output.shape)
        gradient = jax.grad(lambda x: jnp.sum(f(x) * weights))(jnp.asarray(x))
        all_cases.append({"op": op, "axes": axes, "input": common.encode(x), "output": common.encode(output),
                          "gradient": common.encode(gradient)})
    common.write(os.path.join(common.out_dir(__doc__), "jax_collectives.json"), {"versions": common.versions(), "cases": all_cases})


if __name__ == "__main__":
    main()
