"""Where the program xlarun is, and its commands that end soon."""
from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
from typing import Any


class Error(Exception):
    """What the program said, or would say. status is its exit status, 2 for wrong input, and code one of the codes in
    docs/reference/exit-codes.md."""

    def __init__(self, message: str, status: int = 1, code: str | None = None):
        super().__init__(message)
        self.status, self.code = status, code or ("bad_input" if status == 2 else "failed")


@functools.lru_cache(maxsize=None)
def _beside() -> str | None:
    """The program that the package was installed with."""
    import importlib.metadata  # it takes as long as all of this package
    for distribution in importlib.metadata.distributions(name="xlarun"):
        for file in distribution.files or []:
            if file.name == "xlarun":  # ../../../bin/xlarun
                return str(file.locate())
    return None


def program() -> str:
    """The path of the program: the variable XLARUN, such as for one with environments of your own; else the one beside
    the package, or on PATH."""
    path = os.environ.get("XLARUN")
    executable = shutil.which(path) if path else _beside() or shutil.which("xlarun")
    if not executable:
        raise Error(f"XLARUN is {path}, which is no program: give the path of one" if path else
                    "the program xlarun is neither beside the package nor on PATH: install the wheel that python/wheel "
                    "of a checkout makes, or set XLARUN to its path", 2, "not_installed")
    return executable


def failure(status: int, last: str, stderr: str) -> Error:
    """The error of a program that ended with a status, from its last line of stdout and its stderr."""
    try:
        record: dict[str, Any] = json.loads(last)
        return Error(record["message"], status, record["error"])
    except (ValueError, KeyError, TypeError):
        text = " ".join(stderr.split())
        if status < 0:
            text = f"xlarun was ended by signal {-status}" + (f": {text[-500:]}" if text else "")
        return Error(text[-2000:] or f"xlarun ended with status {status}", status, "failed")


def command(*args: str) -> str:
    """Runs a command and returns its stdout."""
    done = subprocess.run([program(), *args], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        lines = done.stdout.splitlines()
        raise failure(done.returncode, lines[-1] if lines else "", done.stderr)
    return done.stdout
