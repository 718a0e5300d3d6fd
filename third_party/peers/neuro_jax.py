"""The workloads of xlarun bench neuro in JAX, as a careful user writes them.

usage: neuro_jax.py play ENV POP STEPS POLICY     ENV: a name of gymnax, Forage-L1-v1 or Forage-L2-v1; POLICY: mlp:A,B gru:N
       neuro_jax.py breakout POP STEPS CHANNELS HIDDEN
       neuro_jax.py generation cmaes|openes DIMENSIONS POP
       neuro_jax.py rewards ENV SEED STEPS ACTION,...    rewards of an episode that plays these actions again and again
"""
import itertools, json, sys, time
from serve import serve, serve_jax
import numpy as np
import jax, jax.numpy as jnp
from jax import random as R
from jax.extend.random import threefry_2x32

SIDE, REACH, WIDE = 16, 2, 5


# --- Forage-L1-v1 and Forage-L2-v1, of envs/levels: rows of the field are words of bits, as there ---

def i32(x): return jnp.asarray(x).astype(jnp.int32)
def f32(x): return jnp.asarray(x).astype(jnp.float32)
def shr(x, n): return jax.lax.shift_right_logical(*jnp.broadcast_arrays(x, i32(n)))
def bit(words, x): return shr(words, x) & 1
def word(key): return jax.lax.bitcast_convert_type(R.bits(key, (), jnp.uint32), jnp.int32)

