"""Where the program is, and its errors."""
import os
import pathlib
import shutil
import sys
import sysconfig


class Error(Exception):
    """What the program refuses or failed at, in its own sentence. code is its exit status: 2 for wrong input."""

    def __init__(self, sentence, code=1):
        super().__init__(sentence)
        self.code = code


def program():
    """The path of the program: $XLARUN, the one that was installed with this package, or the one on PATH."""
    given = os.environ.get("XLARUN")
    if given:
        return given
    scripts = [pathlib.Path(sysconfig.get_path("scripts")), pathlib.Path(sys.executable).parent]
    for path in [folder / "xlarun" for folder in scripts]:
        if os.access(path, os.X_OK) and path.is_file():
            return str(path)
    path = shutil.which("xlarun")
    if path is None:
        raise Error("the program xlarun is not here: install the wheel, or name the program by XLARUN=PATH", 2)
    return path
