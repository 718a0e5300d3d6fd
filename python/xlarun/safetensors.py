"""Reads safetensors files: https://github.com/huggingface/safetensors#format."""
import json
import os

import numpy as np

DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1",
          "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1", "BOOL": "?"}


def read(path):
    """Returns the arrays by name and the metadata. BF16 arrays become float32. ValueError if the file is damaged."""
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
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise ValueError(f"{path} is no safetensors file: its metadata are no texts")
    arrays = {name: _array(path, name, entry, data) for name, entry in header.items()}
    if "digest" in metadata:  # other programs write none
        found = digest(header, metadata, data)
        if found != metadata["digest"]:
            raise ValueError(f"{path} is damaged: its digest is {found}, the file says {metadata['digest']!r}; "
                             "take it from a copy")
    return arrays, metadata


# The names of dtypes in a digest are those of Go, up to the number of bits.
_GO_NAMES = {"F": "Float", "I": "Int", "U": "Uint", "B": "BFloat"}


def digest(header, metadata, data):
    """The digest of a file whose header's arrays lie in data: see graph/safetensors/digest.go."""
    parts = []

    def text(s):
        parts.extend([len(s.encode()).to_bytes(8, "little"), s.encode()])

    for key in sorted(metadata):
        if key != "digest":
            text(key)
            text(metadata[key])
    for name in sorted(header):
        entry = header[name]
        text(name)
        text("Bool" if entry["dtype"] == "BOOL" else _GO_NAMES[entry["dtype"][0]] + entry["dtype"].lstrip("BFIU"))
        parts.extend(n.to_bytes(8, "little", signed=True) for n in [len(entry["shape"]), *entry["shape"]])
        parts.append(data[slice(*entry["data_offsets"])])
    return f"crc32c:{crc32c(b''.join(parts)):08x}"


def crc32c(data):
    """The CRC-32C (Castagnoli) of bytes, two at a time."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = (table >> 1) ^ np.where(table & 1, np.uint32(0x82F63B78), np.uint32(0))
    words = np.arange(65536, dtype=np.uint32)
    for _ in range(2):
        words = table[words & 255] ^ (words >> 8)
    words, crc, even = words.tolist(), 0xFFFFFFFF, len(data) // 2 * 2
    for word in np.frombuffer(data[:even], "<u2").tolist():
        crc = words[(crc ^ word) & 0xFFFF] ^ (crc >> 16)
    for byte in data[even:]:
        crc = int(table[(crc ^ byte) & 255]) ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


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
