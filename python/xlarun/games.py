"""The board games of selfplay. The rules are those of the Go program (envs/board)."""
import itertools
from typing import Any, NamedTuple

import numpy as np


class Position(NamedTuple):
    board: Any
    player: int = 0  # to move: 0 or 1
    over: bool = False
    score: float = 0.0  # of player 0: 1 for a win, -1 for a loss; of a puzzle, the part of the edges that is colored


class Game:
    """A game of two players. A subclass has actions, start(), legal(board, player), observe(board, player), and
    move(board, player, action), which returns the next board and the result: None while the game goes on, else 1, 0 or
    -1 for the player who moved. Boards do not change."""
    players = 2

    def position(self):
        """The first position."""
        return Position(self.start())

    def move(self, position, action):
        """The position after a move. An illegal move loses."""
        if position.over:
            return position
        sign = 1 - 2 * position.player
        if not self.legal(position.board, position.player)[action]:
            return position._replace(over=True, score=-float(sign))
        board, result = self.play(position.board, position.player, action)
        return Position(board, 1 - position.player, result is not None, float(sign * (result or 0)))


def own_and_other(cells, player):
    return np.stack([cells == player + 1, cells == 2 - player], -1).astype(np.float32)


class Lines(Game):
    """Tic-tac-toe and Connect Four. A board has 0 for empty cells, 1 and 2 for those of player 0 and 1."""

    def __init__(self, rows, columns, length, falls):
        self.shape, self.length, self.falls = (rows, columns), length, falls
        self.actions = columns if falls else rows * columns

    def start(self):
        return np.zeros(self.shape, np.int8)

    def legal(self, board, player):
        return board[0] == 0 if self.falls else board.reshape(-1) == 0

    def play(self, board, player, action):
        row, column = divmod(action, self.shape[1])
        if self.falls:
            row = (board[:, action] == 0).sum() - 1
        board = board.copy()
        board[row, column] = player + 1
        own = np.pad(board == player + 1, self.length)
        steps = np.arange(1 - self.length, self.length)
        for dy, dx in ((0, 1), (1, 0), (1, 1), (1, -1)):
            line = own[row + self.length + dy * steps, column + self.length + dx * steps]
            if any(line[i:i + self.length].all() for i in range(self.length)):
                return board, 1
        return board, None if (board == 0).any() else 0

    def observe(self, board, player):
        return own_and_other(board, player)


class Hex(Game):
    """A board is the cells, and the number of moves. The last action is the swap."""

    def __init__(self, side):
        self.side, self.actions = side, side * side + 1

    def start(self):
        return np.zeros((self.side, self.side), np.int8), 0

    def legal(self, board, player):
        return np.append(board[0].reshape(-1) == 0, board[1] == 1)

    def play(self, board, player, action):
        cells, moves = board
        if action == self.side * self.side:
            return ((cells != 0).T * np.int8(player + 1), moves + 1), None
        cells = cells.copy()
        cells.reshape(-1)[action] = player + 1
        group, open_cells = set(), [divmod(action, self.side)]
        while open_cells:
            y, x = cell = open_cells.pop()
            if 0 <= y < self.side and 0 <= x < self.side and cells[cell] == player + 1 and cell not in group:
                group.add(cell)
                open_cells += [(y, x - 1), (y + 1, x - 1), (y - 1, x), (y + 1, x), (y - 1, x + 1), (y, x + 1)]
        ends = {cell[player] for cell in group}  # player 0 connects top and bottom, player 1 left and right
        return (cells, moves + 1), 1 if {0, self.side - 1} <= ends else None

    def observe(self, board, player):
        cells, moves = board
        planes = [np.full_like(cells, player), np.full_like(cells, moves == 1)]
        return np.concatenate([own_and_other(cells, player), np.stack(planes, -1)], -1).astype(np.float32)


class Othello(Game):
    """A board is the cells, and whether the last move was a pass. The last action is the pass."""
    actions = 65

    def start(self):
        cells = np.zeros((8, 8), np.int8)
        cells[3, 4] = cells[4, 3] = 1
        cells[3, 3] = cells[4, 4] = 2
        return cells, False

    @staticmethod
    def turned(cells, player, cell):
        """The opponent's stones that a stone in this cell encloses."""
        found = []
        for dy, dx in itertools.product((-1, 0, 1), repeat=2):
            run, (y, x) = [], (cell[0] + dy, cell[1] + dx)
            while 0 <= y < 8 and 0 <= x < 8 and cells[y, x] == 2 - player:
                run.append((y, x))
                y, x = y + dy, x + dx
            if 0 <= y < 8 and 0 <= x < 8 and cells[y, x] == player + 1:
                found += run
        return found

    def legal(self, board, player):
        cells, _ = board
        legal = [bool(cells[cell] == 0 and self.turned(cells, player, cell)) for cell in np.ndindex(8, 8)]
        return np.array([*legal, not any(legal)])

    def play(self, board, player, action):
        (cells, passed), pass_now = board, action == 64
        if not pass_now:
            cell, cells = divmod(action, 8), cells.copy()
            for place in [cell, *self.turned(cells, player, cell)]:
                cells[place] = player + 1
        own, other = (cells == player + 1).sum(), (cells == 2 - player).sum()
        ends = own + other == 64 or other == 0 or passed and pass_now
        return (cells, pass_now), int(np.sign(own - other)) if ends else None

    def observe(self, board, player):
        return own_and_other(board[0], player)


