"""Networks of LIF neurons in Spyx, BrainPy and plain JAX, for `xlarun bench spiking --peers`. Inputs and weights are the numbers of
cmd/xlarun/bench/spikingbench. Prints a line of JSON when the workload is compiled, and answers each number of runs on stdin with one.

usage: spiking_jax.py WHO forward MEMBERS EXAMPLES STEPS    each member's weights on the same batch
       spiking_jax.py WHO gradient EXAMPLES STEPS           value and gradient of one network's cross-entropy
WHO is spyx, brainpy or jax."""
import json, sys, time
import jax, jax.numpy as jnp, numpy as np

SIZES = [64, 128, 64, 4]
BETA, THRESHOLD, SLOPE = 0.9, 1.0, 25.0


# --- numbers: the finaliser of MurmurHash3 over a counter ---

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

def peak():
    with open("/proc/self/status") as f: return next(int(l.split()[1]) * 1024 for l in f if l.startswith("VmHWM:"))

def main(who, kind, *rest):
    t = time.perf_counter()
    f, args = dict(forward=forward, gradient=gradient)[kind](dict(spyx=spyx, brainpy=brainpy, jax=plain)[who](), *rest)
    args = jax.block_until_ready(jax.device_put(args))
    f = jax.jit(f).lower(*args).compile()
    jax.block_until_ready(f(*args))
    print(json.dumps(dict(compile=time.perf_counter() - t)), flush=True)
    for line in sys.stdin:
        seconds = []; busy = time.process_time()
        for _ in range(int(line)):
            t = time.perf_counter()
            result = jax.block_until_ready(f(*args))
            seconds.append(time.perf_counter() - t)
        busy = (time.process_time() - busy) / len(seconds)
        print(json.dumps(dict(seconds=seconds, processor=busy, peak=peak(), result=float(result[0]))), flush=True)

main(*sys.argv[1:])