def scatter(key, densities):
    u = R.uniform(key, (SIDE, SIDE))
    near = jnp.abs(jnp.arange(SIDE) - SIDE // 2) <= 1
    free = ~(near[:, None] & near[None, :])
    layers, low = [], jnp.float32(0)
    for d in densities:
        high = low + jnp.float32(d)
        there = free & (u >= low) & (u < high)
        layers.append(jnp.sum(i32(there) << jnp.arange(SIDE), 1, dtype=jnp.int32))
        low = high
    return jnp.stack(layers)

def view_from(words, x, y):
    row = (jnp.arange(SIDE) + REACH - y) & (SIDE - 1)
    first = (x - REACH) & (SIDE - 1)
    seen = (shr(words, first) | (words << (SIDE - first))) & ((1 << WIDE) - 1)
    seen = seen << (jnp.minimum(row, WIDE - 1) * WIDE)
    return jnp.sum(jnp.where(row < WIDE, seen, 0), 1, dtype=jnp.int32)

def walk(x, y, view, action):
    dx, dy = i32(action == 1) - i32(action == 3), i32(action == 2) - i32(action == 0)
    cell = lambda dx, dy: dy * WIDE + dx + REACH * WIDE + REACH
    wall_free = 1 - bit(view[2], cell(dx, dy))
    dx, dy = dx * wall_free, dy * wall_free
    return (x + dx) & (SIDE - 1), (y + dy) & (SIDE - 1), dx, dy, f32(bit(view, cell(dx, dy)))

def cells(w):
    one = w & 255
    return jnp.stack([one, (one + shr((shr(w, 8) & 255) * 255, 8) + 1) & 255, jnp.int32(0)])

def eaten(words, x, y, where, has, want):
    at = lambda row, x: jnp.where(jnp.arange(SIDE) == row, jnp.int32(1) << x, 0)
    here = at(y, x)
    row = jnp.where(has < want, shr(where, 4), -1)
    fresh = at(row[:, None], (where & (SIDE - 1))[:, None])
    fresh = fresh & ~(jax.lax.reduce_or(words, (0,)) | here)
    return (words & ~here) | fresh, has + f32(jnp.sum(i32(fresh != 0), 1))

def observation(layers, further):
    seen = (shr(jnp.stack(layers)[:, None], jnp.arange(WIDE * WIDE)) & 1).reshape(-1)
    return jnp.concatenate([f32(seen), jnp.stack(further)])

def count(words): return f32(jnp.sum(jax.lax.population_count(words), 1))


class L1:
    actions, steps = 5, 200

    def reset(self, key):
        words = scatter(key, [.1, .1, .1]); x = y = jnp.int32(SIDE // 2)
        return dict(field=words, view=view_from(words, x, y), have=count(words), energy=jnp.float32(1), x=x, y=y, time=jnp.int32(0))

    def observe(self, s): return observation([s["view"][0], s["view"][1], s["view"][2]], [s["energy"]])

    def step(self, key, s, action):
        x, y, _, _, found = walk(s["x"], s["y"], s["view"], action)
        fed, hurt = found[0], found[1]
        want = jnp.array([.1 * 256, .1 * 256, 0], jnp.float32)
        words, have = eaten(s["field"], x, y, cells(word(key)), s["have"] - found, want)
        energy = s["energy"] + fed * jnp.float32(.1) - (jnp.float32(.02) + hurt * jnp.float32(.1))
        time = s["time"] + 1
        n = dict(field=words, view=view_from(words, x, y), have=have, energy=jnp.clip(energy, 0, 1), x=x, y=y, time=time)
        return n, fed - hurt, (energy <= 0) | (time >= self.steps)


class L2:
    actions, steps = 5, 200

    def reset(self, key):
        of_field, of_kind = R.split(key)
        words = scatter(of_field, [.1, .1, .05]); x = y = jnp.int32(SIDE // 2)
        return dict(field=words, view=view_from(words, x, y), have=count(words), east=jnp.full(2, -8, jnp.int32),
                    south=jnp.arange(2, dtype=jnp.int32) * -8, good=bit(word(of_kind), 0), cue=jnp.bool_(True), x=x, y=y, time=jnp.int32(0))

    def observe(self, s):
        near = jnp.maximum(jnp.abs(s["east"]), jnp.abs(s["south"])) <= REACH
        cell = (s["south"] + REACH) * WIDE + s["east"] + REACH
        hunters = jax.lax.reduce_or(jnp.where(near, jnp.int32(1) << jnp.maximum(cell, 0), 0), (0,))
        cue = [f32(s["cue"] & (s["good"] == k)) for k in (0, 1)]
        return observation([s["view"][0], s["view"][1], s["view"][2], hunters], cue)

    def step(self, key, s, action):
        # A draw of 64 bits, which is one hash, as its two halves.
        bits, chances = jax.lax.bitcast_convert_type(threefry_2x32(R.key_data(key), jnp.zeros(2, jnp.uint32)), jnp.int32)
        x, y, dx, dy, found = walk(s["x"], s["y"], s["view"], action)
        worth = found[0] - found[1]
        worth = jnp.where(s["good"] == 0, worth, -worth)
        want = jnp.array([.1 * 256, .1 * 256, 0], jnp.float32)
        words, have = eaten(s["field"], x, y, cells(bits), s["have"] - found, want)
        wrap = lambda d: ((d + 8) & 15) - 8
        east, south, bites = self.hunt(wrap(s["east"] - dx), wrap(s["south"] - dy), shr(bits, 16), chances)
        reverse = f32(shr(chances, 16) & 0xffff) < jnp.float32(.01) * 65536
        time = s["time"] + 1
        n = dict(field=words, view=view_from(words, x, y), have=have, east=east, south=south, good=s["good"] ^ i32(reverse), cue=reverse, x=x, y=y, time=time)
        return n, worth - bites, time >= self.steps

    def hunt(self, right, down, axes, chances):
        i = jnp.arange(2, dtype=jnp.int32)
        moves = f32(shr(chances, i * 8) & 255) < 64.
        along_x = bit(axes, i) == 0
        x = right - jnp.where(moves & along_x, jnp.sign(right), 0)
        y = down - jnp.where(moves & ~along_x, jnp.sign(down), 0)
        caught = ((right | down) == 0) | ((x | y) == 0)
        return jnp.where(caught, -8, x), jnp.where(caught, -8, y), jnp.sum(f32(caught))


class Gymnax:
    """Raw steps of a gymnax environment, without its automatic reset."""
    def __init__(self, name):
        import gymnax
        self.env, self.params = gymnax.make(name)
        self.box = not hasattr(self.env.action_space(self.params), "n")
        space = self.env.action_space(self.params)
        self.actions = int(np.prod(space.shape)) if self.box else space.n
        if self.box: self.middle, self.half = np.float32((space.high + space.low) / 2), np.float32((space.high - space.low) / 2)

    def reset(self, key): return self.env.reset_env(key, self.params)[1]
    def observe(self, s): return self.env.get_obs(s)
    def step(self, key, s, action):
        obs, s, reward, done, _ = self.env.step_env(key, s, action, self.params)
        return s, f32(reward).reshape(()), done


def environment(name): return L1() if name == "Forage-L1-v1" else L2() if name == "Forage-L2-v1" else Gymnax(name)


# --- policies: parameters of one member, and one step of it ---

def normal(key, *dims): return R.normal(key, dims) / np.float32(np.sqrt(dims[0]))

def mlp(inputs, hidden, outputs):
    sizes = [inputs, *hidden, outputs]
    def init(key):
        keys = R.split(key, len(sizes) - 1)
        return [(normal(k, a, b), jnp.zeros(b)) for k, a, b in zip(keys, sizes, sizes[1:])]
    def act(p, h, x):
        for w, b in p[:-1]: x = jnp.tanh(x @ w + b)
        return h, x @ p[-1][0] + p[-1][1]
    return init, lambda: (), act

def gru(inputs, units, outputs):
    """flax's GRUCell: one product for the gates of what is seen, one for those of what is remembered."""
    def init(key):
        a, b, c = R.split(key, 3)
        return dict(wx=normal(a, inputs, 3 * units), b=jnp.zeros(3 * units), wh=normal(b, units, 3 * units), bn=jnp.zeros(units), w=normal(c, units, outputs), c=jnp.zeros(outputs))
    def act(p, h, x):
        xr, xz, xn = jnp.split(x @ p["wx"] + p["b"], 3)
        hr, hz, hn = jnp.split(h @ p["wh"], 3)
        r, z = jax.nn.sigmoid(xr + hr), jax.nn.sigmoid(xz + hz)
        n = jnp.tanh(xn + r * (hn + p["bn"]))
        h = (1 - z) * n + z * h
        return h, h @ p["w"] + p["c"]
    return init, lambda: jnp.zeros(units), act

def policy(spec, inputs, outputs):
    name, sizes = spec.split(":"); sizes = [int(n) for n in sizes.split(",")]
    return mlp(inputs, sizes, outputs) if name == "mlp" else gru(inputs, sizes[0], outputs)


# --- workloads: a compiled function and its arguments, on the device ---

def play(name, pop, steps, spec):
    env = environment(name); pop, steps = int(pop), int(steps)
    inputs = env.observe(env.reset(R.key(0))).size
    init, start, act = policy(spec, inputs, env.actions)
    def episode(p, key):
        state = env.reset(R.fold_in(key, 0))
        def step(c, t):
            s, h, ret, alive = c
            h, y = act(p, h, env.observe(s))
            action = jnp.tanh(y) * env.half + env.middle if getattr(env, "box", False) else jnp.argmax(y)
            s, reward, done = env.step(R.fold_in(key, t), s, action)
            return (s, h, ret + reward * alive, alive * (1 - f32(done))), None
        return jax.lax.scan(step, (state, start(), jnp.float32(0), jnp.float32(1)), jnp.arange(1, steps + 1))[0][2]
    params = jax.vmap(init)(R.split(R.key(0), pop))
    keys = R.split(R.key(1), pop)
    return jax.jit(lambda p, k: jnp.mean(jax.vmap(episode)(p, k))), (params, keys)

def breakout(pop, steps, channels, hidden):
    import gymnax, flax.linen as nn
    pop, steps = int(pop), int(steps)
    env, env_params = gymnax.make("Breakout-MinAtar")
    class CNN(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.relu(nn.Conv(int(channels), (3, 3), padding="VALID")(x))
            x = nn.relu(nn.Dense(int(hidden))(x.reshape(-1)))
            return nn.Dense(env.num_actions)(x)
    net = CNN()
    def rollout(p, key):
        key_reset, key = R.split(key)
        obs, state = env.reset(key_reset, env_params)
        def step(c, _):
            obs, state, key, ret, alive = c
            key, key_step = R.split(key)
            obs, state, reward, terminated, truncated, _ = env.step(key_step, state, jnp.argmax(net.apply(p, obs)), env_params)
            return (obs, state, key, ret + reward * alive, alive * (1 - (terminated | truncated).astype(jnp.float32))), None
        return jax.lax.scan(step, (obs, state, key, jnp.float32(0), jnp.float32(1)), None, length=steps)[0][3]
    params = jax.vmap(lambda k: net.init(k, jnp.zeros((10, 10, 4))))(R.split(R.key(0), pop))
    keys = R.split(R.key(1), pop)
    return jax.jit(lambda p, k: jnp.mean(jax.vmap(rollout)(p, k))), (params, keys)

def generation(name, n, pop):
    """ask, sphere and tell; the state goes round on the device. The time is that of many generations in turn."""
    import optax
    from evosax.algorithms import CMA_ES, Open_ES
    n, pop = int(n), int(pop)
    if name == "cmaes": es = CMA_ES(population_size=pop, solution=jnp.zeros(n))
    else: es = Open_ES(population_size=pop, solution=jnp.zeros(n), optimizer=optax.adam(.02), std_schedule=optax.constant_schedule(.1))
    params = es.default_params
    state = es.init(R.key(0), jnp.ones(n), params)
    @jax.jit
    def step(state, key):
        key_ask, key_tell = R.split(key)
        x, state = es.ask(key_ask, state, params)
        fitness = jnp.sum(x**2, -1)
        state, _ = es.tell(key_tell, x, fitness, state, params)
        return state, jnp.mean(fitness)
    return step, state

def rewards(name, seed, steps, actions):
    """One episode as xlarun plays it, for the test of cmd/xlarun-bench/bench/neurobench. Of an observation there is the sum of its
    numbers, each times its place from 1 on."""
    env = environment(name); key = R.key(int(seed)); actions = [int(a) for a in actions.split(",")]
    s = env.reset(R.fold_in(key, 0)); step = jax.jit(env.step); out, sums = [], []
    for t in range(1, int(steps) + 1):
        sums.append(float(jnp.dot(env.observe(s), jnp.arange(1., env.observe(s).size + 1))))
        s, r, done = step(R.fold_in(key, t), s, jnp.int32(actions[(t - 1) % len(actions)]))
        out.append(float(r))
        if done: break
    return dict(env=name, seed=int(seed), actions=actions, rewards=out, observations=sums)

def main(kind, *rest):
    if kind == "rewards": print(json.dumps(rewards(*rest))); return
    if kind != "generation":
        f, args = dict(play=play, breakout=breakout)[kind](*rest)
        serve_jax(f, jax.block_until_ready(args))
        return
    t = time.perf_counter()
    step, state = generation(*rest); keys = itertools.cycle(R.split(R.key(2), 4096))
    jax.block_until_ready(step(state, next(keys)))
    def run():
        nonlocal state
        state, result = step(state, next(keys)); jax.block_until_ready(state)
        return result
    serve(run, compile=time.perf_counter() - t)

main(*sys.argv[1:])
