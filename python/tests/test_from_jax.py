"""Functions of JAX as environments and objectives of the program."""
import json
import os
import pathlib
import runpy
import shutil
import subprocess
import sys
import types

import pytest

import xlarun

jax = pytest.importorskip("jax")
EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "jax" / "jax_env.py"
PROGRAM = os.environ.get("XLARUN") or shutil.which("xlarun")


def test_environment(tmp_path, monkeypatch):
    """The files are those of the example, which tests in Go play beside JAX."""
    want, got = tmp_path / "want", tmp_path / "a folder" / "got"
    want.mkdir()
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE), str(want)])
    functions = runpy.run_path(str(EXAMPLE))
    env = types.SimpleNamespace(reset=functions["reset"], step=functions["step"])
    name = xlarun.from_jax(env, got, {"n": 3}, {"low": 0, "high": 1}, max_steps=10, threshold=0.8)
    assert name == f"program:{got}"
    assert json.loads((got / "env.json").read_text()) == json.loads((want / "env.json").read_text())
    for file in ("reset.mlir", "step.mlir"):
        assert (got / file).read_text() == (want / file).read_text()


@pytest.mark.skipif(not PROGRAM, reason="the program xlarun is not here")
def test_objective(tmp_path):
    """The program finds the maximum of a function."""
    def hill(x):
        return -((x - jax.numpy.arange(3)) ** 2).sum()

    name = xlarun.from_jax(hill, tmp_path / "hill", {"low": None, "high": None, "shape": [3]}, threshold=-1e-3)
    run = [PROGRAM, "evolve", name, "--policy", "vector", "--strategy", "cmaes", "--pop", "16", "--generations", "100",
           "--out", str(tmp_path / "run")]
    subprocess.run(run, check=True, timeout=120, stdout=subprocess.DEVNULL)
    best = tmp_path / "best.safetensors"
    subprocess.run([PROGRAM, "export", str(tmp_path / "run"), "--out", str(best)], check=True, stdout=subprocess.DEVNULL)
    assert xlarun.load(best).act([0])[0] == pytest.approx([0, 1, 2], abs=0.1)


@pytest.mark.parametrize("action, shape", [
    ({"low": [-1, -1], "high": 1}, "tensor<2xf32>"),
    ({"low": 0, "high": 1, "shape": [2, 3]}, "tensor<2x3xf32>"),
    ({"nvec": [3, 2, 2]}, "tensor<3xi32>"),
])
def test_actions(tmp_path, action, shape):
    xlarun.from_jax(lambda x: x.sum(), tmp_path, action)
    assert f"%arg1: {shape}" in (tmp_path / "step.mlir").read_text()


def test_bad_action(tmp_path):
    with pytest.raises(ValueError, match="action got {'low': 0}, want"):
        xlarun.from_jax(lambda x: x.sum(), tmp_path / "none", {"low": 0})
    assert not (tmp_path / "none").exists()
