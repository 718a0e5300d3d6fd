"""A safetensors file written by Python's own package, for graph/safetensors: OUTPUT_DIR/python.safetensors.

Needs the packages safetensors and numpy only. The tensors, each with the numbers 0, 1, 2, … less 3 (unsigned ones from 0, bools
odd or even, complex ones with an imaginary part as large) in row-major order: one of each dtype of graph, named by its dtype in the format's words, of shape [2, 3]; "scalar"
(F32, no axes, -3) and "empty" (F32, [0, 4]). Metadata: {"naïve": "python ✓"}.
"""
import os
import sys

import numpy as np
from safetensors import TensorSpec, serialize_file

NUMPY = {"BOOL": np.bool_, "U8": np.uint8, "U16": np.uint16, "U32": np.uint32, "U64": np.uint64, "I8": np.int8, "I16": np.int16,
         "I32": np.int32, "I64": np.int64, "F16": np.float16, "F32": np.float32, "F64": np.float64, "C64": np.complex64}


def numbers(name):
    n = np.arange(6).reshape(2, 3)
    if name == "BOOL":
        return n % 2 == 1
    if name == "C64":  # with the number as the imaginary part, too
        return (n - 3) * (1 + 1j)
    return n if name[0] == "U" else n - 3


def main():
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} OUTPUT_DIR\n\n{__doc__}")
    arrays = {k: ("", numbers(k).astype(t)) for k, t in NUMPY.items()}
    # The upper half of a float32 is a bfloat16.
    arrays["BF16"] = ("bfloat16", (numbers("BF16").astype(np.float32).view(np.uint32) >> 16).astype(np.uint16))
    arrays["scalar"] = ("", np.full((), -3, np.float32))
    arrays["empty"] = ("", np.zeros((0, 4), np.float32))
    tensors = {k: TensorSpec(dtype=dtype or a.dtype.name, shape=a.shape, data_ptr=a.ctypes.data, data_len=a.nbytes) for k, (dtype, a) in arrays.items()}
    path = os.path.join(sys.argv[1], "python.safetensors")
    serialize_file(tensors, path, {"naïve": "python ✓"})
    print(f"{path}: {os.path.getsize(path)} bytes")


main()
