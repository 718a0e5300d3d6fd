"""Makes a file that jax.export.deserialize reads from StableHLO text that xlarun's lower.Export wrote.

    python to_jax.py net.mlir net.jax
    jax.export.deserialize(open("net.jax", "rb").read()).call(*arrays)

It needs jax 0.10 and flatbuffers. The arguments of call are the leaves of the function's arguments, and it returns a list of
leaves, both in the order of xlarun.
"""

import sys

import jax
import numpy as np
from jax import export
from jax.interpreters import mlir as jax_mlir  # registers the dialects
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

DTYPES = {"i1": "bool", **{f"i{n}": f"int{n}" for n in (8, 16, 32, 64)}, **{f"ui{n}": f"uint{n}" for n in (8, 16, 32, 64)},
          "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}


def avals(types):
    tensors = [ir.RankedTensorType(t) for t in types]
    return tuple(jax.core.ShapedArray(tuple(t.shape), jax.numpy.dtype(DTYPES[str(t.element_type)])) for t in tensors)


def exported(text):
    """The jax.export.Exported of StableHLO text."""
    with jax_mlir.make_ir_context():
        module = ir.Module.parse(text)
        main = next(f for f in module.body.operations if "main" in str(f.attributes["sym_name"]))
        ins, outs = avals(main.type.inputs), avals(main.type.results)
        version = stablehlo.get_version_from_compatibility_requirement(stablehlo.StablehloCompatibilityRequirement.WEEK_4)
        code = stablehlo.serialize_portable_artifact(module, version, True)
    return export.Exported(
        fun_name="main", in_tree=jax.tree.structure((ins, {})), in_avals=ins, out_tree=jax.tree.structure(list(outs)), out_avals=outs,
        _has_named_shardings=True, _in_named_shardings=(None,) * len(ins), _out_named_shardings=(None,) * len(outs),
        in_shardings_hlo=(None,) * len(ins), out_shardings_hlo=(None,) * len(outs), nr_devices=1, platforms=("cpu",),
        ordered_effects=(), unordered_effects=(), disabled_safety_checks=(), mlir_module_serialized=code,
        calling_convention_version=export.maximum_supported_calling_convention_version, module_kept_var_idx=tuple(range(len(ins))),
        uses_global_constants=False, _get_vjp=None)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: to_jax.py NET.mlir NET.jax")
    code = exported(open(sys.argv[1]).read()).serialize()
    with open(sys.argv[2], "wb") as f:
        f.write(code)
