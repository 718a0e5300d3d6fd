"""ONNX models of members in onnxruntime, for cmd/xlarun/play/onnx: OUTPUT_DIR/verified.json.

Needs the packages onnx and onnxruntime, and the program xlarun on PATH. `xlarun export` writes a model of each member of
rollout/episode/testdata. Its outputs, actions and states are compared with those of member_act.json (1e-4), one by one and as a
batch. {"versions", "models": [{"file", "sha256", "error"}]}: the digest of a model that agrees, and its largest difference.
"""
import base64
import hashlib
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

import common

MEMBERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "rollout", "episode", "testdata")


def decode(x):
    return np.frombuffer(base64.b64decode(x["data"]), x["dtype"]).reshape(x["shape"])


def verify(path, case):
    onnx.checker.check_model(onnx.load(path), full_check=True)
    session = onnxruntime.InferenceSession(path)
    dtypes = {"tensor(float)": np.float32, "tensor(int64)": np.int64}
    states = {i.name: np.zeros([1] + i.shape[1:], dtypes[i.type]) for i in session.get_inputs() if i.name != "observation"}
    names = [o.name for o in session.get_outputs()]
    error = 0.0
    observations, outputs, actions = (decode(case[key]) for key in ("observations", "outputs", "actions"))
    for observation, output, action in zip(observations, outputs, actions):
        got = dict(zip(names, session.run(None, {"observation": observation[None], **states})))
        error = max(error, np.abs(got["outputs"][0] - output).max(), np.abs(got["action"][0] - action).max())
        states = {name: got["next_" + name] for name in states}
    if not states:  # a batch of them
        got = dict(zip(names, session.run(None, {"observation": observations})))
        error = max(error, np.abs(got["outputs"] - outputs).max(), np.abs(got["action"] - actions).max())
    if not error < 1e-4:
        sys.exit(f"{path}: the outputs differ by {error}")
    return float(error)


def main():
    folder, models = common.out_dir(__doc__), []
    with open(os.path.join(MEMBERS, "member_act.json")) as file:
        cases = json.load(file)["members"]
    with tempfile.TemporaryDirectory() as temporary:
        for case in cases:
            if case["file"].startswith(("nir", "spiking", "genome", "vector")):
                continue  # ONNX has no operators for them
            path = os.path.join(temporary, case["file"].replace(".safetensors", ".onnx"))
            subprocess.run(["xlarun", "export", os.path.join(MEMBERS, case["file"]), "--out", path], check=True, stdout=subprocess.DEVNULL)
            error = verify(path, case)
            with open(path, "rb") as file:
                models.append({"file": case["file"], "sha256": hashlib.sha256(file.read()).hexdigest(), "error": error})
    common.write(os.path.join(folder, "verified.json"), {"versions": common.versions_of("onnx", "onnxruntime", "numpy"), "models": models})


if __name__ == "__main__":
    main()
