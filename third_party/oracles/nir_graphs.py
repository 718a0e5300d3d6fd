"""Graphs of the Neuromorphic Intermediate Representation for graph/nn/nir, in files as the package nir writes them.

  nir_graphs.py OUTPUT_DIR       writes python.nir.gz (nodes of several kinds, a node that feeds itself, metadata), spyx.nir.gz (what spyx.nir.to_nir makes
                                 of a network of Spyx) and graphs.json: {"versions", "python": {"dt", "x", "read"}, "spyx": {"x", "spikes"}}
                                 with x [steps, inputs], read the potentials of the last node by NIR's equations, exact for a step's input
                                 (NumPy, float64), and spikes those of Spyx.
  nir_graphs.py conv OUTPUT_DIR  writes conv.nir.gz and conv.json likewise, of a convolution
  nir_graphs.py policy OUTPUT_DIR
                                 writes nir_policy.nir.gz, a network for CartPole, and nir_policy.json: {"versions", "dt", "substeps", "x", "last",
                                 "mean"}: the outputs [steps, 2] after the last substep of each step, and their means over substeps, for spike
                                 rates x [steps, 8] that are the same in all substeps of a step
  nir_graphs.py read FILE [unchecked]
                                 prints what nir reads of a file: {"version", "edges", "nodes": {name: {"type", parameter: numbers}}}
"""
import gzip
import json
import os
import sys

import nir
import nir.serialization
import numpy as np


def listed(node):
    out = {}
    for k, v in node.to_dict().items():
        if k == "nodes": out[k] = {name: listed(n) for name, n in node.nodes.items()}
        elif k == "edges": out[k] = sorted([list(e) for e in v])
        elif k == "metadata": pass
        elif isinstance(v, np.ndarray): out[k] = v.tolist()
        elif isinstance(v, (str, int, float)): out[k] = v
    return out


def read(file, *unchecked):
    print(json.dumps(dict(listed(nir.read(file, type_check=not unchecked)), version=nir.serialization.read_version(file)), sort_keys=True, separators=(",", ":")))


def keep(file, graph):
    """The file, packed by gzip: most of it is padding."""
    nir.write(file, graph)
    with open(file, "rb") as f, open(file + ".gz", "wb") as z: z.write(gzip.compress(f.read(), mtime=0))
    os.remove(file)


def python(out):
    r = np.random.default_rng(5); f = lambda *a: np.asarray(a if len(a) > 1 else a[0], np.float32)
    dt = 1e-3; n, m = 6, 3
    uniform = lambda lo, hi, *shape: r.uniform(lo, hi, shape).astype(np.float32)
    affine = nir.Affine(weight=uniform(-1, 2, n, 4), bias=uniform(-.1, .3, n))
    lif = nir.LIF(tau=uniform(5e-3, 2e-2, n), r=uniform(4, 9, n), v_leak=np.zeros(n, np.float32), v_threshold=uniform(.5, 1.2, n))
    w_rec = nir.Linear(weight=uniform(-.6, .6, n, n))
    linear = nir.Linear(weight=uniform(-1, 2, m, n))
    cuba = nir.CubaLIF(tau_syn=uniform(2e-3, 8e-3, m), tau_mem=uniform(5e-3, 2e-2, m), r=uniform(5, 9, m), v_leak=np.zeros(m, np.float32),
                       v_threshold=uniform(.4, .8, m), w_in=uniform(2, 5, m))
    last = nir.Affine(weight=uniform(-1, 1, 2, m), bias=uniform(-.1, .1, 2), metadata={"made": "by hand"})
    li = nir.LI(tau=uniform(1e-2, 3e-2, 2), r=uniform(1, 3, 2), v_leak=np.zeros(2, np.float32))
    g = nir.NIRGraph(
        nodes=dict(input=nir.Input({"input": np.array([4])}), affine=affine, lif=lif, w_rec=w_rec, linear=linear, cuba=cuba, last=last, li=li,
                   output=nir.Output({"output": np.array([2])})),
        edges=[("input", "affine"), ("affine", "lif"), ("lif", "w_rec"), ("w_rec", "lif"), ("lif", "linear"), ("linear", "cuba"), ("cuba", "last"), ("last", "li"), ("li", "output")])
    keep(f"{out}/python.nir", g)
    # The equations of the nodes, in steps as spiking simulators take them: who is above the threshold sends a spike, and is set back by it.
    x = (r.uniform(size=(60, 4)) < .4).astype(float); reads = []
    v = np.zeros(n); i2 = np.zeros(m); v2 = np.zeros(m); v3 = np.zeros(2); margin = 9.; sent = 0
    e = lambda tau: np.exp(-dt / tau.astype(float))
    for t in range(60):
        s = (v > lif.v_threshold) * 1.; margin = min(margin, abs(v - lif.v_threshold).min())
        drive = affine.weight @ x[t] + affine.bias + w_rec.weight @ s
        v = e(lif.tau) * v + (1 - e(lif.tau)) * lif.r * drive - s * lif.v_threshold
        s2 = (v2 > cuba.v_threshold) * 1.; margin = min(margin, abs(v2 - cuba.v_threshold).min())
        i2 = e(cuba.tau_syn) * i2 + (1 - e(cuba.tau_syn)) * cuba.w_in * (linear.weight @ s)
        v2 = e(cuba.tau_mem) * (v2 - s2 * cuba.v_threshold) + (1 - e(cuba.tau_mem)) * cuba.r * i2
        v3 = e(li.tau) * v3 + (1 - e(li.tau)) * li.r * (last.weight @ s2 + last.bias)
        reads.append(v3.tolist()); sent += s.sum() + s2.sum()
    assert margin > 1e-4 and sent > 40, (margin, sent)
    return dict(dt=dt, x=x.tolist(), read=reads)


