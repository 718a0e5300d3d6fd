"""What the oracle scripts share: exact encoding of arrays, deterministic files, versions.

An array is {"dtype": "float32", "shape": [2, 3], "data": BASE64}: row-major, little-endian bytes, bool one byte an
element (0 or 1), bfloat16 and float16 two. Nothing is rounded: NaN payloads, infinities and signed zeros survive.
A file whose name ends in .gz is gzip without a time stamp, so that the same vectors are the same bytes.
"""
import base64
import gzip
import importlib.metadata
import json
import os
import sys

import numpy as np


def encode(x):
    """The exact encoding of anything NumPy can hold (JAX arrays, scalars, ml_dtypes)."""
    a = np.asarray(x)
    shape = list(a.shape)  # ascontiguousarray makes a scalar one-dimensional
    a = np.ascontiguousarray(a)
    if a.dtype.byteorder == ">":
        a = a.astype(a.dtype.newbyteorder("<"))
    return {"dtype": str(a.dtype), "shape": shape, "data": base64.b64encode(a.tobytes()).decode()}


def versions(*packages):
    """Versions of the packages that made the vectors, for the file's head."""
    return versions_of("jax", "jaxlib", "numpy", *packages)


def versions_of(*packages):
    """The same of scripts that need no JAX."""
    return {p: importlib.metadata.version(p) for p in packages}


def out_dir(doc):
    """The script's one argument, the folder to write to; it is made if missing."""
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(f"usage: {os.path.basename(sys.argv[0])} OUTPUT_DIR\n\n{doc}")
    os.makedirs(sys.argv[1], exist_ok=True)
    return sys.argv[1]


def _one_case_a_line(doc):
    """JSON with every list of records broken into one record a line, so that a diff shows which case changed."""
    parts = []
    for key, value in doc.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            body = ",\n".join(json.dumps(v, separators=(",", ":")) for v in value)
            parts.append(f"{json.dumps(key)}:[\n{body}\n]")
        else:
            parts.append(f"{json.dumps(key)}:{json.dumps(value, separators=(',', ':'))}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def write(path, doc):
    text = _one_case_a_line(doc).encode()
    if path.endswith(".gz"):
        text = gzip.compress(text, 9, mtime=0)
    with open(path, "wb") as f:
        f.write(text)
    print(f"{path}: {len(text)} bytes")
