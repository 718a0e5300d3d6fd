"""Runs: of a program in a process of its own, or in a folder."""
from __future__ import annotations

import atexit
import contextlib
import difflib
import fcntl
import html
import inspect
import json
import logging
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator, Mapping
from typing import Any, Callable, TypeVar

import numpy as np

from .program import Error, command, failure, program
from .board_member import BoardMember
from .member import Member, load
from .sparse import SparseMember

log = logging.getLogger("xlarun")
F = TypeVar("F", bound=Callable[..., Any])
_running: weakref.WeakSet[Run] = weakref.WeakSet()
TRACKER_TIME = 60.0  # seconds that a tracker's client has for what is left to send when a run is over


class Run:
    """A run that a function such as xlarun.evolve has started, or the run in a folder: Run("runs/first").

    Iterate over it for rows of metrics, dicts, while it runs. When Python ends, its runs are stopped and have saved
    their state.
    """

    _rows: list[dict[str, Any]]  # of a process, as is the next one
    _stderr: Any
    _tracker: subprocess.Popen[bytes] | None = None  # sends the run to a tracker

    def __init__(self, folder: str | os.PathLike[str]):
        self.folder: pathlib.Path | None = pathlib.Path(folder)  # None: it has none
        self.result: dict[str, Any] | None = None  # the last line of `xlarun … --json`, when a process is over
        self.title = str(folder)
        self._process: subprocess.Popen[str] | None = None
        self._changed = threading.Condition()
        if not (self.folder / "config.toml").is_file():
            raise Error(f"{folder} is no folder of a run, as it has no config.toml", 2)

    def __reduce__(self):
        raise TypeError(f"the run {self.title} cannot be pickled: pickle its folder, and open that with xlarun.Run")

    @classmethod
    def _start(cls, args: list[str]) -> Run:
        run = cls.__new__(cls)
        run.folder, run.result, run.title = None, None, " ".join(args)
        run._rows, run._newest, run._received = [], None, 0
        run._error, run._stopped, run._ended, run._ready = None, False, False, False
        run._changed, run._stderr = threading.Condition(), tempfile.TemporaryFile("w+")
        # In a session of its own Ctrl-C does not reach it twice. If this process is killed, its stdout closes, and it
        # saves its state.
        run._process = subprocess.Popen(
            [program(), *args, "--log", "json", "--json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=run._stderr, text=True, encoding="utf-8", errors="replace", start_new_session=True)
        _running.add(run)
        threading.Thread(target=run._read, name=run.title, daemon=True).start()
        run._until(lambda: run._ready)
        run._raise()
        return run

    def _read(self):
        """Reads what the program prints. It never waits for whoever iterates."""
        last = ""
        try:
            for line in self._process.stdout:
                try:
                    record = json.loads(line)
                except ValueError:
                    record = None
                if not isinstance(record, dict):  # what an environment prints
                    log.info(line.rstrip())
                    continue
                with self._changed:
                    if not {"level", "msg"} <= record.keys():
                        last, self.result = line, record
                    elif record["msg"] in record:
                        self._add({key: np.nan if value is None else value for key, value in record.items()
                                   if key not in ("time", "level", "msg")})
                    else:
                        self.folder = pathlib.Path(record["folder"]) if "folder" in record else self.folder
                        self.title = self.title if self._ready else record["msg"].partition(": ")[0]
                        self._ready = True
                        log.log(logging.WARNING if record["level"] == "WARN" else logging.INFO, record["msg"])
                    self._changed.notify_all()
        finally:
            self._process.stdout.close()  # if reading failed, the program ends
            status = self._process.wait()
            self._stderr.seek(0)
            with self._changed:
                if status and not (self._stopped and status in (75, 130, 143)):
                    self._error = failure(status, last, self._stderr.read())
                if self._newest is not None:
                    self._rows.append(self._newest)
                self._ready = self._ended = True
                self._changed.notify_all()
            self._stderr.close()
            _running.discard(self)

    def _add(self, row):
        """Keeps a row as metrics.jsonl does, counted from this start: after 4096 rows at growing distances, and the
        newest."""
        self._received = n = self._received + 1
        self._newest = None
        if n <= 4096 or n % (1 << ((n // 512).bit_length() - 1)) == 0:
            self._rows.append(row)
        else:
            self._newest = row

    def _until(self, over, timeout=None) -> bool:
        """Waits. Ctrl-C stops the run as in the shell: the state is saved, a second one ends it at once."""
        try:
            return self._wait(over, timeout)
        except KeyboardInterrupt:
            for _ in range(2):
                self._signal(signal.SIGINT)
                with contextlib.suppress(KeyboardInterrupt):
                    self._wait(lambda: self._ended)
                    break
            raise

    def _wait(self, over, timeout=None) -> bool:
        """Waits in short pieces: libraries such as polars change how signals come, and then none ends a long wait."""
        end = time.monotonic() + (np.inf if timeout is None else timeout)
        with self._changed:
            while not self._changed.wait_for(over, max(0, min(0.2, end - time.monotonic()))):
                if time.monotonic() >= end:
                    return False
        return True

    def _signal(self, number):
        self._stopped = True
        if self.running:
            self._process.send_signal(number)

    def _raise(self):
        if self._ended and self._error:
            raise self._error

    @property
    def running(self) -> bool:
        """Whether it goes on."""
        if self._process:
            return not self._ended
        return _locked(self.folder)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Rows of metrics from the first on, until the run is over. Error: it failed."""
        if not self._process:
            yield from _rows_of(self.folder, follow=True)
            return
        at = 0
        while self._until(lambda: len(self._rows) > at or self._ended) and len(self._rows) > at:
            yield self._rows[at]
            at += 1
        self._raise()

    def wait(self, timeout: float | None = None) -> Run:
        """Waits until the run is over and its tracker has it, for at most so many seconds (TimeoutError). Without
        timeout a tracker gets a minute after the run's end. Error: it failed."""
        end = time.monotonic() + (np.inf if timeout is None else timeout)
        wait = self._until if self._process else self._wait
        if not wait(lambda: not self.running, timeout):
            raise TimeoutError(f"{self.title} is not over after {timeout} s")
        if self._process:
            self._raise()
        self._sent(time.monotonic() + TRACKER_TIME if timeout is None else end, timeout)
        return self

    def _sent(self, end, timeout=None):
        """Waits for the tracker until a time. A tracker that is late goes on by itself."""
        try:
            if self._tracker and self._tracker.wait(max(0, end - time.monotonic())):
                log.warning("the tracker did not get all of %s: xlarun.track sends it again", self.title)
        except subprocess.TimeoutExpired:
            if timeout is not None:
                raise TimeoutError(f"the tracker does not have all of {self.title} after {timeout} s") from None
            log.warning("the tracker does not have all of %s yet: its process %d goes on", self.title,
                        self._tracker.pid)

    def stop(self) -> Run:
        """Stops the run as SIGTERM does, and returns when its state is saved. resume=run.folder continues it."""
        if not self._process:
            raise Error("only a run that this process has started can be stopped", 2)
        self._signal(signal.SIGTERM)
        return self.wait()

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of metrics so far. Of a long run they are at growing distances."""
        if not self._process:
            return list(_rows_of(self.folder))
        with self._changed:
            rows = [*self._rows, self._newest] if self._newest and not self._ended else list(self._rows)
        if rows and self.folder:  # a resumed run has earlier ones in its folder
            unit, first = next(iter(rows[0].items()))
            if first > 1:
                earlier = (row for row in _rows_of(self.folder))
                rows = [row for row in earlier if row[unit] < first] + rows
        return rows

    @property
    def metrics(self) -> Any:
        """The rows as a pandas frame; of polars, where only that is installed; else a dict of NumPy arrays."""
        rows = self.rows
        names = dict.fromkeys(name for row in rows for name in row)
        columns = {name: np.array([row.get(name, np.nan) for row in rows]) for name in names}
        for library in ("pandas", "polars"):
            with contextlib.suppress(ImportError):
                return __import__(library).DataFrame(columns)
        return columns

    def member(self, name: str | None = None) -> Member | BoardMember | SparseMember:
        """A saved member: "final", "hall-of-fame-2", …; by default the best one, or the final one before that."""
        if not self.folder:
            raise Error('the run has no members: it was started with out="none"', 2)
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "member.safetensors")
            try:
                command("export", str(self.folder), "--out", file, *([] if name is None else ["--member", name]))
            except Error as e:  # in the words of who called
                called = "run.best" if name is None else f"run.member({name!r})"
                said = str(e).replace("xlarun export", called, 1).replace("--member", "the name")
                raise Error(said, e.status, e.code) from None
            return load(file)

    @property
    def best(self) -> Member | BoardMember | SparseMember:
        """The best member so far: best.act(observation)."""
        return self.member()

    @property
    def config(self) -> dict[str, Any]:
        """The settings, with the names of flags; {} without a folder, and before the first row."""
        path = self.folder / "config.toml" if self.folder else None
        return _config(path) if path and path.is_file() else {}

    def __repr__(self):
        rows = self.rows
        words = [f"{name} {value:.6g}" for name, value in list(rows[-1].items())[:1]] if rows else []
        words += [f"{name} {points[-1][1]:.6g}" for name, points in _curves(rows).items()]
        state = "running" if self.running else "over"
        return f"<{', '.join([self.title, state, *words])}{f', in {self.folder}' if self.folder else ''}>"

    def _repr_html_(self):
        return _picture(self.rows) + f"<div>{html.escape(repr(self)[1:-1])}</div>"

    def _ipython_display_(self):
        """Shows the curve below a notebook's cell, and draws it again while the run goes on."""
        from IPython.display import HTML, display
        handle = display(HTML(self._repr_html_()), display_id=True)

        def redraw():
            going = True
            while going:
                time.sleep(0.5)
                going = self.running
                handle.update(HTML(self._repr_html_()))
        if handle and self.running:
            threading.Thread(target=redraw, daemon=True).start()


@atexit.register
def _stop_all():
    runs = list(_running)
    for run in runs:
        run._signal(signal.SIGINT)
    for run in runs:
        run._until(lambda: run._ended)
    end = time.monotonic() + TRACKER_TIME
    for run in runs:
        run._sent(end)


def _forked():
    # Only the process that started a run hears it and may stop it: for a fork it is the run in its folder.
    for run in _running:
        run._process, run.folder, run._changed = None, run.folder or pathlib.Path(os.devnull), threading.Condition()
    _running.clear()


os.register_at_fork(after_in_child=_forked)


def start(kind: str, known: Any, argument: Any, settings: Mapping[str, Any]) -> Run:
    """Starts a run of a kind. Its settings are keys of the class known."""
    from .runs import PARTS
    args, to = [kind] if argument is None else [kind, os.fspath(argument)], settings.get("track")
    if to is not None:
        from .track import check
        check(to)
        if settings.get("out") == "none":
            raise Error('track wants a folder of the run, got out="none"', 2)
    for name, value in settings.items():
        if name not in known.__annotations__:
            raise TypeError(f"{kind}() got an unexpected keyword argument {name!r}{_near(name, known.__annotations__)}")
        part, _, rest = name.partition("_")
        flag = f"{part}.{rest}" if rest and part in PARTS else name.rstrip("_")
        if value is not None and name != "track":
            args.append(f"--{flag.replace('_', '-')}={_text(value)}")
    run = Run._start(args)
    if to is not None:  # a process of its own: a client that hangs or crashes leaves the run alone
        run._tracker = subprocess.Popen(
            [sys.executable, "-m", "xlarun", "track", str(run.folder), "--to", to, "--follow"],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, stdin=subprocess.DEVNULL,
            start_new_session=True)
    return run


def _near(name, names):
    near = [key for key in names if key.endswith("_" + name)] or difflib.get_close_matches(name, names, 1)
    return f". Did you mean {near[0]!r}?" if near else ""


def _text(value):
    """A value as on a command line."""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    if isinstance(value, Mapping):
        return ",".join(f"{name}={_text(item)}" for name, item in value.items())
    if isinstance(value, (list, tuple, np.ndarray)):
        return ",".join(map(_text, value))
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def described(known: Any) -> Callable[[F], F]:
    """Gives a function the signature and the documentation of its settings."""
    def describe(function):
        parameters = [p for p in inspect.signature(function).parameters.values() if p.kind is not p.VAR_KEYWORD]
        lines = ["", "    Settings, all None by default, which leaves them to the program:", ""]
        for name, note in known.__annotations__.items():
            parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None,
                                                annotation=note.__origin__))
            lines.append(f"    {name}: {note.__metadata__[0]}")
        function.__signature__ = inspect.Signature(parameters, return_annotation=Run)
        function.__doc__ = function.__doc__.rstrip() + "\n" + "\n".join(lines)
        return function
    return describe


def _locked(folder):
    """Whether a process writes into the folder of a run."""
    for path in (folder, folder / ".lock"):
        try:
            file = os.open(path, os.O_RDONLY)
        except OSError:
            continue
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            pass
        finally:
            os.close(file)
    return False


def _rows_of(folder, follow=False):
    """The rows in the folder of a run, without those that are half-written; with follow until the run is over."""
    logs = {"metrics.jsonl": "", "timings.jsonl": ""}
    timings, last, waiting = {}, 0, []
    at = dict.fromkeys(logs, 0)
    while True:
        going = follow and _locked(folder)
        found = {}
        for name in logs:
            path = folder / name
            size = path.stat().st_size if path.exists() else 0
            if size < at[name]:  # the run went on from an earlier state
                at[name] = 0
            found[name] = []
            if size > at[name]:
                with path.open("rb") as file:
                    file.seek(at[name])
                    text = file.read()
                whole = text[:text.rfind(b"\n") + 1]
                at[name] += len(whole)
                found[name] = [json.loads(line) for line in whole.splitlines()]
        timings.update((next(iter(row.values())), row) for row in found["timings.jsonl"])
        waiting += found["metrics.jsonl"]
        # A row's timings are written after it: while the run goes on, its newest rows wait for them.
        newest = max(timings, default=0) if going else np.inf
        ready = [row for row in waiting if next(iter(row.values())) <= newest]
        waiting = waiting[len(ready):]
        for row in ready:
            step = next(iter(row.values()))
            if step > last:
                last = step
                row = {**row, **timings.pop(step, {})}
                yield {name: np.nan if value is None else value for name, value in row.items()}
        if not going:
            return
        time.sleep(0.5)


def _config(path):
    """Reads a config.toml as runs write it, a setting in a line: names of tables and a dot go before those in them."""
    values, table = {}, ""
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("["):
            table = line.strip("[]") + "."
        elif "=" in line:
            name, value = (text.strip() for text in line.split("=", 1))
            if value.startswith("'"):
                value = value.strip("'")
            else:
                with contextlib.suppress(ValueError):
                    value = json.loads(value)
            name = table + name.strip("'\"")
            values[name[:-len(".name")] if name.endswith(".name") else name] = value
    return values


# What a curve shows: the evaluation, and paler what training says.
_SHOWN = ("eval_return", "mean_fitness", "recent_return", "elite_mean", "mean_accuracy", "loss")


def _curves(rows):
    """The points of at most two curves of rows, by name."""
    curves = {}
    for name in _SHOWN:
        points = [row for row in rows if np.isfinite(row.get(name, np.nan))]
        if points and len(curves) < 2:
            curves[name] = [(next(iter(row.values())), row[name]) for row in points]
    return curves


def _picture(rows):
    """The curves as SVG."""
    curves = _curves(rows)
    points = np.array([point for curve in curves.values() for point in curve], float)
    if len(points) < 2:
        return ""
    low, high = points.min(0), points.max(0)
    scale = np.array([480, -140]) / np.where(high > low, high - low, 1)
    lines = []
    for (name, curve), color in zip(curves.items(), ("#1f77b4", "#9ecae1")):
        curve = np.array(curve, float)[::max(1, len(curve) // 500)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (curve - low) * scale + [0, 150])
        lines.insert(0, f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="1.5"/>')
        lines.append(f'<text x="{len(lines) * 120 - 100}" y="170" fill="{color}">{name}</text>')
    unit = next(iter(rows[-1]))
    return (f'<svg width="560" height="180" font-size="11" font-family="sans-serif">{"".join(lines)}'
            f'<g fill="currentColor"><text x="485" y="14">{high[1]:.5g}</text><text x="485" y="154">{low[1]:.5g}</text>'
            f'<text x="400" y="170">{unit} {high[0]:.0f}</text></g></svg>')
