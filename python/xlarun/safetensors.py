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
        if not isinstance(header, dict):
            raise ValueError(f"{path} is no safetensors file: its header is no JSON object")
        data = file.read()
    metadata = header.pop("__metadata__", {})
    return {name: _array(path, name, entry, data) for name, entry in header.items()}, metadata


def _array(path, name, entry, data):
    try:
        (begin, end), shape, dtype = entry["data_offsets"], entry["shape"], entry["dtype"]
        raw = data[begin:end]
        whole = 0 <= begin <= end
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"{path}: the header of array {name} lacks its dtype, shape or data_offsets") from None
    if not whole or len(raw) != end - begin:
        raise ValueError(f"{path} is cut: its array {name} ends at byte {end} of {len(data)}")
    if dtype != "BF16" and dtype not in DTYPES:
        raise ValueError(f"{path}: array {name} has the dtype {dtype}, want one of BF16, {', '.join(DTYPES)}")
    try:
        if dtype == "BF16":
            high = np.frombuffer(raw, "<u2").astype(np.uint32) << 16
            return high.view(np.float32).reshape(shape)
        return np.frombuffer(raw, DTYPES[dtype]).reshape(shape)
    except (TypeError, ValueError):
        raise ValueError(f"{path}: array {name} of shape {shape} and dtype {dtype} has {len(raw)} bytes") from None
