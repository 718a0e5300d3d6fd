"""Board games are played as the Go program plays them; see rollout/selfplay/python_test.go."""
import base64
import gzip
import json
import pathlib

import numpy as np
import pytest

import xlarun
from xlarun.search import Search, Step

DATA = pathlib.Path(__file__).parent / "testdata" / "selfplay"
GAMES = {game["file"]: game for game in json.loads((DATA / "games.json").read_text())}


def positions(member, game):
    position = member.start()
    yield position
    for action in game["actions"]:
        position = member.move(position, action)
        yield position


@pytest.mark.parametrize("name", GAMES)
def test_games(name):
    """The legal actions of each position of a game, its end and its result."""
    game, member = GAMES[name], xlarun.load(DATA / name)
    every = list(positions(member, game))
    for position, legal in zip(every, game["legal"]):
        if not position.over:
            assert np.flatnonzero(member.legal(position)).tolist() == legal
    assert [position.over for position in every] == [False] * len(game["actions"]) + [True]
    assert every[-1].score == pytest.approx(game["score"])


@pytest.mark.parametrize("name", GAMES)
def test_searches(name):
    """The visits, values and actions of searches are those of the Go program for the same seed."""
    game, member = GAMES[name], xlarun.load(DATA / name)
    every = list(positions(member, game))
    for want in game["searches"]:
        position = every[want["move"]]
        legal = member.legal(position)
        logits, _ = member.outputs(position)
        prior = np.where(legal, np.exp(logits - logits[legal].max()), 0)
        np.testing.assert_allclose(prior / prior.sum(), want["prior"], atol=1e-5)
        found = member.search(position, seed=want["seed"], noise="gumbel" if want["sampled"] else None)
        assert found.visits.tolist() == want["visits"]
        assert found.action == want["action"]
        np.testing.assert_allclose(found.values, want["values"], atol=1e-5)
        np.testing.assert_allclose(found.weights, want["weights"], atol=1e-5)
        assert found.value == pytest.approx(want["value"], abs=1e-5)
        if not want["sampled"]:
            assert member.act(position, seed=want["seed"]) == want["action"]


def test_moves_that_are_not_legal():
    member = xlarun.load(DATA / "tictactoe.safetensors")
    after = member.move(member.start(), 4)
    for action in (4, -1, 9):
        with pytest.raises(ValueError, match=f"the action {action} is not legal: the legal ones are 0, 1"):
            member.move(after, action)
    over = list(positions(member, GAMES["tictactoe.safetensors"]))[-1]
    for call in (lambda: member.move(over, 0), lambda: member.search(over)):
        with pytest.raises(ValueError, match="the game is over"):
            call()
    with pytest.raises(ValueError, match="simulations got 0"):
        member.act(after, simulations=0)
    with pytest.raises(ValueError, match="the search is PUCT"):
        member.search(after, noise="gumbel")


def test_trees_of_mctx():
    """The searches of the Go program's test against mctx; see third_party/oracles/mctx_trees.py."""
    path = pathlib.Path(__file__).parents[2] / "rollout" / "search" / "testdata" / "mctx_trees.json.gz"
    vectors = json.loads(gzip.decompress(path.read_bytes()))

    def decode(x):
        return np.frombuffer(base64.b64decode(x["data"]), x["dtype"]).reshape(x["shape"])

    model, searched = {name: decode(x) for name, x in vectors["model"].items()}, 0
    for case in vectors["cases"]:
        if case["transform"] != {"puct": "siblings", "gumbel": "mixed"}[case["policy"]]:
            continue
        n = case["actions"]

        def step(state, action):
            after = model["next"][state, action]
            return Step(after, model["reward"][state, action], model["discount"][state, action],
                        model["logits"][after][:n], model["value"][after])

        search = Search(step, case["simulations"], case["policy"], case["considered"], case["depth"])
        games = zip(*(decode(case[name]) for name in ("start", "invalid", "noise", "visits", "qvalues", "action")))
        for start, invalid, noise, visits, values, action in games:
            found = search.run(start, model["logits"][start][:n], model["value"][start], invalid == 0, noise=noise)
            assert found.visits.tolist() == visits[0].tolist(), case["name"]
            np.testing.assert_allclose(found.values, values[0], atol=1e-5)
            assert case["policy"] == "puct" or found.action == action
            searched += 1
    assert searched > 50
