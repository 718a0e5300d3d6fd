"""Studies of Python functions, with the program where there is one."""
import inspect
import math
import os
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

import xlarun
from xlarun import study
from xlarun.program import Error, program


def has_program():
    try:
        return bool(program())
    except Error:
        return False


needs_program = pytest.mark.skipif(not has_program(), reason="the program xlarun is not here")


def objective(x, how, seed):
    """Ends in the way `how`."""
    for step in range(3):
        xlarun.report(x + 3 - step, step)
    if how == "raise":
        raise ValueError("no such x")
    if how == "long":
        raise ValueError("no " * 1000)
    if how == "lines":
        raise ValueError("no\n" * 10)
    if how == "digits":
        return 10**400
    if how == "number as text":
        return "3"
    if how == "text":
        return "low"
    if how == "two":
        return x, seed
    if how in ("inf", "nan"):
        return float(how)
    if how == "exit":
        sys.exit(7)
    if how == "crash":
        print("before")
        os.kill(os.getpid(), signal.SIGSEGV)
    if how == "hang":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        with open("child", "w") as f:
            f.write(str(child.pid))
        time.sleep(60)
    if how == "noisy":
        print('{"value": 1e9}', flush=True)
        assert os.environ.get("PYTHONPATH", "") == os.environ["PATH_BEFORE"]
        os.write(1, b"\xff\x00")
        subprocess.run([sys.executable, "-c", ""], check=True)
    return x + seed


