"""The public names of JAX and its companions, for the table of docs/from-jax.md: OUTPUT_DIR/jax_names.json.gz.

{"versions": {...}, "names": ["jax.grad", "jax.numpy.add", ...]}, sorted.
"""
import importlib
import os

from common import out_dir, versions, write

MODULES = ["jax", "jax.numpy", "jax.numpy.linalg", "jax.lax", "jax.lax.linalg", "jax.random", "jax.nn", "jax.nn.initializers", "jax.ops", "jax.tree",
           "jax.debug", "jax.scipy.special", "jax.scipy.linalg", "jax.scipy.stats.norm", "jax.sharding", "flax.linen", "optax", "optax.contrib", "distrax",
           "numpy.ndarray.at"]


def main():
    out = out_dir(__doc__)
    names = set()
    for module in MODULES:
        if module == "numpy.ndarray.at":  # x.at[i].set(y): no module has these
            names |= {"jax.Array.at." + n for n in ("set", "add", "max", "min", "multiply")} | {"jax.Array.astype", "jax.Array.view"}
            continue
        names |= {f"{module}.{n}" for n in dir(importlib.import_module(module)) if not n.startswith("_")}
    write(os.path.join(out, "jax_names.json.gz"), {"versions": versions("flax", "optax", "distrax"), "names": sorted(names)})


main()