def of_spyx(out):
    import jax.numpy as jnp, spyx.nn as snn, spyx.nir
    from flax import nnx
    r = np.random.default_rng(11); k = nnx.Rngs(0)
    net = snn.Sequential(nnx.Linear(4, 6, use_bias=False, rngs=k), snn.LIF((6,), threshold=1., rngs=k), nnx.Linear(6, 3, rngs=k), snn.CuBaLIF((3,), threshold=1., rngs=k))
    a, lif, b, cuba = net.layers
    f = lambda lo, hi, *shape: jnp.asarray(r.uniform(lo, hi, shape), jnp.float32)
    a.kernel[...] = f(-.5, 1.2, 4, 6); b.kernel[...] = f(-.4, 1, 6, 3); b.bias[...] = f(-.05, .05, 3)
    lif.beta[...] = f(.6, .95, 6); cuba.beta[...] = f(.6, .9, 3); cuba.alpha[...] = f(.3, .8, 3)
    keep(f"{out}/spyx.nir", spyx.nir.to_nir(net, {"input": np.array([4])}, {"output": np.array([3])}))
    x = (r.uniform(size=(60, 1, 4)) < .4).astype(np.float32)
    spikes = np.asarray(snn.run(net, jnp.asarray(x))[0])[:, 0]
    assert 20 < spikes.sum() < 160, spikes.sum()
    return dict(x=x[:, 0].tolist(), spikes=spikes.astype(int).tolist())


