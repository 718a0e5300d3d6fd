"""Networks of LIF neurons in Spyx, BrainPy and plain JAX, for `xlarun bench spiking --peers`. Inputs and weights are the numbers of
cmd/xlarun-bench/bench/spikingbench.

usage: spiking_jax.py WHO forward MEMBERS EXAMPLES STEPS    each member's weights on the same batch
       spiking_jax.py WHO gradient EXAMPLES STEPS           value and gradient of one network's cross-entropy
       spiking_jax.py jax forage MEMBERS STEPS SUBSTEPS A,B Forage-L0-v1 played by xlarun's policy spiking:A,B: members' mean return
       spiking_jax.py rewards SEED STEPS ACTION,...         an episode of Forage-L0-v1 that plays these actions again and again
WHO is spyx, brainpy or jax."""
import json, sys
from serve import serve_jax
import jax, jax.numpy as jnp, numpy as np
from jax import random as R

SIZES = [64, 128, 64, 4]
BETA, THRESHOLD, SLOPE = 0.9, 1.0, 25.0


# --- numbers: the finalizer of MurmurHash3 over a counter ---

def number(seed, dims):
    with np.errstate(over="ignore"):
        h = (np.arange(np.prod(dims, dtype=int), dtype=np.uint32) + np.uint32(1)) * np.uint32(2654435761) + np.uint32(seed) * np.uint32(2246822519)
        h = (h ^ h >> 16) * np.uint32(0x85ebca6b)
        h = (h ^ h >> 13) * np.uint32(0xc2b2ae35)
    return (h ^ h >> 16).reshape(dims)

def uniform(seed, scale, *dims): return ((number(seed, dims) / float(1 << 31) - 1) * scale).astype(np.float32)
def weights(*lead): return [uniform(i + 1, np.sqrt(3 / a), *lead, a, b) for i, (a, b) in enumerate(zip(SIZES, SIZES[1:]))]
def trains(steps, examples): return (number(4, (steps, examples, SIZES[0])) / float(1 << 32) < 0.3).astype(np.float32)
def classes(examples): return (number(5, (examples,)) % np.uint32(SIZES[-1])).astype(np.int32)


# --- networks: readout(weights, trains [steps, examples, inputs]) -> its sum over time [examples, outputs] ---

def plain():
    """JAX as a careful user writes it: the input's product for all steps at once, the others in one scan."""
    @jax.custom_jvp
    def spike(v): return (v > 0).astype(v.dtype)
    @spike.defjvp
    def _(primals, tangents): return spike(primals[0]), tangents[0] / jnp.square(1 + SLOPE * jnp.abs(primals[0]))
    def readout(w, x):
        def step(state, x):
            a, b, c, total = state
            sa = spike(a - THRESHOLD); a = BETA * a + x - sa * THRESHOLD
            sb = spike(b - THRESHOLD); b = BETA * b + sa @ w[1] - sb * THRESHOLD
            c = BETA * c + sb @ w[2]
            return (a, b, c, total + c), None
        rest = [jnp.zeros((x.shape[1], n)) for n in SIZES[1:]]
        return jax.lax.scan(step, (*rest, rest[-1]), x @ w[0])[0][-1]
    return readout

def spyx():
    """As Spyx's users write it: spyx.nn.Sequential and spyx.nn.run."""
    import spyx.nn as snn
    from flax import nnx
    r = nnx.Rngs(0); layers = []
    for i, (a, b) in enumerate(zip(SIZES, SIZES[1:])):
        cell = snn.LI if i == len(SIZES) - 2 else snn.LIF
        layers += [nnx.Linear(a, b, use_bias=False, rngs=r), cell((b,), beta=BETA, rngs=r)]
    graph, drawn = nnx.split(snn.Sequential(*layers))
    def readout(w, x):
        given = iter(w)
        p = jax.tree.map(lambda a: next(given) if a.ndim == 2 else a, drawn)
        return snn.run(nnx.merge(graph, p), x)[0].sum(0)
    return readout

