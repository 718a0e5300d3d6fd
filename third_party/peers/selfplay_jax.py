"""Self-play on the clique game with mctx, one training step of a graph network with JAX and optax, and batches made by a loop on the host.

usage: selfplay_jax.py search VERTICES K GAMES SIMULATIONS gumbel|puct
       selfplay_jax.py train VERTICES BATCH WIDTH ROUNDS
       selfplay_jax.py batch VERTICES BATCH
Two players color the edges of the complete graph in turn; who first closes a clique of K in one color wins. `search` plays all games to
the last edge in one program, games that are over go on in vain, as the simulations that it counts do."""
import itertools
import sys

import jax
import jax.numpy as jnp
import numpy as np

from serve import serve

mode, args = sys.argv[1], sys.argv[2:]
vertices = int(args[0])
pairs = list(itertools.combinations(range(vertices), 2))
edges = len(pairs)


def search():
    import mctx

    k, games, simulations, policy = int(args[1]), int(args[2]), int(args[3]), args[4]
    number = {p: i for i, p in enumerate(pairs)}
    cliques = jnp.array([[number[p] for p in itertools.combinations(c, 2)] for c in itertools.combinations(range(vertices), k)])
    hidden = 64
    keys = jax.random.split(jax.random.key(0), 4)
    shapes = [(3 * edges, hidden), (hidden, hidden), (hidden, edges), (hidden, 1)]
    weights = [jax.random.normal(key, s) * 0.1 for key, s in zip(keys, shapes)]

    def network(w, board, player):
        mine, other = board == player, board == 3 - player
        x = jnp.stack([mine, other, jnp.full(edges, player == 2)], -1).astype(jnp.float32).reshape(-1)
        x = jax.nn.relu(jax.nn.relu(x @ w[0]) @ w[1])
        return jnp.where(board == 0, x @ w[2], -1e9), jnp.tanh(x @ w[3])[0]

    evaluate = jax.vmap(network, (None, 0, 0))

    @jax.vmap
    def move(board, player, action):
        board = board.at[action].set(player)
        won = (board[cliques] == player).all(-1).any()
        return board, 3 - player, won.astype(jnp.float32), won | (board != 0).all()

    def recurrent(w, key, action, at):
        board, player, over = at
        board, following, won, ends = move(board, player, action)
        logits, value = evaluate(w, board, following)
        ends = ends | over
        return mctx.RecurrentFnOutput(reward=jnp.where(over, 0, won), discount=jnp.where(ends, 0.0, -1.0), prior_logits=logits,
                                      value=jnp.where(ends, 0, value)), (board, following, ends)

    searched = mctx.gumbel_muzero_policy if policy == "gumbel" else mctx.muzero_policy

    @jax.jit
    def play(w, key):
        def turn(at, key):
            board, player, over = at
            logits, value = evaluate(w, board, player)
            root = mctx.RootFnOutput(prior_logits=logits, value=value, embedding=at)
            found = searched(w, key, root, recurrent, simulations, invalid_actions=board != 0)
            after, following, _, ends = move(board, player, found.action)
            keep = lambda a, b: jnp.where(over.reshape((-1,) + (1,) * (a.ndim - 1)), a, b)
            return (keep(board, after), keep(player, following), over | ends), found.action_weights.sum()

        start = (jnp.zeros((games, edges), jnp.int8), jnp.ones(games, jnp.int8), jnp.zeros(games, bool))
        return jax.lax.scan(turn, start, jax.random.split(key, edges))

    numbers = itertools.count()
    serve(waiting(lambda: play(weights, jax.random.key(next(numbers)))), per=games * edges * simulations / 1e6)


def waiting(f):
    def run():
        jax.block_until_ready(f())
        return 0.0
    return run


