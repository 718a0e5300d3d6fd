"""Sends runs and studies to experiment trackers, with the trackers' own clients."""
from __future__ import annotations

import importlib.util
import itertools
import json
import math
import os
import pathlib
import sys
import tempfile
import time
from typing import Any, Literal, get_args

from .program import Error, command
from .run import Run

PICTURES = (".png", ".gif")
Tracker = Literal["mlflow", "wandb", "trackio", "aim"]


class _MLflow:
    """A run of MLflow. The tracking URI is that of MLflow itself: MLFLOW_TRACKING_URI."""

    def __init__(self, project, name, parameters, tags, parent):
        import mlflow
        from mlflow.entities import Metric, Param
        self.client, self.metric = mlflow.MlflowClient(), Metric
        found = self.client.get_experiment_by_name(project)
        experiment = found.experiment_id if found else self.client.create_experiment(project)
        tags = {**tags, **({"mlflow.parentRunId": parent.id} if parent else {})}
        self.id = self.client.create_run(experiment, tags=tags, run_name=name).info.run_id
        parameters = [Param(key, str(value)) for key, value in parameters.items()]
        for i in range(0, len(parameters), 100):  # what MLflow takes at a time, as with the metrics below
            self.client.log_batch(self.id, params=parameters[i:i + 100])
        self.waiting, self.sent = [], time.monotonic()

    def row(self, step, numbers):
        now = int(time.time() * 1000)
        self.waiting += [self.metric(key, value, now, step) for key, value in numbers.items()]
        if len(self.waiting) > 900 or time.monotonic() - self.sent > 1:
            self.flush()

    def flush(self):
        for i in range(0, len(self.waiting), 1000):
            self.client.log_batch(self.id, metrics=self.waiting[i:i + 1000])
        self.waiting, self.sent = [], time.monotonic()

    def file(self, path):
        self.client.log_artifact(self.id, str(path), "pictures" if path.suffix in PICTURES else "members")

    def end(self, failed=False):
        self.flush()
        self.client.set_terminated(self.id, "FAILED" if failed else "FINISHED")


class _WandB:
    """A run of Weights & Biases. WANDB_MODE=offline writes it into a folder."""

    def __init__(self, project, name, parameters, tags, parent):
        import wandb
        self.wandb, self.name = wandb, name
        self.run = wandb.init(project=project, name=name, config={**parameters, **tags}, reinit="create_new",
                              group=parent.name if parent else None, job_type="trial" if parent else None)

    def row(self, step, numbers):
        self.run.log(numbers, step=step)

    def file(self, path):
        if path.suffix in PICTURES:
            kind = self.wandb.Video(str(path), format="gif") if path.suffix == ".gif" else self.wandb.Image(str(path))
            self.run.log({path.stem: kind})
        else:
            artifact = self.wandb.Artifact(f"{self.name}-{path.stem}", type="model")
            artifact.add_file(str(path))
            self.run.log_artifact(artifact)

    def end(self, failed=False):
        self.run.finish(exit_code=int(failed))


class _Trackio:
    """A run of Trackio, in its own folder."""

    def __init__(self, project, name, parameters, tags, parent):
        import trackio
        self.trackio, self.name = trackio, name
        self.run = trackio.init(project=project, name=name, config={**parameters, **tags}, embed=False,
                                group=parent.name if parent else None)

    def row(self, step, numbers):
        self.run.log(numbers, step=step)

    def file(self, path):
        if path.suffix in PICTURES:
            kind = self.trackio.Video if path.suffix == ".gif" else self.trackio.Image
            self.run.log({path.stem: kind(str(path))})
        else:
            self.run.log_artifact(str(path), name=f"{self.name}-{path.stem}", type="model")

    def end(self, failed=False):
        self.run.finish()


class _Aim:
    """A run of Aim, in the repository .aim of the working folder."""

    def __init__(self, project, name, parameters, tags, parent):
        import aim
        self.aim = aim
        self.run = aim.Run(experiment=project, system_tracking_interval=None, capture_terminal_logs=False)
        self.run.name, self.id = name, self.run.hash
        self.run["hparams"] = parameters
        for key, value in {**tags, **({"parent": parent.id} if parent else {})}.items():
            self.run[key] = value

    def row(self, step, numbers):
        for key, value in numbers.items():
            self.run.track(value, name=key, step=step)

    def file(self, path):
        if path.suffix in PICTURES:
            self.run.track(self.aim.Image(str(path)), name=path.stem)

    def end(self, failed=False):
        self.run.close()