class Coloring(Game):
    """The edges of a complete graph get two colors. A board is bool[2, edges]. The first who closes a clique of k
    vertices in its color wins ("maker") or loses ("avoid")."""

    def __init__(self, vertices, k, variant):
        self.vertices, self.k, self.variant = vertices, k, variant
        self.ends = list(itertools.combinations(range(vertices), 2))
        self.edges = self.actions = len(self.ends)
        self.number = np.zeros((vertices, vertices), int)
        for e, (a, b) in enumerate(self.ends):
            self.number[a, b] = self.number[b, a] = e

    def start(self):
        return np.zeros((2, self.edges), bool)

    def legal(self, board, player):
        return ~board.any(0)

    def closes(self, own, edge, k):
        """Whether an edge of a color is in a clique of k vertices of that color."""
        linked = own[self.number] & ~np.eye(self.vertices, dtype=bool)

        def clique(among, size):
            if size == 0:
                return True
            return any(clique(among[i + 1:][linked[v, among[i + 1:]]], size - 1) for i, v in enumerate(among))

        a, b = self.ends[edge]
        return clique(np.flatnonzero(linked[a] & linked[b]), k - 2)

    def play(self, board, player, action):
        board = board.copy()
        board[player, action] = True
        if self.closes(board[player], action, self.k[player]):
            return board, 1 if self.variant == "maker" else -1
        return board, None if (~board.any(0)).any() else 0

    def observe(self, board, player):
        planes = [board[player], board[1 - player], np.full(self.edges, player)]
        return np.stack(planes, -1).astype(np.float32)


class Ramsey(Coloring):
    """The puzzle of coloring all edges without a clique. Action e colors edge e in the first color, action edges + e in
    the second. With a rotation, an edge and its images under rotations by so many vertices are colored together."""
    players = 1

    def __init__(self, vertices, k, rotation):
        super().__init__(vertices, k, "ramsey")
        self.actions = 2 * self.edges
        self.images = np.eye(self.edges, dtype=bool)
        for e, (a, b) in enumerate(self.ends):
            for by in range(0, vertices, rotation) if rotation else ():
                self.images[e, self.number[(a + by) % vertices, (b + by) % vertices]] = True

    def legal(self, board, player):
        """The colors that close no clique, of the free edge with the fewest; both where there are none."""
        free = ~board.any(0)
        open_colors = np.array([[bool(free[e]) and not self.closes(own | self.images[e], e, k)
                                 for e in range(self.edges)] for own, k in zip(board, self.k)])
        here = np.arange(self.edges) == np.argmin(np.where(free, open_colors.sum(0), 3))
        chosen = open_colors & here
        return (chosen if chosen.any() else np.stack([here, here])).reshape(-1)

    def move(self, position, action):
        if position.over:
            return position
        color, edge = divmod(action, self.edges)
        board = position.board.copy()
        fails = bool(board[:, edge].any())
        board[color] |= self.images[edge]
        fails = fails or self.closes(board[color], edge, self.k[color])
        share = 0 if fails else float(self.images[edge].sum() / self.edges)
        return Position(board, 0, bool(fails or board.any(0).all()), position.score + share)

    def observe(self, board, player):
        return board.T.astype(np.float32)


def game_of(settings):
    """The game of the settings of a run of selfplay."""
    name = settings["game"]
    if name == "clique":
        vertices, k = int(settings["vertices"]), [int(n) for n in settings["k"].split(",")]
        k = [k[0], k[-1]]
        if settings["variant"] == "ramsey":
            return Ramsey(vertices, k, int(settings.get("rotation", 0)))
        return Coloring(vertices, k, settings["variant"])
    games = {"tictactoe": lambda: Lines(3, 3, 3, False), "connectfour": lambda: Lines(6, 7, 4, True),
             "hex": lambda: Hex(7), "othello": Othello}
    if name not in games:
        raise NotImplementedError(f"the game {name} is not among clique, {', '.join(games)}")
    return games[name]()