def graph_network(width, rounds):
    ends = np.zeros((vertices, edges), np.float32)
    for e, (a, b) in enumerate(pairs):
        ends[a, e] = ends[b, e] = 1
    ends = jnp.array(ends)

    def init(key):
        keys = iter(jax.random.split(key, 4 * rounds + 4))
        dense = lambda n, m: {"w": jax.random.normal(next(keys), (n, m)) * (2 / n) ** 0.5, "b": jnp.zeros(m)}
        return {"in": dense(3, width), "rounds": [[dense(width, width) for _ in range(4)] for _ in range(rounds)], "policy": dense(width, 1),
                "value": dense(width, 1), "deep": dense(width, width)}

    def apply(p, x):
        layer = lambda d, x: x @ d["w"] + d["b"]
        h = jax.nn.relu(layer(p["in"], x))
        for own, shared, everything, out in p["rounds"]:
            neighbors = (ends.T @ (ends @ h) - 2 * h) / (2 * (vertices - 2))
            h = h + jax.nn.relu(layer(own, h) + neighbors @ shared["w"] + h.mean(0) @ everything["w"]) @ out["w"]
        h = jax.nn.relu(h)
        return layer(p["policy"], h)[:, 0], jnp.tanh(layer(p["value"], jax.nn.relu(layer(p["deep"], h.mean(0)))))[0]

    return init, apply


def train():
    import optax

    batch, width, rounds = map(int, args[1:4])
    init, apply = graph_network(width, rounds)
    optimizer = optax.chain(optax.clip_by_global_norm(5.0), optax.adam(3e-3))
    weights = init(jax.random.key(0))
    state = optimizer.init(weights)
    key = jax.random.key(1)
    color = jax.random.randint(key, (4096, edges), 0, 3)
    seen = jnp.stack([color == 1, color == 2, jnp.zeros_like(color, bool)], -1).astype(jnp.float32)
    target = jax.nn.softmax(jnp.where(color == 0, jax.random.normal(key, color.shape), -1e9))
    worth = jax.random.choice(key, jnp.array([-1.0, 1.0]), (4096,))

    def loss(w, x, free, shares, z):
        logits, value = jax.vmap(apply, (None, 0))(w, x)
        policy = -(shares * jax.nn.log_softmax(jnp.where(free, logits, -1e9))).sum(-1).mean()
        return policy + ((value - z) ** 2).mean() + 1e-5 * sum((a**2).sum() for a in jax.tree.leaves(w))

    @jax.jit
    def step(w, s, key):
        at = jax.random.randint(key, (batch,), 0, 4096)
        gradient = jax.grad(loss)(w, seen[at], color[at] == 0, target[at], worth[at])
        updates, s = optimizer.update(gradient, s, w)
        return optax.apply_updates(w, updates), s

    steps = 16

    def several(i):
        w, s = weights, state
        for j in range(steps):
            w, s = step(w, s, jax.random.key(i * steps + j))
        return w

    numbers = itertools.count()
    serve(waiting(lambda: several(next(numbers))), per=steps)


def batch():
    """A training script's loop over stacked host arrays: draw examples, show each by a permutation of the vertices, append, stack, hand over."""
    n, count, shown = int(args[1]), 20000, 1024
    r = np.random.default_rng(0)
    stacked = (r.random((count, edges, 3), np.float32), r.random((count, edges), np.float32), r.random((count, edges)) > 0.5, r.random(count, np.float32))
    number = np.zeros((vertices, vertices), np.int32)
    for e, (a, b) in enumerate(pairs):
        number[a, b] = number[b, a] = e
    ends = np.array(pairs)
    orders = np.stack([number[p[ends[:, 0]], p[ends[:, 1]]] for p in (r.permutation(vertices) for _ in range(shown))])

    def prepare():
        seen, shares, free, worth = stacked
        chosen = [], [], [], []
        for at, s in zip(r.integers(0, count, n), r.integers(0, shown, n)):
            order = orders[s]
            for field, x in zip(chosen, (seen[at][order], shares[at][order], free[at][order], worth[at])):
                field.append(x)
        return [jnp.asarray(np.stack(field)) for field in chosen]

    serve(waiting(prepare))


{"search": search, "train": train, "batch": batch}[mode]()