_trackers = dict(zip(get_args(Tracker), (_MLflow, _WandB, _Trackio, _Aim)))


def track(run: Run | str | os.PathLike[str], to: Tracker, follow: bool = False, project: str = "xlarun",
          name: str | None = None) -> None:
    """Sends a run, or the trials of a study, to a tracker: settings, metrics, pictures and members.

    run: a Run, its folder, or the database or file of a study, whose trials become nested runs (of W&B and Trackio a
    group). follow: until the run is over. The step of a metric is the number of its row; env_steps is a metric. Where
    the tracker keeps its data is set as for any program that uses it. Error: the client is not installed.
    """
    if not isinstance(run, Run) and not os.path.exists(run) and "://" not in str(run):
        raise Error(f"{run} is not there: give the folder of a run, or the database or file of a study", 2)
    check(to)
    try:
        importlib.import_module(to)
    except ImportError as error:
        raise Error(f"{to} cannot be imported: {error}", 1, "not_installed") from None

    def make(name, parameters, parent=None, **tags):
        return _trackers[to](project, name, parameters, tags, parent)
    if not isinstance(run, Run) and not os.path.isdir(run):
        if follow:
            raise Error("follow goes with a run, not with a study: send the study when it is over", 2)
        _track_study(str(run), make, name)
        return
    run = run if isinstance(run, Run) else Run(run)
    rows = iter(run if follow else run.rows)
    first = next(rows, None)  # then a run that goes on has chosen all settings
    tracker = make(name or (run.folder.name if run.folder else run.title), run.config, folder=str(run.folder))
    failed = True
    try:
        for row in itertools.chain([first] if first else [], rows):
            _send(tracker, row)
        for path in sorted(run.folder.iterdir()) if run.folder else []:
            if path.suffix in PICTURES or path.suffix == ".safetensors":
                tracker.file(path)
        failed = False
    finally:
        tracker.end(failed)


def check(to: str) -> None:
    """Error: it is no tracker, or its client is not installed."""
    if not isinstance(to, str) or to not in _trackers:
        raise Error(f"got the tracker {to!r}, want one of {', '.join(_trackers)}", 2)
    spec = importlib.util.find_spec(to)
    if spec is None or spec.origin is None:  # a mere folder, such as the ./wandb of earlier runs, has no origin
        raise Error(f"xlarun.track needs {to}: pip install {to}", 1, "not_installed")


def _send(tracker, row):
    (_, step), *numbers = row.items()
    tracker.row(step, {name: float(value) for name, value in numbers
                       if isinstance(value, (int, float)) and math.isfinite(value)})


def _track_study(study, make, name):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "trials.jsonl")
        command("study", "export", study, "--out", str(file))
        trials = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    path = pathlib.Path(study)
    name = name or (path.parent.name if path.stem == "study" else path.stem)
    parent = make(name, {}, study=study)
    for trial in trials:
        tracker = make(f"{name}-{trial['number']}", trial["params"], parent, state=str(trial["state"]),
                       reason=trial["reason"] or "")
        last = 0
        for step, value in trial["intermediate"]:
            _send(tracker, {"step": step, "reported": value})
            last = step
        values = trial["values"] or []
        _send(tracker, {"step": last, **{f"value_{i}" if len(values) > 1 else "value": value
                                         for i, value in enumerate(values)}})
        tracker.end(str(trial["state"]).upper() == "FAIL")
    parent.end()


def main(args: list[str]) -> None:
    """python -m xlarun track RUN --to TRACKER"""
    import argparse
    parser = argparse.ArgumentParser(prog="python -m xlarun track", description="Sends a run, or the trials of a "
                                     "study, to an experiment tracker.")
    parser.add_argument("run", metavar="RUN", help="folder of a run, or database or file of a study")
    parser.add_argument("--to", required=True, choices=_trackers)
    parser.add_argument("--follow", action="store_true", help="go on until the run is over")
    parser.add_argument("--project", default="xlarun", help="project or experiment of the tracker (default xlarun)")
    parser.add_argument("--name", help="name of the run there (default that of the folder)")
    given = parser.parse_args(args)
    try:
        track(given.run, given.to, given.follow, given.project, given.name)
    except KeyboardInterrupt:
        sys.exit(130)
    except Error:
        raise
    except Exception as error:  # the client's: a server that cannot be reached, a wrong address
        sys.exit(f"xlarun: {given.to} failed: {' '.join(str(error).split())}")
