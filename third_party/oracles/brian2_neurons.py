"""Point neurons, conductances and plasticity of brian2 for graph/neuron, written to OUTPUT_DIR/brian2_neurons.json.gz.

{"versions": {...}, "cases": [{"name", "config", "inputs": {name: array}, "outputs": {name: array}}...]}; arrays as in common.py; times in
ms, potentials in mV, currents in pA, conductances in nS. Every variable starts as "start" says; computed in float64.
  lif, expif, adex, izhikevich, hh    config: method, dt, refractory, every; "current" [ms, units], each held for a ms; "start" [units] of
                  each variable; "spikes" [steps, units] and the variables [steps/every, units] as every so many steps leave them
  conductances    a lif with excitatory and inhibitory conductances: "excitatory" and "inhibitory" [steps, units], what arrives at the
                  end of each step; "v", "ge", "gi", "spikes"
  stdp            config: dt, the constants; "pre" [steps, in], "post" [steps, out]; "weights" [in, out] at the end
The constants are those of the models' New functions. Exponentials of expif and adex, and all of adex and izhikevich, see v as at most Peak;
that changes nothing but the inner stages of rk4. 2.9.0 is the newest brian2
for Python 3.11; it runs with a numpy below 2.4.
"""
import os

import numpy as np
from brian2 import (Network, NeuronGroup, SpikeGeneratorGroup, SpikeMonitor, StateMonitor, Synapses, TimedArray, defaultclock, ms, prefs)

from common import encode, out_dir, versions_of, write

prefs.codegen.target = "numpy"
RNG = np.random.default_rng(11)
CASES = []
MS, UNITS = 150, 3

# Equations with the right side in brian2's units, of variables without: t is in ms, the state in mV, pA and parts.
LIF = "dv/dt = (10*(-60 - v) + I)/200/ms : 1 (unless refractory)"
EXPIF = "dv/dt = (20*(-65 - p) + 20*3.48*exp((p + 59.9)/3.48) + I)/200/ms : 1 (unless refractory)\np = clip(v, -inf, -30) : 1"
ADEX = """dv/dt = (30*(-70.6 - p) + 30*2*exp((p + 50.4)/2) - w + I)/281/ms : 1 (unless refractory)
dw/dt = (4*(p + 70.6) - w)/144/ms : 1
p = clip(v, -inf, 20) : 1"""
IZHIKEVICH = """dv/dt = (0.04*p**2 + 5*p + 140 - u + I/100)/ms : 1 (unless refractory)
du/dt = 0.02*(0.2*p - u)/ms : 1
p = clip(v, -inf, 30) : 1"""
HH = """dv/dt = (10*(-60 - v) + 20000*m**3*h*(50 - v) + 6000*n**4*(-90 - v) + I)/200/ms : 1
dm/dt = (am*(1 - m) - bm*m)/ms : 1
dn/dt = (an*(1 - n) - bn*n)/ms : 1
dh/dt = (ah*(1 - h) - bh*h)/ms : 1
x = v + 63 : 1
am = 0.32*4/exprel((13 - x)/4) : 1
bm = 0.28*5/exprel((x - 40)/5) : 1
ah = 0.128*exp((17 - x)/18) : 1
bh = 4/(1 + exp((40 - x)/5)) : 1
an = 0.032*5/exprel((15 - x)/5) : 1
bn = 0.5*exp((10 - x)/40) : 1"""
# name: equations, threshold, reset, variables with their start, currents (mean and half range of each unit)
MODELS = {
    "lif": (LIF, "v >= -50", "v = -60", {"v": -60}, (90, 130, 220), 60),
    "expif": (EXPIF, "v >= -30", "v = -68", {"v": -65}, (60, 110, 260), 60),
    "adex": (ADEX, "v >= 20", "v = -70.6; w += 80.5", {"v": -70.6, "w": 0}, (600, 800, 1200), 200),
    "izhikevich": (IZHIKEVICH, "v >= 30", "v = -65; u += 8", {"v": -70, "u": -14}, (400, 700, 1200), 200),
    "hh": (HH, "v >= -20", "", {"v": -60, "m": .02, "n": .1, "h": .98}, (150, 300, 600), 100),
}


def keep(name, config, inputs, outputs):
    assert all(np.isfinite(v).all() for v in outputs.values()), name
    CASES.append({"name": name, "config": config, "inputs": {k: encode(v) for k, v in inputs.items()},
                  "outputs": {k: encode(v if v.dtype == bool else v.astype(np.float32)) for k, v in outputs.items()}})


def raster(monitor, dt, steps, units):
    s = np.zeros((steps, units), bool)
    s[np.round(np.asarray(monitor.t / ms) / dt).astype(int), np.asarray(monitor.i)] = True
    return s


