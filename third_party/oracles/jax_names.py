"""The public names of JAX and its companions, for docs/reference/from-jax.md: OUTPUT_DIR/jax_names.json.gz.

{"versions": {...}, "names": ["jax.grad", "jax.numpy.add", ...], "functions": ["jax.numpy.abs jax.numpy.absolute", ...]}, both sorted.

names is everything; functions is what a program calls: the functions of the modules WALKED, and the layers, distributions
and transforms that are classes there. Names of one object stand in one entry. A name of jax.lax that jax.numpy or
jax.scipy.special has too counts as the same function, and so does a second spelling (acos, arccos).
"""
import importlib
import inspect
import os

from common import out_dir, versions, write

MODULES = ["jax", "jax.debug", "jax.scipy.stats.norm", "jax.sharding", "numpy.ndarray.at"]
WALKED = ["jax.numpy", "jax.numpy.linalg", "jax.numpy.fft", "jax.scipy.special", "jax.lax", "jax.lax.linalg", "jax.random", "jax.nn", "jax.nn.initializers",
          "jax.ops", "jax.image", "jax.tree", "jax.flatten_util", "jax.scipy.linalg", "jax.scipy.signal", "jax.scipy.stats",
          "jax.scipy.integrate", "jax.scipy.interpolate", "jax.scipy.ndimage", "jax.scipy.optimize", "jax.scipy.fft",
          "jax.scipy.spatial.transform", "jax.scipy.cluster.vq", "jax.scipy.sparse.linalg", "flax.linen", "optax", "optax.contrib",
          "optax.losses", "optax.schedules", "optax.transforms", "optax.assignment", "optax.projections", "optax.perturbations", "optax.tree",
          "distrax"]
CLASSES = ("flax.linen", "distrax", "optax", "optax.contrib", "jax.scipy.spatial.transform", "jax.scipy.interpolate")
# Classes that hold state, types for annotations, and what is not for programs but for their authors.
NOT_CALLED = ("State", "Fn", "Info", "Params", "Node", "Updates", "Schedule", "Function", "Like", "Dict", "List", "Base", "Op", "Dimensions",
              "Complex", "ComplexWarning", "Partitioned", "Variable")
SPELLINGS = [("acos", "arccos"), ("acosh", "arccosh"), ("asin", "arcsin"), ("asinh", "arcsinh"), ("atan", "arctan"), ("atanh", "arctanh"), ("atan2", "arctan2"),
             ("pow", "power"), ("bitwise_invert", "bitwise_not"), ("bitwise_left_shift", "left_shift"), ("concat", "concatenate"), ("around", "round"),
             ("degrees", "rad2deg"), ("radians", "deg2rad"), ("permute_dims", "transpose"), ("fabs", "abs"), ("true_divide", "divide"), ("mod", "remainder"),
             ("amax", "max"), ("amin", "min"), ("cumulative_sum", "cumsum"), ("cumulative_prod", "cumprod"), ("identity", "eye")]
LAX = {"sub": "subtract", "mul": "multiply", "neg": "negative", "rem": "fmod", "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal",
       "gt": "greater", "ge": "greater_equal", "select": "where", "clamp": "clip", "rev": "flip", "max": "maximum", "min": "minimum", "is_finite": "isfinite",
       "reduce_sum": "sum", "reduce_prod": "prod", "reduce_max": "max", "reduce_min": "min", "reduce_and": "all", "reduce_or": "any", "iota": "arange",
       "shift_left": "left_shift", "pow": "power", "integer_pow": "power", "broadcast": "broadcast_to", "broadcast_in_dim": "broadcast_to",
       "batch_matmul": "matmul", "erf_inv": "erfinv", "lgamma": "gammaln", "logistic": "expit", "igamma": "gammainc", "igammac": "gammaincc"}


def called(module, name, value):
    if name.startswith("_") or name.endswith("_p") or not callable(value) or inspect.ismodule(value):
        return False
    if inspect.isclass(value):
        return module in CLASSES and not name.endswith(NOT_CALLED)
    return not name.endswith(NOT_CALLED)


def functions():
    groups, at = [], {}
    spelled = {a: b for pair in SPELLINGS for a, b in (pair, pair[::-1])}

    def join(name, value, *others):
        keys = [id(value), *others]
        group = next((at[k] for k in keys if k in at), None)
        if group is None:
            group = []
            groups.append(group)
        group.append(name)
        for k in keys:
            at[k] = group

    for module in WALKED:
        here = importlib.import_module(module)
        for name in sorted(dir(here)):
            value = getattr(here, name)
            if not called(module, name, value):
                continue
            others = [("jax", name)] if module in ("jax.numpy", "jax.scipy.special") else []
            if module == "jax.numpy" and name in spelled:
                others.append(("jax", spelled[name]))
            if module == "jax.lax":
                others = [k for k in (("jax", LAX.get(name, name)), ("jax", name)) if k in at][:1] or [("jax", name)]
            if module in ("jax.numpy.linalg", "jax.scipy.linalg", "jax.lax.linalg", "jax.scipy.integrate"):
                others = [("linalg", name), *([("jax", name)] if ("jax", name) in at else [])]
            if module in ("jax.scipy.signal", "jax.scipy.fft"):
                others = [("jax", name)] if ("jax", name) in at else []
            join(f"{module}.{name}", value, *others)
    return sorted(" ".join(g) for g in groups)


def main():
    out = out_dir(__doc__)
    names = set()
    for module in MODULES + WALKED:
        if module == "numpy.ndarray.at":  # x.at[i].set(y): no module has these
            names |= {"jax.Array.at." + n for n in ("set", "add", "max", "min", "multiply")} | {"jax.Array.astype", "jax.Array.view"}
            continue
        names |= {f"{module}.{n}" for n in dir(importlib.import_module(module)) if not n.startswith("_")}
    write(os.path.join(out, "jax_names.json.gz"), {"versions": versions("flax", "optax", "distrax"), "names": sorted(names), "functions": functions()})


main()