@needs_program
def test_every_end_of_an_objective(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(os.path.dirname(__file__))
    objective.__module__ = "test_study"
    ways = ["well", "raise", "text", "exit", "crash", "noisy", "two", "inf", "nan", "long", "lines", "digits",
            "number as text"]
    s = xlarun.Study("ends", {"x": (0.0, 1.0), "how": ways}, "minimize", sampler="grid", grid_points=1, seeds=2,
                     window=20)
    monkeypatch.setenv("PATH_BEFORE", os.environ.get("PYTHONPATH", ""))
    best = s.optimize(objective, n_trials=len(ways), n_jobs=4, quiet=True, fork=True)
    trials = {t["params"]["how"]: t for t in s.trials}
    reasons = {how: t["reason"] for how, t in trials.items()}
    assert best["params"]["how"] in ("well", "noisy") and best["values"] == [best["params"]["x"] + 0.5]
    assert set(reasons) == set(ways) and reasons["well"] == reasons["noisy"] == reasons["inf"] == ""
    assert trials["inf"]["values"] == [math.inf] and trials["inf"]["intermediate"][-1][1] == math.inf
    assert trials["noisy"]["values"] == [trials["noisy"]["params"]["x"] + 0.5], "what is printed is no value"
    printed = tmp_path / "runs" / "study-ends" / "trials" / str(trials["crash"]["number"]) / "seed-0" / "stdout"
    assert printed.read_text() == "before\n"
    assert "ValueError: no such x" in reasons["raise"]
    assert "ValueError: no no no" in reasons["long"] and "ValueError: no no no" in reasons["lines"]
    assert "the objective returned a whole number that no float holds, want a number" in reasons["digits"]
    assert "the objective returned '3', want a number" in reasons["number as text"]
    assert "the objective returned 'low', want a number" in reasons["text"]
    assert "the objective returned nan, want a number" in reasons["nan"]
    assert "the objective returned 2 numbers, want 1: give a direction for each, direction=[...]" in reasons["two"]
    assert "exit status 7" in reasons["exit"]
    assert "the process of the objective was killed, or has crashed" in reasons["crash"]
    s = xlarun.Study("hangs", {"x": (0.0, 1.0), "how": ["hang"]}, sampler="random")
    with pytest.raises(Error, match="all 1 trials have failed, the last as it took more than 3s"):
        s.optimize(objective, 1, 1, timeout="3s", quiet=True, fork=True)
    child = (tmp_path / "child").read_text()
    for _ in range(100):
        try:
            if open(f"/proc/{child}/stat").read().split(")")[1].split()[0] == "Z":
                break
        except OSError:
            break
        time.sleep(0.05)
    else:
        pytest.fail("a child of the objective survives its time limit")


@needs_program
def test_without_fork(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(os.path.dirname(__file__))
    s = xlarun.Study("ends", {"x": (0.0, 1.0), "how": ["well", "crash"]}, sampler="grid", grid_points=1)
    best = s.optimize(objective, n_trials=2, n_jobs=2, quiet=True)
    assert best["params"]["how"] == "well" and best["values"] == [best["params"]["x"]]
    assert "segmentation" in next(t["reason"] for t in s.trials if t["state"] == "FAIL")


@needs_program
def test_a_script_continues(tmp_path):
    (tmp_path / "script.py").write_text(inspect.cleandoc("""
        import xlarun

        def objective(x, n, kind):
            return (x - 1) ** 2, n

        if __name__ == "__main__":
            s = xlarun.Study("two", {"x": {"low": 0.5, "high": 2.0, "log": True}, "n": (1, 3), "kind": ["a", "b"]},
                             ["minimize", "maximize"], sampler="random")
            print(len(s.optimize(objective, n_trials=3)) <= 3, len(s.optimize(objective, 5, quiet=True)) <= 5)
            print(len(s.trials), s.storage)
    """))
    path = os.pathsep.join(os.path.abspath(p) for p in sys.path)
    out = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, env={**os.environ, "PYTHONPATH": path},
                         capture_output=True, text=True, check=True).stdout
    assert out.endswith("True True\n5 sqlite:///runs/study-two/study.db\n")
    assert "study two: 3 trials of exec" in out and "study two: 5" not in out


@needs_program
def test_a_module_that_forks_when_it_is_imported(tmp_path):
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("")
    (tmp_path / "pkg" / "square.py").write_text("def square(x):\n    return x * x\n")
    (tmp_path / "pkg" / "train.py").write_text(inspect.cleandoc("""
        import os
        import time
        import xlarun
        from .square import square

        if __name__ != "__main__" and os.fork() == 0:
            while not os.path.exists("over"):
                time.sleep(0.05)
            os._exit(0)

        def objective(x):
            open("over", "w").close()
            return square(x)

        if __name__ == "__main__":
            s = xlarun.Study("pkg", {"x": (2, 2)})
            print(s.optimize(objective, 1, quiet=True, fork=True)["values"])
    """))
    path = os.pathsep.join(os.path.abspath(p) for p in sys.path)
    out = subprocess.run([sys.executable, "-m", "pkg.train"], cwd=tmp_path, env={**os.environ, "PYTHONPATH": path},
                         capture_output=True, text=True, timeout=60)
    assert out.stdout == "[4]\n", out.stderr
    assert "workers" not in (tmp_path / "runs" / "study-pkg" / "study.toml").read_text(), "the program counts cores"


def test_programs_that_are_killed_before_they_ask(tmp_path):
    (tmp_path / "served.py").write_text("import atexit\natexit.register(lambda: print('x', file=open('hooks', 'a')))\n"
                                        "def objective():\n    return 1\n")
    (tmp_path / "near").mkdir()
    at = str(tmp_path / "near" / "socket")
    trial = os.path.join(os.path.dirname(study.__file__), "trial.py")
    with subprocess.Popen([sys.executable, trial, "served:objective", os.pathsep.join([str(tmp_path), *sys.path]), at],
                          cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout.read(1) == b"+"
        for _ in range(2):
            with socket.socket(socket.AF_UNIX) as s:
                s.connect(at)
        with socket.socket(socket.AF_UNIX) as s:  # it is accepted after those before
            s.connect(at)
            s.shutdown(socket.SHUT_WR)
            assert s.recv(1) == b""
        server.stdin.close()
        assert server.stdout.read() == b""  # of all forks
    assert (tmp_path / "hooks").read_text() == "x\n", "no fork has run the hooks of the process"
    assert not os.path.exists(at)


@needs_program
def test_the_study_ends_with_python(tmp_path):
    (tmp_path / "script.py").write_text(inspect.cleandoc("""
        import time
        import xlarun

        def objective(x):
            time.sleep(0.3)
            return x

        if __name__ == "__main__":
            xlarun.Study("killed", {"x": (0.0, 1.0)}, sampler="random").optimize(objective, 12, 4, fork=True)
    """))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(os.path.abspath(p) for p in sys.path)}
    first = subprocess.Popen([sys.executable, "script.py"], cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True)
    while not first.stdout.readline().startswith("trial 0 "):
        pass
    first.kill()
    first.communicate()
    for _ in range(100):
        again = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, env=env, capture_output=True, text=True)
        if "another process runs the study" not in again.stderr:  # it has not ended yet
            break
        time.sleep(0.2)
    assert "done: 12 trials, 0 failed" in again.stdout, again.stderr
    assert " of them now, in " in again.stdout


