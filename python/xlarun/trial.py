"""The program that a trial of a study in Python is (study.py): trial.py OBJECTIVE PATH PARAMS VALUES WANTED SOCKET.

PATH is that of modules, WANTED how many numbers the objective returns. At the socket, if there is one, a process
listens that has imported the objective (trial.py OBJECTIVE PATH SOCKET). A trial is a fork of it, in the process group
of the trial's program, which waits for it. Without that process the program runs the objective.
"""
import os
import sys

if sys.path[0] == os.path.dirname(os.path.realpath(__file__)):
    del sys.path[0]  # the package's files are no modules of their own


def objective_of(where, path):
    """The function at a place that study.place returns."""
    sys.path[:] = path.split(os.pathsep)  # of this process alone: the objective may start another Python
    import importlib
    import runpy
    if where.endswith(".pkl"):
        import pickle
        with open(where, "rb") as f:
            return pickle.load(f)
    module, _, name = where.rpartition(":")
    first, *rest = name.split(".")
    if module.endswith(".py"):  # as multiprocessing does it: what stands under `if __name__ == "__main__":` is not run
        found = runpy.run_path(module, run_name="__mp_main__")[first]
    else:
        found = getattr(importlib.import_module(module), first)
    for part in rest:
        found = getattr(found, part)
    return found


def evaluate(objective, params, values, wanted):
    """Calls the objective, and writes its value, or as many as are wanted."""
    import inspect
    import json
    import traceback
    with open(params) as f:
        arguments = json.load(f)
    if "seed" in inspect.signature(objective).parameters and "seed" not in arguments:
        arguments["seed"] = int(os.environ["XLARUN_SEED"])
    try:
        got = objective(**arguments)
    except Exception as e:
        if "\n" not in str(e):
            raise
        traceback.print_exc()
        sys.exit(f"{type(e).__name__}: {' '.join(str(e).split())}")  # the last line is the reason of the failure
    results = list(got) if isinstance(got, (tuple, list)) else [got]
    try:
        numbers = [float("nan" if isinstance(x, (str, bytes, bytearray)) else x) for x in results]
    except OverflowError:
        sys.exit("the objective returned a whole number that no float holds, want a number up to 1.8e308")
    except (TypeError, ValueError):
        numbers = [float("nan")]
    if any(x != x for x in numbers):
        sys.exit(f"the objective returned {got!r}, want a number, or a tuple of one for each direction")
    if len(numbers) != wanted:
        sys.exit(f"the objective returned {len(numbers)} number{'s' * (len(numbers) != 1)}, want {wanted}: "
                 "give a direction for each, direction=[...]")
    line = {"value" if wanted == 1 else f"value_{i}": x for i, x in enumerate(numbers)}
    with open(values, "a") as f:
        print(json.dumps(line), file=f)


def serve(where, path, at):
    """Forks a process for each trial, until stdin closes."""
    import gc
    import inspect  # noqa: F401  before the fork: not in each trial
    import json  # noqa: F401
    import select
    import shutil
    import socket
    import traceback  # noqa: F401
    ready = os.dup(1)
    os.dup2(2, 1)  # nobody reads what the objective's file prints when it is imported
    with socket.socket(socket.AF_UNIX) as s:
        try:
            objective = objective_of(where, path)
            gc.freeze()  # forks share more pages
            s.bind(at)
            s.listen(128)
        finally:
            os.write(ready, b"+")  # what the import has forked may keep the pipe open
        trials = set()
        while s in select.select([s, 0], [], [])[0]:
            c = s.accept()[0]
            pid = os.fork()
            if pid == 0:
                status = 1
                try:
                    s.close()
                    status = answer(c, objective)
                finally:  # also if the program of the trial has been killed: nothing of this process is the fork's
                    os._exit(status)
            c.close()
            trials.add(pid)
            trials -= {pid for pid in trials if has_ended(pid)}
    shutil.rmtree(os.path.dirname(at), ignore_errors=True)


def has_ended(pid):
    """Whether a child has ended. Those of the objective's module are its own."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return True


def answer(c, objective):
    """Runs the trial of a program, in a fork. It returns the status."""
    import socket
    import traceback
    _, files, _, _ = socket.recv_fds(c, 1, 2)
    data = b"".join(iter(lambda: c.recv(1 << 16), b""))
    group, folder, params, values, wanted, *variables = os.fsdecode(data).split("\0")
    os.setpgid(0, int(group))  # what ends the program ends this process
    for at, file in enumerate([os.open(os.devnull, os.O_RDONLY), *files]):
        os.dup2(file, at)
        os.close(file)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(v.split("=", 1) for v in variables)
    sys.stdout.reconfigure(line_buffering=True)
    c.send(b"+")
    status = 1
    try:
        evaluate(objective, params, values, int(wanted))
        status = 0
    except SystemExit as e:
        if isinstance(e.code, int) or e.code is None:
            status = e.code or 0
        else:
            print(e.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    c.send(bytes([status & 255]))
    return status & 255


def ask(at, params, values, wanted):
    """Lets the process at a socket run the trial, and ends with its status. It returns if there is no such process."""
    import _signal  # signal and socket take as long to import as Python to start
    import _socket
    s = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        s.connect(at)
    except OSError:
        return
    files = b"".join(file.to_bytes(4, sys.byteorder) for file in (1, 2))
    s.sendmsg([b"-"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, files)])
    words = [str(os.getpgrp()), os.getcwd(), params, values, wanted, *(f"{k}={v}" for k, v in os.environ.items())]
    s.sendall(os.fsencode("\0".join(words)))
    s.shutdown(_socket.SHUT_WR)
    if not s.recv(1):
        return
    _signal.signal(_signal.SIGTERM, _signal.SIG_IGN)  # the objective may end in order
    status = s.recv(1)
    sys.exit(status[0] if status else "the process of the objective was killed, or has crashed")


if __name__ == "__main__":
    if len(sys.argv) == 4:
        serve(*sys.argv[1:])
    else:
        where, path, params, values, wanted, at = sys.argv[1:]
        if at:
            ask(at, params, values, wanted)
        if sys.flags.isolated:
            os.execv(sys.executable, [sys.executable, *sys.argv])
        sys.argv[1:] = []
        evaluate(objective_of(where, path), params, values, int(wanted))
