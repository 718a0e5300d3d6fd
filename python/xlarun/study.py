"""Studies of a Python function: each trial is a process of its own."""
from __future__ import annotations

import ast
import contextlib
import inspect
import json
import math
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .program import Error, command, failure, program


class Study:
    """A study of hyper-parameters, in the folder runs/study-NAME.

    params has for each parameter (low, high), of whole numbers or not, a list of choices, or a dict with the keys of
    docs/how-to/studies.md: {"low": 1e-5, "high": 0.1, "log": True}. direction is "minimize" or "maximize", or a list
    of them where the objective returns several numbers. settings are further keys of that page, such as sampler,
    pruner, seeds and window.
    """

    def __init__(self, name: str, params: Mapping[str, Any], direction: str | Sequence[str] = "minimize",
                 **settings: Any):
        self.name, self.folder = name, pathlib.Path("runs", f"study-{name}")
        directions = [direction] if isinstance(direction, str) else list(direction)
        self._directions, self._single = len(directions), len(directions) == 1
        self._file = self.folder / "study.toml"
        self.storage = str(settings.setdefault("storage", f"sqlite:///{self.folder / 'study.db'}"))  # Optuna opens it
        self._head = {"name": name, "kind": "exec", "direction": ",".join(directions), "metric": "value"
                      if self._single else ",".join(f"value_{i}" for i in range(len(directions))),
                      **{key.replace("_", "-"): value for key, value in settings.items()}}
        self._params = [_parameter(name, spec) for name, spec in params.items()]

    def optimize(self, objective: Callable[..., Any], n_trials: int = 100, n_jobs: int = -1, quiet: bool = False,
                 fork: bool = False, **settings: Any) -> dict[str, Any] | list[dict[str, Any]]:
        """Runs trials until there are n_trials, n_jobs at a time (-1: as many as there are cores), and returns `best`.

        objective gets the parameters as keyword arguments, `seed` if it has such a one, and returns a number. Each call
        is a process that imports it, so its script wants `if __name__ == "__main__":` around this call. With fork they
        are forks of one process that has imported it, which is faster: all begin with the same state of random
        generators, so seed them in the objective, and the import may use neither threads nor a GPU. settings are those
        of the execution: timeout, attempts, lease, stall. The same call continues a study. It prints the trials, if not
        quiet. An exception of the objective fails its trial.
        """
        if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)):
            raise Error(f"n_jobs got {n_jobs!r}, wants a whole number, -1 for as many as there are cores", 2)
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="xlarun-") as near:  # nobody else reads it; a socket wants a short path
            self._run(pathlib.Path(near), place(objective, pathlib.Path(near)), fork, quiet,
                      {"trials": n_trials, **({"workers": n_jobs} if n_jobs > 0 else {}), **settings})
        return self.best

    def _run(self, near: pathlib.Path, where: str, fork: bool, quiet: bool, settings: dict[str, Any]) -> None:
        """Runs the study of the objective at a place. A folder near has its file until the program takes the settings:
        those that it refuses must not replace the study's own."""
        config, at = near / "study.toml", str(near / "socket") if fork else ""
        trial = str(pathlib.Path(__file__).with_name("trial.py").resolve())
        path = os.pathsep.join(dict.fromkeys(os.path.abspath(p) for p in sys.path))
        words = [sys.executable, *(["-IS"] if at else []), trial, where, path, "{params}", "{values}",
                 str(self._directions), at]
        head = {**self._head, "command": words, **{key.replace("_", "-"): value for key, value in settings.items()}}
        lines = [f"{key} = {_toml(value)}" for key, value in head.items() if value is not None]
        for p in self._params:
            lines += ["", "[[param]]", *(f"{key} = {_toml(value)}" for key, value in p.items())]
        config.write_text("\n".join(lines) + "\n", encoding="utf-8")
        threads = {"OMP_NUM_THREADS": str(self._head.get("threads", 1)), **os.environ}
        last, own = "", {"env": threads, "preexec_fn": os.setpgrp}  # the same session, and no Ctrl-C
        with tempfile.TemporaryFile("w+", encoding="utf-8") as stderr, contextlib.ExitStack() as ends:
            if at:
                server = subprocess.Popen([sys.executable, trial, where, path, at], stdin=subprocess.PIPE,
                                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **own)
                ends.enter_context(server)  # it ends when its stdin is closed
                server.stdout.read(1)  # it has imported the objective, or has failed, as trials will say
            running = ends.enter_context(subprocess.Popen(
                [program(), "study", "run", str(config), "--json"], stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=stderr, text=True, encoding="utf-8",
                **{**own, "env": {**threads, "XLARUN_WORKER_PARENT": str(os.getpid())}}))
            try:
                for last in running.stdout:
                    if last.startswith(f"study {self.name}: "):  # it is open
                        shutil.copyfile(config, self._file)
                    if not quiet and not last.startswith("{"):
                        print(last, end="", flush=True)
                running.wait()
            except KeyboardInterrupt:  # it ends in order, and the same call continues
                running.send_signal(signal.SIGINT)
                raise
            if running.returncode:
                stderr.seek(0)
                raise failure(running.returncode, *(text.replace(f"{config}: ", "") for text in (last, stderr.read())))

    @property
    def trials(self) -> list[dict[str, Any]]:
        """All trials: number, state, values, params, and the reason of a failure."""
        out = self.folder / "trials.jsonl"
        command("study", "export", self.storage.removeprefix("sqlite:///"), "--study", self.name, "--out", str(out))
        return [_numbers(json.loads(line)) for line in out.read_text(encoding="utf-8").splitlines()]

    @property
    def best(self) -> dict[str, Any] | list[dict[str, Any]]:
        """The best trial; of several objectives, the trials that no other is better than."""
        out = command("study", "best", self.storage.removeprefix("sqlite:///"), "--study", self.name, "--json")
        trials = [_numbers(trial) for trial in json.loads(out.splitlines()[-1])["trials"]]
        return trials[0] if self._single else trials