def brainpy():
    """As BrainPy's users write it: brainpy.state on brainstate, exponential Euler, steps of 1 ms."""
    import brainpy.state as bps, brainstate, brainunit as u
    brainstate.environ.set(dt=1. * u.ms)
    class Net(brainstate.nn.Module):
        def __init__(self, w):
            super().__init__()
            lif = lambda n: bps.LIF(n, R=10. * u.ohm, tau=10. * u.ms, V_th=1. * u.mV, spk_reset="soft")
            linear = lambda w: brainstate.nn.Linear(*w.shape, w_init=w * u.mA, b_init=None)
            self.a, self.la, self.b, self.lb = linear(w[0]), lif(SIZES[1]), linear(w[1]), lif(SIZES[2])
            self.out = bps.LeakyRateReadout(*w[2].shape, tau=10. * u.ms, w_init=lambda shape, **_: w[2])
        def update(self, x): return self.out(self.lb(self.b(self.la(self.a(x)))))
    def readout(w, x):
        net = Net(w); brainstate.nn.init_all_states(net, batch_size=x.shape[1])
        return brainstate.transform.for_loop(net.update, x).sum(0)
    return readout


# --- workloads: a function whose first result is a number, and its arguments ---

def forward(readout, members, examples, steps):
    members, examples, steps = int(members), int(examples), int(steps)
    f = lambda w, x: [jnp.mean(jnp.abs(jax.vmap(readout, (0, None))(w, x)))]
    return f, (weights(members), trains(steps, examples))

def gradient(readout, examples, steps):
    def loss(w, x, y):
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(readout(w, x)), y[:, None], 1))
    return jax.value_and_grad(loss), (weights(), trains(int(steps), int(examples)), classes(int(examples)))

# --- Forage-L0-v1 of xlarun's envs/levels: rows of the field are words of bits, as there ---

SIDE, REACH, WIDE, FOOD, ENDS = 8, 2, 5, .15, 100

def i32(x): return jnp.asarray(x).astype(jnp.int32)
def f32(x): return jnp.asarray(x).astype(jnp.float32)
def shr(x, n): return jax.lax.shift_right_logical(*jnp.broadcast_arrays(x, i32(n)))

def view_from(words, x, y):
    row = (jnp.arange(SIDE) + REACH - y) & (SIDE - 1)
    first = (x - REACH) & (SIDE - 1)
    seen = (shr(words, first) | (words << (SIDE - first))) & ((1 << WIDE) - 1)
    seen = seen << (jnp.minimum(row, WIDE - 1) * WIDE)
    return jnp.sum(jnp.where(row < WIDE, seen, 0), dtype=jnp.int32)

