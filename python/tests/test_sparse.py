"""Sparse members label pictures as the Go program does; see rollout/sparse/python_test.go."""
import gzip
import pathlib

import numpy as np
import pytest

import xlarun

DATA = pathlib.Path(__file__).parent / "testdata" / "sparse"
PICTURES = xlarun.read_idx(DATA / "t10k-images-idx3-ubyte")
LABELS = xlarun.read_idx(DATA / "t10k-labels-idx1-ubyte")


@pytest.mark.parametrize("name", ["f32", "bf16"])
def test_accuracy(name):
    """The accuracy on the test pictures is what the run reported."""
    member = xlarun.load(DATA / f"{name}.safetensors")
    assert member.accuracy(PICTURES, LABELS) == float(member.metadata["test_accuracy"])
    assert member.outputs(PICTURES).shape == (len(PICTURES), 18)
    np.testing.assert_array_equal(member.labels(PICTURES[:3].reshape(3, -1)), member.labels(PICTURES)[:3])
    with pytest.raises(ValueError, match="the pictures have 18 pixels, want 324: give pictures, not one of them"):
        member.labels(PICTURES[0])


def test_connections():
    """A layer reads its inputs in pieces, as docs/reference/member-file.md says."""
    member = xlarun.load(DATA / "f32.safetensors")
    at, w = member.arrays["0.at"], member.arrays["0.w"]
    width, outputs = 162, 20
    for place, weight in list(zip(at, w))[::50]:
        assert member.layers[0][place // (width * outputs) * width + place % width, place // width % outputs] == weight
    assert np.count_nonzero(member.layers[0]) == np.count_nonzero(w)


def test_idx_files(tmp_path):
    path = tmp_path / "labels.gz"
    path.write_bytes(gzip.compress((DATA / "t10k-labels-idx1-ubyte").read_bytes()))
    np.testing.assert_array_equal(xlarun.read_idx(path), LABELS)
    path.write_bytes(b"P5 18 18")
    with pytest.raises(ValueError, match="is no IDX file"):
        xlarun.read_idx(path)
