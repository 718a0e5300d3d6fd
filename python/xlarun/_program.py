"""Where the program xlarun is, and its commands that end soon."""
from __future__ import annotations

import functools
import importlib.metadata
import json
import os
import shutil
import subprocess
from typing import Any


class Error(Exception):
    """What the program said. code is one of docs/reference/exit-codes.md, status its exit status."""

    def __init__(self, message: str, code: str = "failed", status: int = 1):
        super().__init__(message)
        self.code, self.status = code, status


@functools.lru_cache(maxsize=None)
def _beside() -> str | None:
    """The program that the package was installed with."""
    for distribution in importlib.metadata.distributions(name="xlarun"):
        for file in distribution.files or []:
            if file.name == "xlarun":  # ../../../bin/xlarun
                return str(file.locate())
    return None


def program() -> str:
    """The path of the program: beside the package, the variable XLARUN, or on PATH."""
    found = _beside() or shutil.which(os.environ.get("XLARUN") or "xlarun")
    if not found:
        given = os.environ.get("XLARUN")
        raise Error(f"XLARUN is {given}, which is no program: give its path" if given else
                    "the program xlarun is neither in the package nor on PATH: install the wheel, or set XLARUN to its "
                    "path", "not_installed")
    return found


def failure(status: int, last: str, stderr: str) -> Error:
    """The error of a program that ended with a status, from its last line of stdout and its stderr."""
    try:
        said: dict[str, Any] = json.loads(last)
        return Error(said["message"], said["error"], status)
    except (ValueError, KeyError, TypeError):
        text = " ".join(stderr.split())
        if status < 0:
            text = f"xlarun was ended by signal {-status}" + (f": {text[-500:]}" if text else "")
        return Error(text[-2000:] or f"xlarun ended with status {status}", "failed", status)


def command(*args: str) -> str:
    """Runs a command and returns its stdout."""
    done = subprocess.run([program(), *args], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        lines = done.stdout.splitlines()
        raise failure(done.returncode, lines[-1] if lines else "", done.stderr)
    return done.stdout
