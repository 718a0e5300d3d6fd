"""Forage-L0-v1 and Forage-L2-v1 of xlarun's envs/levels in JAX as users of gymnax write them: grids of bools, vmap(members) of
scan(steps). The policies are a GRU, and the network of LIF neurons of spiking_jax.py. Two words of 32 random bits are all chances of a
step, and are cut as in xlarun: a test of cmd/xlarun-bench/bench/aotbench compares what check prints.

usage: forage_jax.py play LEVEL MEMBERS STEPS gru:UNITS|spiking:A,B  the members' mean return; LEVEL is L0 or L2
       forage_jax.py check LEVEL SEED STEPS ACTION,...               an episode that plays these actions again and again
       forage_jax.py outputs gru:UNITS|spiking:A,B STEPS             outputs of a policy with given parameters and observations"""
import json, sys
from typing import NamedTuple
from serve import serve_jax
import jax, jax.numpy as jnp, numpy as np
from jax import random as R
import spiking_jax

MOVES = jnp.array([[-1, 0], [0, 1], [1, 0], [0, -1], [0, 0]], jnp.int32)  # north, east, south, west, stay: rows and columns
REACH = 2
AROUND = jnp.arange(-REACH, REACH + 1)
f32 = lambda x: jnp.asarray(x, jnp.float32)


def words(key):
    """Two words of random bits. With 64 bits, where check runs, they are the halves of a number, as xlarun draws them."""
    if jax.config.jax_enable_x64:
        x = R.bits(key, (), jnp.uint64)
        return jnp.stack([x >> 32, x]).astype(jnp.uint32)
    return R.bits(key, (2,), jnp.uint32)

def part(word, low, bits): return ((word >> low) & ((1 << bits) - 1)).astype(jnp.int32)

