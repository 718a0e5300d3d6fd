"""Runs in a process of their own: of a program that only talks as xlarun does, and of xlarun where it is installed."""
import fcntl
import importlib
import os
import signal
import stat
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import xlarun
from xlarun.program import program

FAKE = """#!{python} -u
import json, signal, sys, time

def say(**record):
    print(json.dumps(record))

def note(msg, **more):
    say(time="t", level="INFO", msg=msg, **more)

def stop(number, _):
    say(error="interrupted", message="xlarun evolve: stopped", status=130 if number == 2 else 75, generations=1)
    sys.exit(130 if number == 2 else 75)

signal.signal(2, stop)
signal.signal(15, stop)
if "none" in sys.argv:
    sys.stderr.write("xlarun evolve: --pop got 1\\n")
    say(error="bad_input", message="xlarun evolve: --pop got 1", status=2)
    sys.exit(2)
note("xlarun evolve fake: " + json.dumps(sys.argv[1:]))
if "prints" in sys.argv:
    sys.stdout.buffer.write(b'3\\n"text"\\n{{"msg": 1}}\\ncaf\\xe9\\n')
    sys.stdout.flush()
if "dies" in sys.argv:
    sys.stderr.write("panic: here\\n")
    sys.exit(1)
for g in range(1, 5001 if "long" in sys.argv else 4):
    note("generation", generation=g, eval_return=g / 2, mean_fitness=None if g == 2 else g)
if "waits" in sys.argv:
    while True:
        time.sleep(0.01)
say(kind="evolve", generations=g)
"""


@pytest.fixture
def fake(tmp_path, monkeypatch):
    path = tmp_path / "fake"
    path.write_text(FAKE.format(python=sys.executable))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("XLARUN", str(path))


def test_rows_while_it_runs(fake):
    run = xlarun.evolve("waits", pop=8, strategy_sigma=0.1, env_param={"walls": 0.2, "food": "0..1"}, for_="1m",
                        normalize_observations=np.bool_(True), tile=None)
    assert run._process.args[1:] == ["evolve", "waits", "--pop=8", "--strategy.sigma=0.1",
                                     "--env-param=walls=0.2,food=0..1", "--for=1m",
                                     "--normalize-observations=true", "--log", "json", "--json"]
    rows = iter(run)
    assert next(rows) == {"generation": 1, "eval_return": 0.5, "mean_fitness": 1}
    assert np.isnan(next(rows)["mean_fitness"]) and run.running
    with pytest.raises(TimeoutError):
        run.wait(0.01)
    assert run.stop() is run and not run.running and run.result["generations"] == 1
    assert [row["generation"] for row in run] == [1, 2, 3] and list(rows)[0]["generation"] == 3


def test_rows_of_a_long_run_are_kept_as_in_its_folder(fake):
    run = xlarun.evolve("long").wait()
    assert [row["generation"] for row in run.rows[4090:]] == [*range(4091, 4097), *range(4104, 5001, 8)]


def test_what_an_environment_prints(fake):
    """A line that is JSON and no object, or no UTF-8, ended the thread that reads, and wait() hung."""
    run = xlarun.evolve("prints").wait(20)
    assert len(run.rows) == 3 and run.result == {"kind": "evolve", "generations": 3}


def test_waits_for_the_run_in_a_folder(tmp_path):
    (tmp_path / "config.toml").touch()
    writer = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(writer, fcntl.LOCK_EX)
    run = xlarun.Run(tmp_path)
    with pytest.raises(TimeoutError):
        run.wait(0.01)
    threading.Timer(0.1, os.close, [writer]).start()
    assert not run.wait(20).running
    with pytest.raises(xlarun.Error, match="only a run that this process has started can be stopped"):
        run.stop()


@pytest.mark.parametrize("absent", [[], ["pandas"], ["pandas", "polars"]])
def test_metrics_are_a_frame(fake, monkeypatch, absent):
    for library in absent:
        monkeypatch.setitem(sys.modules, library, None)
    metrics = xlarun.evolve("short").wait().metrics
    assert isinstance(metrics, dict) or len(absent) < 2
    assert list(np.asarray(metrics["eval_return"])) == [0.5, 1, 1.5]
    assert np.isnan(np.asarray(metrics["mean_fitness"])[1])