def reset(key):
    u = R.uniform(key, (SIDE, SIDE))
    near = jnp.abs(jnp.arange(SIDE) - SIDE // 2) <= 1
    food = ~(near[:, None] & near[None, :]) & (u < jnp.float32(FOOD))
    words = jnp.sum(i32(food) << jnp.arange(SIDE), 1, dtype=jnp.int32); x = y = jnp.int32(SIDE // 2)
    return dict(field=words, view=view_from(words, x, y), have=f32(jnp.sum(jax.lax.population_count(words))), x=x, y=y, time=jnp.int32(0))

def observe(s): return f32(shr(s["view"], jnp.arange(WIDE * WIDE)) & 1)

def play(key, s, action):
    dx, dy = i32(action == 1) - i32(action == 3), i32(action == 2) - i32(action == 0)
    x, y = (s["x"] + dx) & (SIDE - 1), (s["y"] + dy) & (SIDE - 1)
    found = f32(shr(s["view"], dy * WIDE + dx + REACH * WIDE + REACH) & 1)
    cell = jax.lax.bitcast_convert_type(R.bits(key, (), jnp.uint32), jnp.int32) & (SIDE * SIDE - 1)
    at = lambda row, x: jnp.where(jnp.arange(SIDE) == row, jnp.int32(1) << x, 0)
    here, has = at(y, x), s["have"] - found
    fresh = at(jnp.where(has < jnp.float32(FOOD) * SIDE * SIDE, shr(cell, 3), -1), cell & (SIDE - 1)) & ~(s["field"] | here)
    words, time = (s["field"] & ~here) | fresh, s["time"] + 1
    return dict(field=words, view=view_from(words, x, y), have=has + f32(jnp.sum(i32(fresh != 0))), x=x, y=y, time=time), found, time >= ENDS


# --- xlarun's policy spiking as it is made: the dynamics fast, the encoder current, the decoder membrane, dt 1 ms ---

def between(g, low, high): return low * jnp.exp(jax.nn.sigmoid(g) * jnp.log(jnp.float32(high / low)))

def genes(key, sizes):
    layers = []
    for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
        k = R.split(R.fold_in(key, i), 2)
        layers.append(dict(w=R.normal(k[0], (a, b)) / np.float32(np.sqrt(a)), b=jnp.zeros(b), membrane=R.normal(k[1], (b,)), threshold=jnp.zeros(b)))
    return layers

def neurons(layers):
    out = []
    for g in layers[:-1]:
        beta, way = jnp.exp(-1 / between(g["membrane"], 5., 80.)), between(g["threshold"], 5., 45.)
        out.append(dict(w=g["w"] * 15 / way, drive=(1 - beta) * g["b"] * 15 / way, beta=beta))
    last = layers[-1]
    return out, dict(w=last["w"], b=last["b"], keep=jnp.exp(-1 / between(last["membrane"], 5., 80.)))

def rest(network):
    """Potentials of the neurons and of the outputs at the start."""
    spiking, out = network
    return [jnp.zeros_like(l["beta"]) for l in spiking], jnp.zeros_like(out["keep"])

def substeps(network, potentials, x, n):
    """Potentials after a step of n substeps of an input from 0 to 1, of which each 1 is 500 spikes a second."""
    spiking, out = network
    arrives = jnp.minimum(.5 * x, 1) @ spiking[0]["w"] + spiking[0]["drive"]  # the same in all substeps
    def substep(carry, _):
        v, y = carry; into, next_v = arrives, []
        for i, l in enumerate(spiking):
            if i: into = spikes @ l["w"] + l["drive"]
            spikes = f32(v[i] > 1)
            next_v.append(l["beta"] * v[i] + into - spikes)
        arrived = spikes @ out["w"] + out["b"]
        return (next_v, arrived + out["keep"] * (y - arrived)), None
    return jax.lax.scan(substep, potentials, None, length=n)[0]

def forage(members, steps, n, hidden):
    members, steps, n = int(members), int(steps), int(n)
    sizes = [WIDE * WIDE, *(int(n) for n in hidden.split(",")), 4]
    def episode(layers, key):
        network = neurons(layers)
        def step(carry, t):
            s, (v, y), total, alive = carry
            v, y = substeps(network, (v, y), observe(s), n)
            s, reward, done = play(R.fold_in(key, t), s, jnp.argmax(y))
            return (s, (v, y), total + reward * alive, alive * (1 - f32(done))), None
        start = (reset(R.fold_in(key, 0)), rest(network), jnp.float32(0), jnp.float32(1))
        return jax.lax.scan(step, start, jnp.arange(1, steps + 1))[0][2]
    layers = jax.jit(jax.vmap(lambda k: genes(k, sizes)))(R.split(R.key(0), members))
    return lambda p, k: [jnp.mean(jax.vmap(episode)(p, k))], (layers, R.split(R.key(1), members))

def rewards(seed, steps, actions):
    """For the test of cmd/xlarun-bench/bench/spikingbench. Of an observation there is the sum of its numbers, each times its place from 1 on."""
    key = R.key(int(seed)); actions = [int(a) for a in actions.split(",")]; s = reset(R.fold_in(key, 0)); out, sums = [], []
    for t in range(1, int(steps) + 1):
        sums.append(float(jnp.dot(observe(s), jnp.arange(1., WIDE * WIDE + 1))))
        s, r, done = play(R.fold_in(key, t), s, jnp.int32(actions[(t - 1) % len(actions)])); out.append(float(r))
        if done: break
    return dict(env="Forage-L0-v1", seed=int(seed), actions=actions, rewards=out, observations=sums)


def main(who, kind, *rest):
    if who == "rewards": print(json.dumps(rewards(kind, *rest))); return
    if kind == "forage": f, args = forage(*rest)
    else: f, args = dict(forward=forward, gradient=gradient)[kind](dict(spyx=spyx, brainpy=brainpy, jax=plain)[who](), *rest)
    args = jax.block_until_ready(jax.device_put(args))
    serve_jax(f, args, checks=lambda out: [float(out[0])])

if __name__ == "__main__":
    main(*sys.argv[1:])