def conv(out):
    """conv.nir.gz: a convolution with strides, padding, dilation and groups, neurons of [features, height, width], a vector; conv.json: what its equations come to."""
    r = np.random.default_rng(21); uniform = lambda lo, hi, *shape: r.uniform(lo, hi, shape).astype(np.float32)
    dt, steps, h, w = 1e-3, 20, 6, 7
    c = nir.Conv2d(input_shape=(h, w), weight=uniform(-1, 2, 4, 1, 3, 3), stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2, bias=uniform(-.1, .3, 4))
    shape = tuple(int(n) for n in c.output_type["output"])
    lif = nir.LIF(tau=uniform(5e-3, 2e-2, *shape), r=uniform(4, 9, *shape), v_leak=np.zeros(shape, np.float32), v_threshold=uniform(.5, 1.2, *shape))
    flat = nir.Flatten(input_type={"input": np.array(shape)}, start_dim=0, end_dim=-1)
    last = nir.Affine(weight=uniform(-1, 1, 3, int(np.prod(shape))), bias=uniform(-.1, .1, 3))
    keep(f"{out}/conv.nir", nir.NIRGraph(nodes=dict(input=nir.Input({"input": np.array([2, h, w])}), conv=c, lif=lif, flat=flat, last=last, output=nir.Output({"output": np.array([3])})),
        edges=[("input", "conv"), ("conv", "lif"), ("lif", "flat"), ("flat", "last"), ("last", "output")], type_check=False))  # its check takes no groups
    x = (r.uniform(size=(steps, 2, h, w)) < .3).astype(float); v = np.zeros(shape); reads = []; margin = 9.; sent = 0
    for t in range(steps):
        padded = np.pad(x[t], ((0, 0), (1, 1), (2, 2))); drive = np.zeros(shape)
        for o in range(shape[0]):
            for i in range(shape[1]):
                for j in range(shape[2]):  # groups: outputs 0 and 1 see input 0, the others input 1
                    window = padded[o // 2, 2 * i:2 * i + 3, j:j + 5:2]
                    drive[o, i, j] = (window * c.weight[o, 0]).sum() + c.bias[o]
        s = (v > lif.v_threshold) * 1.; margin = min(margin, abs(v - lif.v_threshold).min()); sent += s.sum()
        e = np.exp(-dt / lif.tau.astype(float)); v = e * v + (1 - e) * lif.r * drive - s * lif.v_threshold
        reads.append((last.weight @ s.reshape(-1) + last.bias).tolist())
    assert margin > 1e-5 and sent > 40, (margin, sent)
    return dict(versions=dict(nir=nir.version), dt=dt, dims=[steps, h, w, 2], x=x.transpose(0, 2, 3, 1).reshape(-1).astype(int).tolist(), read=reads)


def policy(out):
    """nir_policy.nir.gz: neurons that feed themselves, synapses, and integrators whose r is not 1."""
    r = np.random.default_rng(31); uniform = lambda lo, hi, *shape: r.uniform(lo, hi, shape).astype(np.float32)
    dt, substeps, n, m = 1e-3, 6, 6, 5
    affine = nir.Affine(weight=uniform(-1, 3, n, 8), bias=uniform(-.1, .3, n))
    lif = nir.LIF(tau=uniform(5e-3, 2e-2, n), r=uniform(4, 9, n), v_leak=np.zeros(n, np.float32), v_threshold=uniform(.5, 1.2, n))
    w_rec = nir.Linear(weight=uniform(-.6, .6, n, n))
    linear = nir.Linear(weight=uniform(-1, 2, m, n))
    cuba = nir.CubaLIF(tau_syn=uniform(2e-3, 8e-3, m), tau_mem=uniform(5e-3, 2e-2, m), r=uniform(5, 9, m), v_leak=np.zeros(m, np.float32),
                       v_threshold=uniform(.4, .8, m), w_in=uniform(2, 5, m))
    last = nir.Affine(weight=uniform(-1, 1, 2, m), bias=uniform(-.1, .1, 2))
    li = nir.LI(tau=uniform(1e-2, 3e-2, 2), r=uniform(1, 3, 2), v_leak=np.zeros(2, np.float32))
    keep(f"{out}/nir_policy.nir", nir.NIRGraph(
        nodes=dict(input=nir.Input({"input": np.array([8])}, metadata={"format": "network of xlarun", "substeps": str(substeps)}), affine=affine, lif=lif, w_rec=w_rec, linear=linear, cuba=cuba,
                   last=last, li=li, output=nir.Output({"output": np.array([2])})),
        edges=[("input", "affine"), ("affine", "lif"), ("lif", "w_rec"), ("w_rec", "lif"), ("lif", "linear"), ("linear", "cuba"), ("cuba", "last"), ("last", "li"), ("li", "output")]))
    x = r.uniform(0, .5, (20, 8)); x[:, :4] *= r.uniform(size=(20, 4)) < .5; x[:, 4:] *= x[:, :4] == 0  # one of both signs
    x = x.astype(np.float32).astype(float); v = np.zeros(n); i2 = np.zeros(m); v2 = np.zeros(m); v3 = np.zeros(2); lasts, means, margin, sent = [], [], 9., 0
    e = lambda tau: np.exp(-dt / tau.astype(float))
    for t in range(len(x)):
        total = 0
        for _ in range(substeps):
            s = (v > lif.v_threshold) * 1.; s2 = (v2 > cuba.v_threshold) * 1.; sent += s.sum() + s2.sum()
            margin = min(margin, abs(v - lif.v_threshold).min(), abs(v2 - cuba.v_threshold).min())
            v = e(lif.tau) * v + (1 - e(lif.tau)) * lif.r * (affine.weight @ x[t] + affine.bias + w_rec.weight @ s) - s * lif.v_threshold
            i2 = e(cuba.tau_syn) * i2 + (1 - e(cuba.tau_syn)) * cuba.w_in * (linear.weight @ s)
            v2 = e(cuba.tau_mem) * (v2 - s2 * cuba.v_threshold) + (1 - e(cuba.tau_mem)) * cuba.r * i2
            v3 = e(li.tau) * v3 + (1 - e(li.tau)) * li.r * (last.weight @ s2 + last.bias); total = total + v3
        lasts.append(v3.tolist()); means.append((total / substeps).tolist())
    assert margin > 1e-4 and sent > 100, (margin, sent)
    return dict(versions=dict(nir=nir.version), dt=dt, substeps=substeps, x=x.tolist(), last=lasts, mean=means)


if sys.argv[1] == "read": read(*sys.argv[2:])
elif sys.argv[1] == "conv":
    with open(f"{sys.argv[2]}/conv.json", "w") as f: json.dump(conv(sys.argv[2]), f, separators=(",", ":")); f.write("\n")
elif sys.argv[1] == "policy":
    with open(f"{sys.argv[2]}/nir_policy.json", "w") as f: json.dump(policy(sys.argv[2]), f, separators=(",", ":")); f.write("\n")
else:
    import jax, spyx
    doc = dict(versions=dict(nir=nir.version, jax=jax.__version__, spyx=spyx.__version__), python=python(sys.argv[1]), spyx=of_spyx(sys.argv[1]))
    with open(f"{sys.argv[1]}/graphs.json", "w") as f: json.dump(doc, f, separators=(",", ":")); f.write("\n")
