"""Random games of pgx 2.6.0 for envs/board: OUTPUT_DIR/pgx_games.json.gz.

{"versions": {...}, "games": [G]}; every value below is an array (common.py).
  G  2,000 random games of one kind, side by side: "env" (its id in Go), "moves" [2000], how many were played; "actions" uint8 [2000, T], 255
     behind the last one; "mover" packed bits [2000, T], who played each (player 0 began); "winner" int8 [2000], 0, 1 or -1; and "digest"
     uint32 [2000]: a number of all that is to be seen before each move and after the last one, the sum of (2 t + 1) d(t) modulo 2^32 over them,
     t = 0, 1, … moves. d(t) is the sum, over the numbers of the observation (row-major) and then those of the legal mask, each 0 or 1, of that
     number times (2 i + 1) * 2654435761, i its place. The legal mask of a game that is over is all ones.
"""
import os

import jax
import jax.numpy as jnp
import numpy as np
from pgx.connect_four import ConnectFour
from pgx._src.games.hex import GameState
from pgx.hex import Hex, State
from pgx.othello import Othello
from pgx.tic_tac_toe import TicTacToe

from common import encode, out_dir, versions, write

GAMES = 2000


class Hex7(Hex):
    """Hex of side 7: pgx's own rules, but its first state has the arrays of side 11, whatever the size."""

    def __init__(self):
        super().__init__(size=7)

    def _init(self, key):
        order = jnp.array([[0, 1], [1, 0]])[jax.random.bernoulli(key).astype(jnp.int32)]
        return State(current_player=order[0], _player_order=order, _x=GameState(board=jnp.zeros(49, jnp.int32)),
                     observation=jnp.zeros((7, 7, 4), bool), legal_action_mask=jnp.ones(50, bool).at[-1].set(False))


def digest(state):
    bits = jnp.concatenate([state.observation.reshape(-1), state.legal_action_mask]).astype(jnp.uint32)
    i = jnp.arange(bits.shape[0], dtype=jnp.uint32)
    return (bits * ((2 * i + 1) * jnp.uint32(2654435761))).sum(dtype=jnp.uint32)


def play(env, longest, seed):
    def one(key):
        state = env.init(key)
        first = state.current_player

        def move(state, key):
            action = jax.random.categorical(key, jnp.where(state.legal_action_mask, 0.0, -jnp.inf))
            over = state.terminated
            seen = jnp.where(over, 0, digest(state))
            new = env.step(state, action)
            new = jax.tree.map(lambda a, b: jnp.where(over, a, b), state, new)
            mover = state.current_player ^ first
            ended = ~over & new.terminated
            won = jnp.where(ended, new.rewards[first], 0.0)
            return new, (jnp.where(over, 255, action).astype(jnp.uint8), jnp.where(over, 0, mover).astype(bool), seen, ended, won, digest(new))

        state, (actions, movers, seen, ended, won, after) = jax.lax.scan(move, state, jax.random.split(jax.random.fold_in(key, 1), longest))
        moves = (actions != 255).sum()
        digests = jnp.zeros(longest + 1, jnp.uint32).at[:longest].set(seen)
        digests = digests.at[moves].set(after[moves - 1])
        times = 2 * jnp.arange(longest + 1, dtype=jnp.uint32) + 1
        return state.terminated, moves, actions, movers, won.sum(), (times * digests).sum(dtype=jnp.uint32)

    return jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(seed), GAMES))


def main():
    folder = out_dir(__doc__)
    games = []
    for seed, (name, env, longest) in enumerate([("TicTacToe-v1", TicTacToe(), 9), ("ConnectFour-v1", ConnectFour(), 42), ("Hex-v1", Hex7(), 50),
                                                 ("Othello-v1", Othello(), 100)]):
        over, moves, actions, movers, won, digests = play(env, longest, seed)
        assert bool(over.all()), name
        most = int(moves.max())
        winner = np.where(np.asarray(won) > 0, 0, np.where(np.asarray(won) < 0, 1, -1)).astype(np.int8)
        games.append({"env": name, "moves": encode(np.asarray(moves, np.uint8)), "actions": encode(np.asarray(actions)[:, :most]),
                      "mover": encode(np.packbits(np.asarray(movers)[:, :most], axis=1)), "winner": encode(winner),
                      "digest": encode(digests)})
        print(name, most, np.bincount(winner + 1))
    write(os.path.join(folder, "pgx_games.json.gz"), {"versions": versions("pgx"), "games": games})


main()