def model(name, method, dt, refractory):
    eqs, threshold, reset, start, mean, spread = MODELS[name]
    defaultclock.dt = dt * ms
    current = np.float32(np.asarray(mean) + spread * RNG.uniform(-1, 1, (MS, UNITS)))
    # A variable: rk4 would look up the current of each stage's own time.
    group = NeuronGroup(UNITS, eqs + "\nI : 1", threshold=threshold, reset=reset, method=method, refractory=threshold if name == "hh" else refractory * ms,
                        namespace={"drive": TimedArray(current.astype(float), dt=1 * ms)})
    group.run_regularly("I = drive(t, i)", dt=dt * ms, when="start")
    for variable, value in start.items():
        setattr(group, variable, value)
    steps = round(MS / dt)
    every = round(1 / dt)
    states, spikes = StateMonitor(group, list(start), record=True, when="end"), SpikeMonitor(group)
    Network(group, states, spikes).run(MS * ms)
    out = {k: np.asarray(getattr(states, k)).T[every - 1::every] for k in start}
    out["spikes"] = raster(spikes, dt, steps, UNITS)
    assert (out["spikes"].sum(0) >= 1).any() and out["spikes"].sum() > 7, (name, out["spikes"].sum(0))
    print(name, method, dt, "spikes", out["spikes"].sum(0))
    keep(name, {"method": method, "dt": dt, "refractory": refractory, "every": every},
         {"current": current, **{"start_" + k: np.full(UNITS, v, np.float32) for k, v in start.items()}}, out)


def arrivals(steps, units, rate):
    s = RNG.uniform(size=(steps, units)) < rate
    return s, [x for x in np.argwhere(s).T]


def conductances(dt):
    defaultclock.dt = dt * ms
    steps = round(MS / dt)
    group = NeuronGroup(UNITS, """dv/dt = (10*(-60 - v) + ge*(0 - v) + gi*(-80 - v))/200/ms : 1 (unless refractory)
dge/dt = -ge/(5*ms) : 1
dgi/dt = -gi/(10*ms) : 1""", threshold="v >= -50", reset="v = -60", refractory=2 * ms, method="exponential_euler")
    group.v = -60
    inputs, parts = {}, [group]
    for name, rate, weight in (("e", .4, 3), ("i", .1, 5)):
        s, (step, unit) = arrivals(steps, UNITS, rate * dt)
        g = SpikeGeneratorGroup(UNITS, unit, step * dt * ms)
        c = Synapses(g, group, on_pre=f"g{name}_post += {weight}")
        c.connect(j="i")
        parts += [g, c]
        inputs["excitatory" if name == "e" else "inhibitory"] = np.float32(s * weight)
    states, spikes = StateMonitor(group, ["v", "ge", "gi"], record=True, when="end"), SpikeMonitor(group)
    Network(*parts, states, spikes).run(MS * ms)
    out = {k: np.asarray(getattr(states, k)).T for k in ("v", "ge", "gi")}
    out["spikes"] = raster(spikes, dt, steps, UNITS)
    print("conductances", dt, "spikes", out["spikes"].sum(0))
    assert out["spikes"].sum() > 10
    keep("conductances", {"dt": dt, "refractory": 2}, inputs, out)


def stdp(dt, n=4, m=3):
    defaultclock.dt = dt * ms
    steps = round(MS / dt)
    pre, post = RNG.uniform(size=(steps, n)) < .03 * dt, RNG.uniform(size=(steps, m)) < .03 * dt
    post[pre.any(1)] = False  # no pair within a step
    groups = [SpikeGeneratorGroup(s.shape[1], np.argwhere(s)[:, 1], np.argwhere(s)[:, 0] * dt * ms) for s in (pre, post)]
    c = Synapses(*groups, """w : 1
dx/dt = -x/(20*ms) : 1 (event-driven)
dy/dt = -y/(30*ms) : 1 (event-driven)""", on_pre="x += 1; w = clip(w - 0.012*y, 0, 1)", on_post="y += 1; w = clip(w + 0.01*x, 0, 1)")
    c.connect()
    start = np.float32(RNG.uniform(.2, .8, (n, m)))
    c.w = start.reshape(-1)
    Network(*groups, c).run(MS * ms)
    end = np.zeros((n, m))
    end[np.asarray(c.i), np.asarray(c.j)] = np.asarray(c.w)
    print("stdp", dt, "largest change", abs(end - start).max())
    keep("stdp", {"dt": dt, "aPlus": .01, "aMinus": .012, "tauPlus": 20, "tauMinus": 30}, {"pre": pre, "post": post, "start": start}, {"weights": end})


def main():
    folder = out_dir(__doc__)
    for name, methods in {"lif": ("euler", "exponential_euler", "rk4"), "expif": ("euler", "rk4"), "adex": ("euler", "rk4"),
                          "izhikevich": ("euler", "rk4")}.items():
        for method in methods:
            for dt in (.1, .05):
                model(name, method, dt, 2 if name in ("lif", "adex") else 0)
    for method, steps in (("exponential_euler", (.1, .05)), ("rk4", (.05, .02))):
        for dt in steps:
            model("hh", method, dt, 0)
    for dt in (.5, .1):
        conductances(dt)
        stdp(dt)
    write(os.path.join(folder, "brian2_neurons.json.gz"), {"versions": versions_of("brian2", "numpy"), "cases": CASES})


main()
