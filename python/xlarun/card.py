"""Writes a folder of a run's best member as model hubs expect it."""
from __future__ import annotations

import json
import math
import os
import pathlib
import shutil
import sys
from typing import Any

from . import safetensors
from .program import Error, command
from .run import Run

FILE = "member.safetensors"

_acts = """import numpy as np
import xlarun

member = xlarun.load("{file}")
state = member.start()
observation = {observation}  # one observation of the environment
action, state = member.act(observation, state)
"""
_plays = """import xlarun

member = xlarun.load("{file}")
position = member.start()
while not position.over:
    position = member.move(position, member.act(position, simulations={simulations}))
print(position.score)  # of the first player
"""
_labels = """import numpy as np
import xlarun

member = xlarun.load("{file}")
print(member.labels(np.zeros((1, 28, 28))))  # pictures, pixels from 0 to 255
"""


def card(run: Run | str | os.PathLike[str], folder: str | os.PathLike[str] | None = None) -> pathlib.Path:
    """Writes README.md, the best member, its settings and pictures into a folder, "RUN/card" by default. Returns it.

    huggingface_hub.upload_folder(repo_id=…, folder_path=…) puts it on a hub.
    """
    run = run if isinstance(run, Run) else Run(run)
    if not run.folder:
        raise Error('the run has no members: it was started with out="none"', 2)
    target = pathlib.Path(folder or run.folder / "card")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise Error(f"{target} is there already: give another folder, or remove it", 2)
    target.mkdir(parents=True, exist_ok=True)
    try:
        command("export", str(run.folder), "--out", str(target / FILE))
    except Error:
        target.rmdir()
        raise
    shutil.copyfile(run.folder / "config.toml", target / "config.toml")
    picture = next((name for name in ("best.gif", "game.gif") if (run.folder / name).is_file()), None)
    pictures = [name for name in (picture, "curves.png") if name and (run.folder / name).is_file()]
    for name in pictures:
        shutil.copyfile(run.folder / name, target / name)
    text = _readme(run.config, run.rows, safetensors.read(target / FILE)[1], pictures)
    (target / "README.md").write_text(text, "utf-8")
    return target


def _readme(config: dict[str, Any], rows: list[dict[str, Any]], metadata: dict[str, str],
            pictures: list[str]) -> str:
    kind = metadata["kind"]
    searches = config.get("emitter", "searches") == "searches"  # other emitters of qd use no strategy
    results: list[tuple[str, Any, str]]
    facts: dict[str, Any] = {key: config[key] for key in ("strategy", "policy", "network", "emitter", "archive")
                             if key in config and (searches or key != "strategy")}
    facts |= {key: metadata[key] for key in ("generation", "seed", "xlarun") if key in metadata}
    if kind == "sparse":
        task, data, snippet = "image-classification", "mnist", _labels
        results = [("accuracy", float(metadata[key]), f"accuracy {of}") for key, of in
                   (("test_accuracy", "on the test set"), ("accuracy", "in training")) if metadata.get(key)][:1]
        about = "A sparse network that labels the digits of MNIST, the best of its population in training."
    elif kind == "selfplay":
        task, data, snippet, results = "reinforcement-learning", metadata["setting.game"], _plays, []
        about = f"A network that plays {data} by tree search. It learned from games against itself."
        judged = [row for row in rows if row.get("score_search", math.nan) == row.get("eval_return")]
        if judged:
            score, games = judged[-1]["eval_return"], int(judged[-1]["eval_num_episodes"])
            results = [("score", f"{score:.6g} +/- {judged[-1]['eval_std_error']:.2g}",
                        f"share of points against tree search without a network, in {games} games")]
            about += f"\n\nAgainst tree search without a network it gets {score:.1%} of the points ({games} games)."
    else:
        task, data, snippet = "reinforcement-learning", metadata["env"], _acts
        mean, error = (float(metadata.get(key, "nan")) for key in ("mean_return", "standard_error"))
        how = f"{metadata.get('episodes', '')} {metadata.get('evaluated_on', 'episodes')}".strip()
        if metadata.get("actions"):
            how += f", with {metadata['actions']} actions"
        if metadata.get("env_params"):
            how += f", where {metadata['env_params']}"
        results = [("mean_reward", f"{mean:.6g} +/- {error:.2g}", f"mean return over {how}")]
        results *= math.isfinite(mean)
        about = f"A policy for the environment {data}, of at most {metadata.get('steps', '?')} steps an episode."
        if results:
            about += f"\n\nMean return {mean:.6g} ± {error:.2g} (standard error) over {how}."
        if metadata.get("evaluated_on") == "new episodes" and "choice_mean_return" in metadata:
            about += (" No choice depended on these episodes. In those by which this member was chosen it had "
                      f"{float(metadata['choice_mean_return']):.6g}.")
        if metadata.get("failed_episodes", "0") != "0":
            about += f" {metadata['failed_episodes']} further episodes had no finite return."
    space = json.loads(metadata.get("observation_space", "{}"))
    observation = "0" if space.get("type") == "Discrete" else f"np.zeros({tuple(space.get('shape', ()))}, np.float32)"
    snippet = snippet.format(file=FILE, observation=observation,
                             simulations=metadata.get("setting.num-simulations", 50))
    front = ["---", "library_name: xlarun", f"pipeline_tag: {task}", "tags:"]
    front += [f"- {json.dumps(tag)}" for tag in dict.fromkeys([data, task, kind, str(facts.get("strategy", kind)),
                                                               "xlarun"])]
    if results:
        front += ["model-index:", f"- name: {json.dumps(f'{kind} {data}')}", "  results:"]
    for name, value, how in results:
        front += ["  - task:", f"      type: {task}", "    dataset:", f"      name: {json.dumps(data)}",
                  f"      type: {json.dumps(data)}", "    metrics:", f"    - type: {name}",
                  f"      value: {json.dumps(value)}", f"      name: {json.dumps(how)}", "      verified: false"]
    text = [*front, "---", "", f"# {data}, by xlarun {kind}", "", about, ""]
    text += [f"![{name.partition('.')[0]}]({name})" for name in pictures] + [""] * bool(pictures)
    text += ["| | |", "| --- | --- |", f"| algorithm | {kind} |"]
    text += [*(f"| {name} | {value} |" for name, value in facts.items()), "",
             "`config.toml` has all settings of the run.", "", "## Use", "",
             f"The Python package of xlarun loads `{FILE}`; it needs NumPy only.", "", "```python", snippet + "```", ""]
    return "\n".join(text)


def main(args: list[str]) -> None:
    """python -m xlarun card RUN [FOLDER]"""
    if len(args) not in (1, 2) or args[0].startswith("-"):
        sys.exit("usage: python -m xlarun card RUN [FOLDER]\n\nWrites a folder as model hubs expect it (RUN/card by "
                 "default): README.md, the best member, settings, pictures.")
    print(f"{card(*args)} is ready: huggingface_hub.upload_folder(repo_id=…, folder_path=…) puts it on a hub")