@needs_program
def test_a_refused_study_keeps_its_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    objective.__module__ = "test_study"
    monkeypatch.syspath_prepend(os.path.dirname(__file__))
    params = {"x": (0.0, 1.0), "how": ["well"]}
    xlarun.Study("swap", params, sampler="random").optimize(objective, 1, 1, quiet=True)
    file = tmp_path / "runs" / "study-swap" / "study.toml"
    before = file.read_text()
    with pytest.raises(Error, match=r'the study "swap" is to \[MINIMIZE\], and not to \[MAXIMIZE\]'):
        xlarun.Study("swap", params, "maximize", sampler="random").optimize(objective, 1, 1, quiet=True)
    with pytest.raises(Error, match='run: key "sampler" got grid, but'):  # without the path of a file that has gone
        xlarun.Study("swap", params, sampler="grid", grid_points=1).optimize(objective, 1, 1, quiet=True)
    assert file.read_text() == before
    xlarun.Study("swap", params, sampler="random").optimize(objective, 2, 1, quiet=True)
    assert file.read_text() == before.replace("trials = 1", "trials = 2")


@needs_program
def test_numbers_of_numpy(tmp_path, monkeypatch):
    """Also of several objectives, of which one returned a number alone."""
    monkeypatch.chdir(tmp_path)
    params = {"x": (np.float32(0.5), np.float32(0.5)), "n": (np.int64(2), np.int64(2)), "how": [np.int64(3)]}
    best = xlarun.Study("numpy", params).optimize(lambda x, n, how: x + n + how, np.int64(1), np.int64(1), quiet=True)
    assert best["values"] == [5.5] and best["params"] == {"x": 0.5, "n": 2, "how": 3}
    with pytest.raises(Error, match="the objective returned 1 number, want 2"):
        s = xlarun.Study("one", params, ["minimize", "maximize"], sampler="random")
        s.optimize(lambda x, n, how: 1, 1, 1, quiet=True)


@needs_program
def test_a_program_on_stdin(tmp_path):
    text = ("import xlarun\ndef objective(x):\n    return x\n"
            "print(xlarun.Study('stdin', {'x': (2, 2)}).optimize(objective, 1, quiet=True)['values'])\n")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(os.path.abspath(p) for p in sys.path)}
    out = subprocess.run([sys.executable, "-"], cwd=tmp_path, env=env, input=text, capture_output=True, text=True)
    assert out.stdout == "[2]\n", out.stderr


def test_what_a_study_refuses(monkeypatch, tmp_path):
    with pytest.raises(Error, match="the parameter lr got 3, wants"):
        xlarun.Study("a", {"lr": 3})
    for bounds, want in (((math.nan, 1.0), "low nan"), ((0.0, np.inf), "high inf"), ((0, "1"), "high '1'")):
        with pytest.raises(Error, match=f"the parameter lr got {want}, wants a finite number"):
            xlarun.Study("a", {"lr": bounds})
    with pytest.raises(Error, match="step 0.3 of whole numbers from 0 to 1, wants a whole step: write 0.0 for a float"):
        xlarun.Study("a", {"lr": {"low": 0, "high": 1, "step": 0.3}})
    with pytest.raises(Error, match="n_jobs got '2', wants a whole number"):
        xlarun.Study("a", {"lr": (0, 1)}).optimize(math.sin, n_jobs="2")
    for choices in (["a", None], {"choices": [None]}, [[1, 2]], [np.inf]):
        with pytest.raises(Error, match=r"the parameter lr got the choice (None|\[1, 2\]|inf), wants texts"):
            xlarun.Study("a", {"lr": choices})
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(Error, match="<lambda> is no function at the top of a file, so other processes cannot"):
        study.place(lambda x: x, tmp_path)
    with pytest.raises(Error, match="Study.optimize is no function at the top of a file"):
        study.place(xlarun.Study("a", {"lr": (0, 1)}).optimize, tmp_path)
    assert study.place(test_what_a_study_refuses, tmp_path) == f"{__name__}:test_what_a_study_refuses"


def test_a_script_that_would_run_the_study_in_each_trial(tmp_path):
    """It used up the name of the study with trials that failed."""
    (tmp_path / "script.py").write_text("import xlarun\ndef objective(x):\n    return x\n"
                                        "for _ in range(1):\n"
                                        "    xlarun.Study('bare', {'x': (0, 1)}).optimize(objective, 1)\n")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(os.path.abspath(p) for p in sys.path)}
    out = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert "line 5 of " in out.stderr and 'put the line under if __name__ == "__main__":' in out.stderr
    assert not (tmp_path / "runs" / "study-bare" / "study.db").exists()


def test_report_elsewhere(capsys, monkeypatch):
    monkeypatch.delenv("XLARUN_VALUES", raising=False)
    xlarun.report(0.5, 2)
    with pytest.raises(Error, match="report got the step 0.35, wants a whole number"):
        xlarun.report(7, 0.35)
    for value, step, want in ((1.0, None, "the step None, wants a whole"), (None, 1, "the value None, wants a number")):
        with pytest.raises(Error, match=f"report got {want}"):
            xlarun.report(value, step)
    assert capsys.readouterr().out == '{"step": 2, "value": 0.5}\n'