def scatter(key, side, *densities):
    """Objects [kinds, side, side], at most one in a cell, none near the middle."""
    u = R.uniform(key, (side, side), jnp.float32)
    near = jnp.abs(jnp.arange(side) - side // 2) <= 1
    edges = np.cumsum(np.array([0, *densities], np.float32), dtype=np.float32)
    return jnp.stack([(u >= a) & (u < b) for a, b in zip(edges, edges[1:])]) & ~(near[:, None] & near)

def view(grid, pos):
    side = grid.shape[-1]
    return grid[:, ((pos[0] + AROUND) % side)[:, None], (pos[1] + AROUND) % side]

def cells(side, row, column):
    """One cell of a grid, or of each of several, as a mask: cheaper than scatters, above all on a TPU."""
    i = jnp.arange(side)
    return (i == row[..., None])[..., :, None] & (i == column[..., None])[..., None, :]

def grow(grid, before, here, cell, targets):
    """One object of each kind with less than its target grows in its cell, if that was empty and is not the forager's."""
    side = grid.shape[-1]
    few = grid.sum((1, 2)) < jnp.array(targets, jnp.float32)
    return grid | (cells(side, cell // side, cell % side) & few[:, None, None] & ~before.any(0) & ~here)


class L0:
    """Food on a torus of 8 x 8."""
    SIDE, FOOD, ENDS, INPUTS, ACTIONS = 8, .15, 100, 25, 4
    class State(NamedTuple): grid: jax.Array; pos: jax.Array; time: jax.Array

    def reset(key): return L0.State(scatter(key, L0.SIDE, L0.FOOD), jnp.full(2, L0.SIDE // 2, jnp.int32), jnp.int32(0))

    def observe(s): return f32(view(s.grid, s.pos)).ravel()

    def step(key, s, action):
        pos = (s.pos + MOVES[action]) % L0.SIDE
        found = f32(s.grid[0, pos[0], pos[1]])
        cell = part(R.bits(key, (), jnp.uint32), 0, 6)
        here = cells(L0.SIDE, *pos)
        grid = grow(s.grid & ~here, s.grid, here, cell[None], [L0.FOOD * L0.SIDE ** 2])
        return L0.State(grid, pos, s.time + 1), found, s.time + 1 >= L0.ENDS


class L2:
    """Two kinds of berries, of which one is good, walls and predators on a torus of 16 x 16."""
    SIDE, BERRIES, WALLS, ENDS, INPUTS, ACTIONS = 16, .1, .05, 200, 102, 5
    REVERSAL, REMINDER, SPEED, BITE, PREDATORS = .01, 0., .25, 1., 2
    class State(NamedTuple):
        grid: jax.Array; pos: jax.Array; predators: jax.Array; good: jax.Array; cue: jax.Array; time: jax.Array

    def wrap(d): return (d + L2.SIDE // 2) % L2.SIDE - L2.SIDE // 2

    def reset(key):
        field, kind = R.split(key)
        far = jnp.array([[0, -L2.SIDE // 2], [-L2.SIDE // 2, -L2.SIDE // 2]], jnp.int32)
        return L2.State(scatter(field, L2.SIDE, L2.BERRIES, L2.BERRIES, L2.WALLS), jnp.full(2, L2.SIDE // 2, jnp.int32), far,
                        part(R.bits(kind, (), jnp.uint32), 0, 1), jnp.bool_(True), jnp.int32(0))

    def observe(s):
        seen = (s.predators[:, 0, None, None] == AROUND[:, None]) & (s.predators[:, 1, None, None] == AROUND)
        cue = s.cue & (s.good == jnp.arange(2))
        return jnp.concatenate([f32(view(s.grid, s.pos)).ravel(), f32(seen.any(0)).ravel(), f32(cue)])

    def step(key, s, action):
        a, b = words(key)
        pos = (s.pos + MOVES[action]) % L2.SIDE
        pos = jnp.where(s.grid[2, pos[0], pos[1]], s.pos, pos)
        found = f32(s.grid[:, pos[0], pos[1]])
        one = part(a, 0, 8)
        other = (one + (part(a, 8, 8) * 255 >> 8) + 1) % L2.SIDE ** 2
        here = cells(L2.SIDE, *pos)
        grid = grow(s.grid & ~here, s.grid, here, jnp.stack([one, other, 0]), [L2.BERRIES * L2.SIDE ** 2] * 2 + [0])
        # The predators, by their distances from the forager.
        d, i = L2.wrap(s.predators - (pos - s.pos)), jnp.arange(L2.PREDATORS)
        moves = f32(part(b, 8 * i, 8)) < L2.SPEED * 256
        axis = (1 - part(a, 16 + i, 1))[:, None] == jnp.arange(2)
        after = d - jnp.where(moves[:, None] & axis, jnp.sign(d), 0)
        caught = (d == 0).all(1) | (after == 0).all(1)
        reward = jnp.where(s.good == 0, 1., -1.) * (found[0] - found[1]) - L2.BITE * f32(caught.sum())
        turned = f32(part(b, 16, 16)) < L2.REVERSAL * 65536
        reminded = f32(part(a, 18, 14)) < L2.REMINDER * 16384
        return L2.State(grid, pos, jnp.where(caught[:, None], -L2.SIDE // 2, after), s.good ^ turned, turned | reminded,
                        s.time + 1), f32(reward), s.time + 1 >= L2.ENDS


class GRU:
    """A gated recurrent unit and a linear layer."""
    def __init__(self, units): self.units = int(units)

    def init(self, key, inputs, outputs):
        k, n = R.split(key, 3), self.units
        normal = lambda k, *s: R.normal(k, s) / np.float32(np.sqrt(s[0]))
        return dict(wx=normal(k[0], inputs, 3 * n), wh=normal(k[1], n, 3 * n), b=jnp.zeros(3 * n), bn=jnp.zeros(n),
                    w=normal(k[2], n, outputs), b_out=jnp.zeros(outputs))

    def start(self, p): return jnp.zeros(self.units)
    def prepare(self, p): return p

    def act(self, p, h, x):
        xr, xz, xn = jnp.split(x @ p["wx"] + p["b"], 3)
        hr, hz, hn = jnp.split(h @ p["wh"], 3)
        r, z = jax.nn.sigmoid(xr + hr), jax.nn.sigmoid(xz + hz)
        h = (1 - z) * jnp.tanh(xn + r * (hn + p["bn"])) + z * h
        return h, h @ p["w"] + p["b_out"]


class Spiking:
    """LIF neurons in 8 substeps a step, read by leaky integrators: spiking_jax.py has the equations."""
    def __init__(self, hidden): self.hidden = [int(n) for n in hidden.split(",")]
    def init(self, key, inputs, outputs): return spiking_jax.genes(key, [inputs, *self.hidden, outputs])
    def prepare(self, p): return spiking_jax.neurons(p)
    def start(self, p): return spiking_jax.rest(p)

    def act(self, p, carry, x):
        carry = spiking_jax.substeps(p, carry, x, 8)
        return carry, carry[1]


def policy(text):
    name, numbers = text.split(":")
    return dict(gru=GRU, spiking=Spiking)[name](numbers)

def play(level, members, steps, net):
    level, net = dict(L0=L0, L2=L2)[level], policy(net)
    def episode(params, key):
        p = net.prepare(params)
        key, k = R.split(key)
        def step(carry, _):
            s, memory, key, total, alive = carry
            key, k = R.split(key)
            memory, outputs = net.act(p, memory, level.observe(s))
            s, reward, done = level.step(k, s, jnp.argmax(outputs))
            return (s, memory, key, total + reward * alive, alive * (1 - f32(done))), None
        start = (level.reset(k), net.start(p), key, jnp.float32(0), jnp.float32(1))
        return jax.lax.scan(step, start, None, length=int(steps))[0][3]
    params = jax.vmap(lambda k: net.init(k, level.INPUTS, level.ACTIONS))(R.split(R.key(0), int(members)))
    serve_jax(lambda p, k: jnp.mean(jax.vmap(episode)(p, k)), (params, R.split(R.key(1), int(members))))

def check(name, seed, steps, actions):
    """Rewards, ends, and of each observation the sum of its numbers, each times its place from 1 on."""
    jax.config.update("jax_enable_x64", True)
    level, key, actions = dict(L0=L0, L2=L2)[name], R.key(int(seed)), [int(a) for a in actions.split(",")]
    def one(s, x):
        t, action = x
        seen = jnp.dot(level.observe(s), f32(jnp.arange(1, level.INPUTS + 1)))
        s, reward, done = level.step(R.fold_in(key, t), s, action)
        return s, (seen, reward, done)
    t = np.arange(int(steps), dtype=np.int32)
    plays = jnp.array([actions[i % len(actions)] for i in t], jnp.int32)
    _, (seen, rewards, done) = jax.lax.scan(one, level.reset(R.fold_in(key, 0)), (t + 1, plays))
    print(json.dumps(dict(env=f"Forage-{name}-v1", seed=int(seed), actions=actions, rewards=[float(r) for r in rewards],
                          observations=[float(x) for x in seen], end=1 + int(np.argmax(done)))))

def outputs(text, steps):
    """Parameters are numbers of spiking_jax.uniform, one seed an array; observations spiking_jax.trains."""
    net, seed = policy(text), iter(range(1, 100))
    params = jax.tree.map(lambda x: jnp.asarray(spiking_jax.uniform(next(seed), 1, *x.shape)), net.init(R.key(0), L0.INPUTS, L0.ACTIONS))
    p = net.prepare(params)
    seen = (spiking_jax.number(100, (int(steps), L0.INPUTS)) % 2).astype(np.float32)
    _, out = jax.lax.scan(lambda carry, x: net.act(p, carry, x), net.start(p), seen)
    print(json.dumps(dict(policy=text, outputs=np.asarray(out).tolist())))

if __name__ == "__main__":
    dict(play=play, check=check, outputs=outputs)[sys.argv[1]](*sys.argv[2:])