def report(value: float, step: int) -> None:
    """Gives the pruner the objective's value at a step. Called in an objective; elsewhere it prints the values."""
    try:
        whole = step >= 0 and float(step).is_integer()
    except (TypeError, ValueError):
        whole = False
    if not whole:
        raise Error(f"report got the step {step!r}, wants a whole number from 0 on: report(value, step)", 2)
    try:
        line = json.dumps({"step": int(step), "value": float(value)})
    except (TypeError, ValueError):
        raise Error(f"report got the value {value!r}, wants a number: report(value, step)", 2) from None
    if "XLARUN_VALUES" not in os.environ:
        print(line)
        return
    with open(os.environ["XLARUN_VALUES"], "a") as f:
        print(line, file=f)


def place(objective: Callable[..., Any], folder: pathlib.Path) -> str:
    """Where trial.py finds a function: MODULE:NAME, FILE.py:NAME, or a file in the folder that cloudpickle wrote."""
    module, name = getattr(objective, "__module__", None), getattr(objective, "__qualname__", "<>")
    if "<" not in name and not (inspect.ismethod(objective) and not inspect.isclass(objective.__self__)):
        main = sys.modules["__main__"]
        file, spec = getattr(main, "__file__", None), getattr(main, "__spec__", None)
        if module not in (None, "__main__"):
            return f"{module}:{name}"
        if module == "__main__" and file and os.path.isfile(file) and inspect.getsourcefile(objective) == file:
            _guarded(main)
            return f"{spec.name if spec else os.path.abspath(file)}:{name}"  # the name: of python -m
    try:
        import cloudpickle
    except ImportError:
        raise Error(f"the objective {name} is no function at the top of a file, so other processes cannot import it: "
                    "write it into a module, or install cloudpickle", 2) from None
    file = folder / "objective.pkl"
    file.write_bytes(cloudpickle.dumps(objective))
    return str(file.resolve())


def _guarded(main: Any) -> None:
    """Raises an error if each process that imports the main script would run the study again."""
    frame: Any = sys._getframe()
    while frame and not (frame.f_code.co_name == "<module>" and frame.f_globals is vars(main)):
        frame = frame.f_back
    if frame is None:
        return
    source = pathlib.Path(main.__file__).read_bytes()
    for part in ast.parse(source).body:
        if part.lineno <= frame.f_lineno <= (part.end_lineno or 0) and not (
                isinstance(part, ast.If) and "__name__" in ast.unparse(part.test)):
            raise Error(f"line {frame.f_lineno} of {main.__file__} runs the study: each trial imports this file, so "
                        'put the line under if __name__ == "__main__":', 2)


def _parameter(name: str, spec: Any) -> dict[str, Any]:
    """A parameter as a table of a study's file."""
    if isinstance(spec, list):
        spec = {"choices": spec}
    if isinstance(spec, tuple) and len(spec) == 2:
        spec = {"low": spec[0], "high": spec[1]}
    if not isinstance(spec, Mapping):
        raise Error(f"the parameter {name} got {spec!r}, wants (low, high), a list of choices, or a dict such as "
                    "{'low': 1e-5, 'high': 0.1, 'log': True}", 2)
    spec = {key: _plain(value) for key, value in spec.items()}
    wrong = [x for x in spec.get("choices", []) if not (isinstance(x, str) or _finite(x))]
    if wrong:
        raise Error(f"the parameter {name} got the choice {wrong[0]!r}, wants texts, finite numbers, True or False: "
                    "name it, such as 'none', and let the objective look it up", 2)
    for key in {"low", "high", "step"}.intersection(spec):
        if not _finite(spec[key]):
            raise Error(f"the parameter {name} got {key} {spec[key]!r}, wants a finite number", 2)
    bounds = [spec.get("low"), spec.get("high")]
    kind = "categorical" if "choices" in spec else "int" if all(isinstance(x, int) for x in bounds) else "float"
    if kind == "int" and not float(spec.get("step", 1)).is_integer():
        raise Error(f"the parameter {name} got step {spec['step']!r} of whole numbers from {bounds[0]} to {bounds[1]}, "
                    f"wants a whole step: write {float(bounds[0])} for a float", 2)
    return {"name": name, "type": kind, **spec}


def _toml(value: Any) -> str:
    """A value in TOML."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(k)} = {_toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(_plain(value), ensure_ascii=False)


def _plain(value: Any) -> Any:
    """A value whose numbers are Python's, not NumPy's."""
    if isinstance(value, (list, tuple)):
        return [_plain(x) for x in value]
    return value.item() if isinstance(value, np.generic) else value


def _finite(value: Any) -> bool:
    """Whether a value is a finite number. True and False are."""
    return isinstance(value, (int, float)) and -math.inf < value < math.inf


def _numbers(trial: dict[str, Any]) -> dict[str, Any]:
    """A trial with floats for what JSON has as null, "+inf" and "-inf"."""
    def number(x):
        return math.nan if x is None else float(x) if isinstance(x, str) else x
    return {**trial, "values": [number(x) for x in trial["values"]],
            "intermediate": [[step, number(x)] for step, x in trial["intermediate"]]}
