"""A sparse network of pictures, and its accuracy."""
from __future__ import annotations

import gzip
import json
import os
import pathlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


class SparseMember:
    """Labels pictures. metadata and arrays are those of the file; layers are the dense matrices, [inputs, outputs]."""

    def __init__(self, arrays: dict[str, NDArray[Any]], metadata: dict[str, str]):
        self.arrays, self.metadata = arrays, metadata
        units = json.loads(metadata["layers"])
        self.rounded = bfloat16 if metadata["dtype"] == "bf16" else lambda x: x
        self.layers = []
        for i, (inputs, outputs) in enumerate(zip(units, units[1:])):
            at, w = arrays[f"{i}.at"], np.zeros((inputs, outputs), np.float32)
            width = piece(inputs)
            w[at // (width * outputs) * width + at % width, at // width % outputs] = self.rounded(arrays[f"{i}.w"])
            self.layers.append(w)

    def outputs(self, pictures: ArrayLike) -> NDArray[np.float32]:
        """The logits, [n, classes], of pictures whose pixels are 0 to 255: [n, pixels] or [n, height, width]."""
        x = np.asarray(pictures)
        x = x.reshape(len(x), -1).astype(np.float32)
        if x.shape[1] != len(self.layers[0]):
            raise ValueError(f"the pictures have {x.shape[1]} pixels, want {len(self.layers[0])}: give pictures, "
                             "not one of them")
        x = x * np.float32(1 / 255)
        for i, w in enumerate(self.layers):
            x = self.rounded(np.maximum(x, 0) if i else x) @ w
        return x if self.metadata["method"] == "kernel" else self.rounded(x)

    def labels(self, pictures: ArrayLike) -> NDArray[np.intp]:
        """The labels of pictures, [n]."""
        return self.outputs(pictures).argmax(1)

    def accuracy(self, pictures: ArrayLike, labels: ArrayLike) -> float:
        """The part of the pictures whose label is found."""
        return float((self.labels(pictures) == np.asarray(labels)).mean())


def piece(inputs):
    """The width of the pieces in which a layer reads its inputs: equal ones of at most 256."""
    pieces = -(-inputs // 256)
    while inputs % pieces:
        pieces += 1
    return inputs // pieces


def bfloat16(x):
    """x rounded to the nearest bfloat16, ties to even."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)).view(np.float32)


def read_idx(path: str | os.PathLike[str]) -> NDArray[np.uint8]:
    """The array of an IDX file, the format of MNIST's pictures and labels, with or without gzip."""
    data = pathlib.Path(path).read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    if len(data) < 4 or data[:3] != b"\0\0\x08":
        raise ValueError(f"{path} is no IDX file of bytes")
    dims = np.frombuffer(data, ">u4", data[3], 4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(dims)
