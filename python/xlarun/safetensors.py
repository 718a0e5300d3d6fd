"""Reads safetensors files: https://github.com/huggingface/safetensors#format."""
import json
import os

import numpy as np

DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1",
          "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1", "BOOL": "?"}


def read(path):
    """Returns the arrays by name and the metadata. BF16 arrays become float32."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > size - 8:
            raise ValueError(f"{path} is no safetensors file: its header would have {length} of {size} bytes")
        try:
            header = json.loads(file.read(length))
        except ValueError as error:
            raise ValueError(f"{path} is no safetensors file: its header is no JSON ({error})") from None
        data = file.read()
    metadata = header.pop("__metadata__", {})
    return {name: _array(path, name, entry, data) for name, entry in header.items()}, metadata


def _array(path, name, entry, data):
    begin, end = entry["data_offsets"]
    raw, shape = data[begin:end], entry["shape"]
    if len(raw) != end - begin:
        raise ValueError(f"{path} is cut: its array {name} ends at byte {end} of {len(data)}")
    if entry["dtype"] == "BF16":
        high = np.frombuffer(raw, "<u2").astype(np.uint32) << 16
        return high.view(np.float32).reshape(shape)
    if entry["dtype"] not in DTYPES:
        raise ValueError(f"{path}: array {name} has the dtype {entry['dtype']}, want one of {', '.join(DTYPES)}")
    return np.frombuffer(raw, DTYPES[entry["dtype"]]).reshape(shape)
