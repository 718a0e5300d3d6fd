"""The Python of the documents runs. Of the runs that it starts the settings are checked."""
import base64
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from test_runs import solved  # noqa: F401: a fixture

import xlarun
from xlarun.program import command, program

ROOT, DATA = pathlib.Path(__file__).parents[2], pathlib.Path(__file__).with_name("testdata")
MISSING = "/no/such/plugin.so"


def blocks():
    """Those of xlarun, except those of docs/how-to/python.md, which .ci/newcomer runs, and those that want a program of
    the reader's."""
    for path in sorted([ROOT / "README.md", *ROOT.glob("docs/[!n]*/*.md")]):
        texts = re.findall("```python\n(.*?)```", path.read_text(encoding="utf-8"), re.S)
        for i, block in enumerate(texts if path.name != "python.md" else []):
            if "xlarun." in block and '"XLARUN"' not in block:
                yield pytest.param(block, id=f"{path.stem}-{i}")


@pytest.mark.parametrize("block", [*blocks()])
def test_document(block, solved, tmp_path, monkeypatch):  # noqa: F811
    if "exec:" in block or "gymnasium" in block:
        pytest.importorskip("gymnasium")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable), prepend=os.pathsep)
    command("export", str(solved.folder), "--out", "champion.safetensors")
    shutil.copy(DATA / "selfplay/tictactoe.safetensors", "network.safetensors")
    shutil.copy(DATA / "sparse/f32.safetensors", "sparse.safetensors")
    for file in DATA.glob("sparse/*ubyte"):
        shutil.copy(file, ".")
    pathlib.Path("examples").symlink_to(ROOT / "examples")
    pathlib.Path("token").write_text("t" * 32)
    pathlib.Path("token").chmod(0o600)
    policies = (ROOT / "rollout/policy/testdata/jax_policies.json.gz").read_bytes()
    policy = json.loads(gzip.decompress(policies))["cases"][0]
    pathlib.Path("net.mlir").write_text(policy["text"])
    pathlib.Path("net.safetensors").write_bytes(base64.b64decode(policy["params"]))
    if "__main__" in block:  # the objective is imported
        pathlib.Path("script.py").write_text("import xlarun\n" + re.sub(r"n_trials=\d+", "n_trials=2", block))
        done = subprocess.run([sys.executable, "script.py"], capture_output=True, text=True)
        assert done.returncode == 0 and "done: 2 trials" in done.stdout, done.stderr
        return

    def check(args):
        """Checks all settings of a run. One that is over stands in for it."""
        server = [arg for arg in args if arg.startswith("--join=")]  # the plugin comes after it
        output = subprocess.run([program(), *args, "--plugin", MISSING] + ["--wait=1s"] * len(server),
                                capture_output=True, text=True).stderr
        stops = ["nats://head:4222 cannot be reached"] if server else [MISSING]
        if args[0] == "sparse":  # before the plugin, and without npm there is none
            stops.append("cannot get the data set mnist")
        assert any(stop in output for stop in stops), output
        for out in (arg[6:] for arg in args if arg.startswith("--out=")):
            shutil.copytree(solved.folder, out)
        return solved
    monkeypatch.setattr("xlarun.run.Run._start", check)
    exec(block, {"xlarun": xlarun})