def test_errors(fake, monkeypatch):
    with pytest.raises(TypeError, match=r"evolve\(\) got an unexpected keyword argument 'popp'. Did you mean 'pop'\?"):
        xlarun.evolve("short", popp=3)
    with pytest.raises(TypeError, match="Did you mean 'strategy_sigma'"):
        xlarun.evolve("short", sigma=3)
    with pytest.raises(xlarun.Error, match="--pop got 1") as caught:
        xlarun.evolve("none")
    assert (caught.value.code, caught.value.status) == ("bad_input", 2)
    with pytest.raises(xlarun.Error, match="panic: here"):
        xlarun.evolve("dies").wait()
    run = xlarun.evolve("waits")
    run._process.send_signal(signal.SIGKILL)
    with pytest.raises(xlarun.Error, match="ended by signal 9"):
        list(run)
    with pytest.raises(xlarun.Error, match="no members"):
        run.best
    monkeypatch.setenv("XLARUN", "/no/such/program")
    with pytest.raises(xlarun.Error, match="XLARUN is /no/such/program, which is no program"):
        xlarun.evolve("short")
    with pytest.raises(xlarun.Error, match="no config.toml"):
        xlarun.Run("/no/such/folder")


def test_ctrl_c_stops_the_run(fake):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's job in the background ignores it
    run = xlarun.evolve("waits")
    timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        run.wait()
    assert run._process.returncode == 130 and run.wait().result["status"] == 130


def test_the_end_of_python_stops_its_runs(fake):
    script = "import xlarun\nrun = xlarun.evolve('waits')\nprint(run._process.pid, flush=True)\n"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=20)
    with pytest.raises(ProcessLookupError):
        os.kill(int(out.stdout), 0)
    assert not out.stderr


@pytest.mark.parametrize("out", ["", "run.folder = None"])
def test_a_fork_leaves_the_run_alone(fake, tmp_path, out):
    """A fork that ended stopped the run of its parent, and hung."""
    (tmp_path / "config.toml").touch()
    script = textwrap.dedent(f"""
        import os, pathlib, sys, xlarun
        run = xlarun.evolve("waits")
        run.folder = pathlib.Path({str(tmp_path)!r})
        {out}
        if os.fork() == 0:
            try:
                run.stop()
            except xlarun.Error as e:
                print(e, list(run), run.rows, run.running, run.config, flush=True)
            sys.exit()
        os.wait()
        print(run.running, run.stop().running)
        """)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=20)
    assert done.stdout == "only a run that this process has started can be stopped [] [] False {}\n" \
        "True False\n", done.stderr


def test_signatures_and_help():
    import inspect
    parameters = inspect.signature(xlarun.evolve).parameters
    assert list(parameters)[0] == "env" and parameters["pop"].annotation is int and "strategy_sigma" in parameters
    assert "pop: members of the population (default 256)" in xlarun.evolve.__doc__
    with pytest.raises(TypeError):
        xlarun.sparse("CartPole-v1")


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    """A run of xlarun itself that has ended."""
    try:
        program()
    except xlarun.Error as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("runs") / "cartpole"
    run = xlarun.evolve("CartPole-v1", pop=64, rounds=6, seed=1, out=folder)
    run.first = [row["generation"] for row in run]
    return run


def test_a_run(solved, tmp_path):
    assert solved.first == [1, 2, 3, 4, 5, 6] and solved.result["ended_by"] == "rounds"
    assert solved.config["strategy"] == "openes" and solved.config["pop"] == 64
    if sys.version_info >= (3, 11):
        import tomllib
        read = tomllib.loads((solved.folder / "config.toml").read_text())
        leaves = {name: value for name, value in read.items() if not isinstance(value, dict)}
        for table in read.keys() - leaves:
            leaves |= {table if name == "name" else f"{table}.{name}": value for name, value in read[table].items()}
        assert solved.config == leaves
    action, _ = solved.best.act(np.zeros(4))
    assert action in (0, 1) and solved.member("final").metadata["member"] == "mean"
    (tmp_path / "config.toml").touch()
    with pytest.raises(xlarun.Error, match="^run.best: the run .* has saved no member yet: wait"):
        xlarun.Run(tmp_path).best
    with pytest.raises(xlarun.Error, match="^run.member.'x'.: the name got .x., wants best, final"):
        solved.member("x")
    folder = xlarun.Run(solved.folder)
    assert folder.wait() is folder and not folder.running and [row["generation"] for row in folder] == solved.first
    assert {"mean_fitness", "steps_per_second"} <= set(folder.rows[0]) and "<svg" in folder._repr_html_()
    assert folder.rows[0]["mean_fitness"] == solved.rows[0]["mean_fitness"]
    with pytest.raises(xlarun.Error, match="--strategy got"):
        xlarun.evolve("CartPole-v1", strategy="no", out="none")
    more = xlarun.evolve(resume=solved.folder, rounds=8).wait()
    assert [row["generation"] for row in more.rows] == [*range(1, 9)] and more.result["generations"] == 8


