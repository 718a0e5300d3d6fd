"""Programs of xlarun that went through jax.export: what jax.export.deserialize computes from lower.Export's text.

    go test ./graph/stablehlo -run TestExport -mlir DIR
    python third_party/oracles/jax_import.py DIR graph/stablehlo/testdata

writes OUTPUT_DIR/jax_import.json: {"versions": {...}, "cases": [{"name", "inputs": [array...], "outputs": [array...]}...]}; arrays as
in common.py. DIR has NAME.mlir for each case. It needs flatbuffers beside jax.
"""
import pathlib
import sys

import jax
import jax.numpy as jnp
import numpy as np

from common import encode, versions, write

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "examples" / "jax"))
from to_jax import exported  # noqa: E402

jax.config.update("jax_enable_x64", True)
RNG = np.random.default_rng(11)


def draw(aval):
    if jnp.issubdtype(aval.dtype, jnp.floating):
        return jnp.asarray(RNG.standard_normal(aval.shape), aval.dtype)
    return jnp.asarray(RNG.integers(0, 9, aval.shape), aval.dtype)


if len(sys.argv) != 3:
    sys.exit(f"usage: jax_import.py MLIR_DIR OUTPUT_DIR\n\n{__doc__}")
cases = []
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.mlir")):
    called = jax.export.deserialize(exported(path.read_text()).serialize())
    inputs = [draw(a) for a in called.in_avals]
    cases.append({"name": path.stem, "inputs": [encode(x) for x in inputs], "outputs": [encode(x) for x in called.call(*inputs)]})
write(str(pathlib.Path(sys.argv[2]) / "jax_import.json"), {"versions": versions("flatbuffers"), "cases": cases})
