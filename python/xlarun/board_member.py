"""A network of selfplay, and its moves."""
from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import threefry
from .functions import count, layer
from .games import Position, game_of
from .search import Found, Search, Step

SETTING = "setting."


class BoardMember:
    """Plays a board game by searching with its network. metadata and arrays are those of the file.

    position = member.start(); action = member.act(position); position = member.move(position, action)
    """

    def __init__(self, arrays: dict[str, NDArray[Any]], metadata: dict[str, str]):
        self.arrays, self.metadata = arrays, metadata
        self.settings = {key[len(SETTING):]: text for key, text in metadata.items() if key.startswith(SETTING)}
        self.game = game_of(self.settings)
        name = self.settings["network"].split(":")[0]
        if name not in networks:
            raise NotImplementedError(f"the network {name} is not among {', '.join(networks)}")
        self._network = networks[name]

    def start(self) -> Position:
        """The first Position of a game."""
        return self.game.position()

    def legal(self, position: Position) -> NDArray[np.bool_]:
        """The mask of the legal actions."""
        return np.asarray(self.game.legal(position.board, position.player), bool)

    def move(self, position: Position, action: int) -> Position:
        """The position after an action. ValueError if the game is over or the action is not legal."""
        if position.over:
            raise ValueError("the game is over")
        if not 0 <= action < self.game.actions or not self.legal(position)[action]:
            raise ValueError(f"the action {action} is not legal: the legal ones are "
                             f"{', '.join(map(str, np.flatnonzero(self.legal(position))))}")
        return self.game.move(position, action)

    def outputs(self, position: Position) -> tuple[NDArray[np.float32], np.float32]:
        """The network's logits, [actions], and its value for the player to move, from -1 to 1."""
        observation = self.game.observe(position.board, position.player)
        logits, value = self._network(self.arrays, observation, self.game)
        return logits, np.tanh(value[0])

    def search(self, position: Position, simulations: int | None = None, seed: int = 0,
               noise: ArrayLike | Literal["gumbel"] | None = None) -> Found:
        """A Found: the visits and values of the actions, and the action to play.

        It is the search of xlarun play, without noise, whose seed is 0. simulations: as many as in the run. noise, a
        number for each action: Gumbel noise, "gumbel" for draws from the seed as in self-play; of PUCT, Dirichlet noise
        in the prior.
        """
        if position.over:
            raise ValueError("the game is over")
        s = self.settings
        simulations = int(s["num-simulations"]) if simulations is None else simulations
        if simulations < 1:
            raise ValueError(f"simulations got {simulations}, want 1 or more")
        search = Search(self._step, simulations, s["search"], int(s["considered"]), int(s["max-depth"]))
        legal = self.legal(position)
        logits, value = self.outputs(position)
        if isinstance(noise, str) and noise == "gumbel":
            if not search.gumbel:
                raise ValueError('noise got "gumbel", but the search is PUCT: give Dirichlet noise, a number an action')
            noise = threefry.gumbel(threefry.fold(threefry.key(seed), 0), len(legal))
        return search.run(position, np.where(legal, logits, np.float32(-1e9)), value, legal, seed, noise)

    def act(self, position: Position, simulations: int | None = None, seed: int = 0) -> int:
        """The action that the search finds."""
        return self.search(position, simulations, seed).action

    def _step(self, position, action):
        zero = np.float32(0)
        if position.over:
            return Step(position, zero, zero, np.zeros(self.game.actions, np.float32), zero)
        after = self.game.move(position, action)
        reward = np.float32((after.score - position.score) * (1 - 2 * position.player))
        if after.over:
            return Step(after, reward, zero, np.zeros(self.game.actions, np.float32), zero)
        logits, value = self.outputs(after)
        logits = np.where(self.game.legal(after.board, after.player), logits, np.float32(-1e9))
        return Step(after, reward, np.float32(1 if self.game.players == 1 else -1), logits, value)


def relu(x):
    return np.maximum(x, 0)


def mlp(arrays, x, game):
    x = x.reshape(-1)
    for i in range(count(arrays, "Hidden", ".W")):
        x = relu(layer(arrays, f"Hidden.{i}", x))
    return layer(arrays, "Policy", x), layer(arrays, "Value", x)


def graph(arrays, x, game):
    """Edges send messages to those that they share a vertex with."""
    n = game.vertices
    ends = np.zeros((n, game.edges), np.float32)
    for e, pair in enumerate(game.ends):
        ends[pair, e] = 1
    h = relu(layer(arrays, "In", x))
    for i in range(count(arrays, "Rounds", ".Out")):
        at = f"Rounds.{i}."
        weights = arrays[at + "Shared"] / np.float32(2 * (n - 2))
        shared = ends.T @ (ends @ h) @ weights - 2 * (h @ weights)  # without the edge itself
        x = relu(layer(arrays, at + "Own", h) + shared + h.mean(0) @ arrays[at + "All"])
        h = h + x @ arrays[at + "Out"]
    h = relu(h)
    return layer(arrays, "Policy", h).T.reshape(-1), layer(arrays, "Value", relu(layer(arrays, "Deep", h.mean(0))))


def tower(arrays, x, game):
    """Residual convolutions. The picture of a graph is its adjacency matrix."""
    if hasattr(game, "number"):
        x = np.where(np.eye(game.vertices, dtype=bool)[..., None], np.float32(0), x[game.number])
    x = relu(conv(arrays, "In", x))
    for i in range(count(arrays, "Blocks", ".First.W")):
        x = relu(x + conv(arrays, f"Blocks.{i}.Second", relu(conv(arrays, f"Blocks.{i}.First", x))))
    logits = layer(arrays, "Action", relu(conv(arrays, "Policy", x)).reshape(-1))
    deep = relu(layer(arrays, "Deep", relu(conv(arrays, "Value", x)).reshape(-1)))
    return logits, layer(arrays, "Worth", deep)


def conv(arrays, name, x):
    """A convolution with zeros around the picture."""
    w = arrays[name + ".W"]  # height, width, in, out
    around = len(w) // 2
    x = np.pad(x, [(around, around)] * 2 + [(0, 0)])
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[:2], (0, 1))
    return np.einsum("yxcij,ijco->yxo", windows, w) + arrays[name + ".B"]


networks = {"mlp": mlp, "graph": graph, "tower": tower}