def test_a_card(solved, tmp_path):
    folder = xlarun.card(solved, tmp_path / "card")
    assert {"README.md", "member.safetensors", "config.toml", "best.gif"} <= {path.name for path in folder.iterdir()}
    text = (folder / "README.md").read_text()
    snippet = text.split("```python\n")[1].split("```")[0]
    out = subprocess.run([sys.executable, "-c", textwrap.dedent(snippet) + "print(action)"], cwd=folder,
                         capture_output=True, text=True)
    assert out.stdout.strip() in ("0", "1"), out.stderr
    with pytest.raises(xlarun.Error, match="is there already"):
        xlarun.card(solved, folder)
    hub = pytest.importorskip("huggingface_hub")
    result, = hub.ModelCard.load(folder / "README.md").data.eval_results
    assert result.dataset_name == "CartPole-v1" and result.metric_type == "mean_reward"
    assert "+/-" in result.metric_value and "new episodes" in result.metric_name


def test_mlflow(solved, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"file:{tmp_path}/mlflow")
    xlarun.track(solved, to="mlflow", project="here")
    client = mlflow.MlflowClient()
    sent, = client.search_runs([client.get_experiment_by_name("here").experiment_id])
    assert sent.data.params["pop"] == "64" and sent.info.status == "FINISHED"
    history = {m.step: m.value for m in client.get_metric_history(sent.info.run_id, "mean_fitness")}
    assert history == {row["generation"]: row["mean_fitness"] for row in solved.rows}
    assert "members/best.safetensors" in [f.path for f in client.list_artifacts(sent.info.run_id, "members")]


def test_mlflow_follows(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"file:{tmp_path}/mlflow")
    run = xlarun.evolve("CartPole-v1", pop=64, rounds=3, out=tmp_path / "run", track="mlflow").wait()
    client = mlflow.MlflowClient()
    sent, = client.search_runs([client.get_experiment_by_name("xlarun").experiment_id])
    history = {m.step: m.value for m in client.get_metric_history(sent.info.run_id, "mean_fitness")}
    assert history == {row["generation"]: row["mean_fitness"] for row in run.rows} and len(history) == 3


def test_a_tracker_that_hangs(tmp_path, monkeypatch, caplog):
    """It leaves the run alone: a wait with timeout ends in time, and one without after a while."""
    run = xlarun.evolve("CartPole-v1", pop=64, rounds=1, out=tmp_path / "run").wait()
    run._tracker = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        start = time.monotonic()
        with pytest.raises(TimeoutError, match="the tracker does not have all of .* after 0.5 s"):
            run.wait(0.5)
        monkeypatch.setattr("xlarun.run.TRACKER_TIME", 0.5)
        run.wait().stop()
        assert time.monotonic() - start < 10 and "goes on" in caplog.text
        run._tracker.kill()
        run.wait()
        assert "did not get all" in caplog.text
    finally:
        run._tracker.kill()
        run._tracker.wait()


def test_tracking_asks_for_what_is_there(tmp_path, monkeypatch):
    with pytest.raises(xlarun.Error, match="want one of mlflow, wandb, trackio, aim"):
        xlarun.track(tmp_path, to="csv")
    with pytest.raises(xlarun.Error, match="got the tracker 'csv'"):
        xlarun.evolve("CartPole-v1", track="csv")
    with pytest.raises(xlarun.Error, match=r"got the tracker \['mlflow'\], want one of mlflow"):
        xlarun.evolve("CartPole-v1", track=["mlflow"])
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "aim").mkdir()  # as ./wandb, which Weights & Biases makes
    with pytest.raises(xlarun.Error, match="xlarun.track needs aim: pip install aim"):
        xlarun.evolve("CartPole-v1", track="aim")
    (tmp_path / "aim/__init__.py").write_text("import nothing_that_is_installed")
    importlib.invalidate_caches()
    with pytest.raises(xlarun.Error, match="aim cannot be imported: No module named 'nothing_that_is_installed'"):
        xlarun.track(tmp_path, to="aim")
    with pytest.raises(xlarun.Error, match="nothing is not there: give the folder of a run"):
        xlarun.track(tmp_path / "nothing", to="mlflow")
