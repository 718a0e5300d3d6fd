"""Random optimizers of optax over 1,000 steps, written to OUTPUT_DIR/random_optax.json.gz. CASES=n makes n cases instead of
one or two of each kind, SEED=k others: for a search by hand.

{"versions": {...}, "kept": [1, ...], "cases": [C...], "schedules": [S...]}, arrays as in common.py.
  C  {"spec": SPEC, "seed": int, "leaves": [LEAF...], "lanes": int, "holes": [[lane, step, leaf, element, value]...],
     "fade": bool, "feedback": bool, "count": int, "values": [array...]}
     The parameters are {"a": ..., "b": ...}, a LEAF is {"dtype", "shape", "scale"}. The values of each leaf after the steps
     "kept" are [kept, lanes, ...]. noise() below gives the parameters and the gradients of each step. In each lane of a
     population "holes" are written into the gradients. With "fade" they shrink, with "feedback" they get a tenth of
     the parameters. A "count" that is not 0 is written into all int32 scalars of the first state.
  S  {"spec": SPEC, "counts": [...], "values": array}: a schedule at these counts
  plateaus  [{"spec": {factor, patience, relative, cooldown, least}, "losses": array, "scales": array}...]: the scale of the updates
     after each loss, by optax.contrib.reduce_on_plateau
  SPEC  {"name": ..., arguments}; build() and schedule() below say what they mean
"""
import os
import random

os.environ["XLA_FLAGS"] = "--xla_allow_excess_precision=false"
import jax
import jax.numpy as jnp
import ml_dtypes  # noqa: F401
import numpy as np
import optax
import optax.contrib

from common import encode, out_dir, versions, write

STEPS, KEPT = 1000, [1, 2, 20, 1000]
ADAM = {"b1": (0.9, 0.0, 0.8), "b2": (0.999, 0.9, 0.99), "eps": (1e-8, 1e-3), "eps_root": (0.0, 1e-6)}


def noise(seed, t, leaf, n):
    """n numbers in (-1, 1) of 7 bits: exact in all dtypes."""
    u = np.uint32
    with np.errstate(over="ignore"):
        x = u(seed) * u(0x9E3779B1) ^ u(t) * u(0x85EBCA6B) ^ u(leaf) * u(0xC2B2AE35) ^ np.arange(n, dtype=u) * u(0x27D4EB2F)
        for shift, by in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
            x = (x ^ x >> u(shift)) * u(by)
    return ((x >> u(26)).astype(np.float64) - 31.5) / 32


def some(r, table):
    """Some of a table's arguments, each with one of its values."""
    return {k: r.choice(v) for k, v in table.items() if r.random() < 0.6}


def draw_schedule(r, steps=(1, 2, 50, 300, 1000, 4000)):
    name = r.choice(["constant", "linear", "polynomial", "cosine", "exponential", "warmup_cosine", "piecewise_constant", "cosine_onecycle",
                     "linear_onecycle", "join"])
    n, a, b = r.choice(steps), r.choice([0.0, 0.1, 0.03, 1e-4]), r.choice([0.0, 0.05, 1e-3])
    peak = r.choice([0.1, 0.02])
    return {"name": name, **{
        "constant": lambda: {"init": a}, "linear": lambda: {"init": a, "end": b, "steps": n},
        "polynomial": lambda: {"init": a, "end": b, "power": r.choice([1, 2, 3, 0]), "steps": n, "begin": r.choice([0, 1, 70])},
        "cosine": lambda: {"init": a, "steps": n, "alpha": r.choice([0.0, 0.1, 1.0])},
        "exponential": lambda: {"init": peak, "steps": n, "rate": r.choice([0.5, 0.99, 1.0, 1.1 if n > 100 else 0.9])},
        "warmup_cosine": lambda: {"init": b, "peak": peak, "warmup": r.choice([0, 1, n // 3]), "total": n + 1, "end": r.choice([0.0, 1e-3])},
        "piecewise_constant": lambda: {"init": peak, "at": sorted(r.sample([0, 1, 5, 30, 200, 999], 3)), "by": [0.5, 0.1, 2.0]},
        # optax's one-cycles lose corners that are at one step
        "cosine_onecycle": lambda: {"peak": peak, "steps": max(n, 9), "rise": r.choice([0.2, 0.3, 0.9]), "div": 25.0, "final": 100.0},
        "linear_onecycle": lambda: {"peak": peak, "steps": max(n, 9), "rise": 0.3, "fall": r.choice([0.5, 0.85]), "div": 25.0, "final": 100.0},
        "join": lambda: {"parts": [{"name": "linear", "init": 0.0, "end": peak, "steps": 10}, {"name": "cosine", "init": peak, "steps": n, "alpha": 0.1},
                                   {"name": "constant", "init": b}], "at": [10, 10 + n]}}[name]()}


def schedule(s):
    return {
        "constant": lambda: optax.constant_schedule(s["init"]), "linear": lambda: optax.linear_schedule(s["init"], s["end"], s["steps"]),
        "polynomial": lambda: optax.polynomial_schedule(s["init"], s["end"], s["power"], s["steps"], s["begin"]),
        "cosine": lambda: optax.cosine_decay_schedule(s["init"], s["steps"], s["alpha"]),
        "exponential": lambda: optax.exponential_decay(s["init"], s["steps"], s["rate"]),
        "warmup_cosine": lambda: optax.warmup_cosine_decay_schedule(s["init"], s["peak"], s["warmup"], s["total"], s["end"]),
        "piecewise_constant": lambda: optax.piecewise_constant_schedule(s["init"], dict(zip(s["at"], s["by"]))),
        "cosine_onecycle": lambda: optax.cosine_onecycle_schedule(s["steps"], s["peak"], s["rise"], s["div"], s["final"]),
        "linear_onecycle": lambda: optax.linear_onecycle_schedule(s["steps"], s["peak"], s["rise"], s["fall"], s["div"], s["final"]),
        "join": lambda: optax.join_schedules([schedule(p) for p in s["parts"]], s["at"])}[s["name"]]()


OPTIMIZERS = {
    "sgd": {"momentum": (0.9, 0.5), "nesterov": (True,)}, "adam": {**ADAM, "nesterov": (True,)}, "adamw": {**ADAM, "weight_decay": (0.05, 0.5)},
    "nadam": ADAM, "nadamw": {**ADAM, "weight_decay": (0.05, 0.5)}, "adamax": {k: ADAM[k] for k in ("b1", "b2", "eps")},
    "adamaxw": {**{k: ADAM[k] for k in ("b1", "b2", "eps")}, "weight_decay": (0.05,)}, "amsgrad": ADAM,
    "adabelief": {"b1": (0.8,), "b2": (0.9, 0.99), "eps": (1e-8,), "eps_root": (1e-8,), "nesterov": (True,)},
    "yogi": {"b1": (0.8, 0.0), "b2": (0.9,), "eps": (1e-3, 1e-6)}, "radam": ADAM,
    "rmsprop": {"decay": (0.9, 0.99, 0.0), "eps": (1e-8, 1e-4), "eps_in_sqrt": (False,), "centered": (True,), "bias_correction": (True,),
                "momentum": (0.9,), "nesterov": (True,)},
    "adagrad": {"initial": (0.0, 0.1, 1.0), "eps": (1e-7, 1e-4)}, "adadelta": {"decay": (0.9, 0.5), "eps": (1e-6, 1e-3)},
    "adafactor": {"factored_from": (2, 3), "decay": (0.8, 0.5), "momentum": (0.9,), "weight_decay": (0.01,), "eps": (1e-30, 1e-6)},
    "lion": {"b1": (0.9, 0.5), "b2": (0.99, 0.5), "weight_decay": (0.0, 0.1)}, "lamb": {**ADAM, "weight_decay": (0.1,)},
    "lars": {"momentum": (0.9, 0.5), "nesterov": (True,), "weight_decay": (0.1,)}, "muon": {"momentum": (0.95, 0.5), "weight_decay": (0.1,)},
    "prodigy": {"b1": (0.8,), "b2": (0.99,), "initial": (1e-3, 1e-2), "weight_decay": (0.1,)}, "signum": {}, "sign_sgd": {},
    "schedule_free": {"b1": (0.8, 0.95)}, "lookahead": {}}
BEFORE = ["clip", "clip_by_global_norm", "clip_by_block_rms", "adaptive_grad_clip", "zero_nans", "ema", "trace", "add_decayed_weights",
          "scale_by_param_block_rms", "scale_by_trust_ratio", "factored_rms"]
AROUND = ["multi_steps", "apply_if_finite", "masked", "flatten", "partition", "inject"]


def draw_optimizer(r, name, names):
    s = {"name": name, "rate": r.choice([0.1, 0.03, 0.01]) if name not in ("prodigy", "adadelta") else 1.0, **some(r, OPTIMIZERS[name])}
    if name == "prodigy":
        s.setdefault("initial", 1e-2)  # with 1e-6 it takes many steps before anything moves
    if "centered" in s:
        s.pop("bias_correction", None)  # the variance of one gradient is rounding noise
        s["decay"] = 0.9
    if name == "rmsprop" and "momentum" not in s or name == "sgd" and "momentum" not in s:
        s.pop("nesterov", None)
    if "weight_decay" in s and name not in ("prodigy", "muon") and r.random() < 0.5:
        s["mask"] = r.sample(names, r.randint(0, len(names)))
    if r.random() < 0.3 and name not in ("schedule_free", "prodigy"):
        s["rate"] = draw_schedule(r)
        if s["rate"].get("init") == 0 and not s["rate"].get("end") and "peak" not in s["rate"]:
            s["rate"]["init"] = 0.05  # a rate that stays 0 moves nothing
    return s


def draw(r, names, kind=None):
    """A random optimizer; kind names what it has to hold."""
    s = draw_optimizer(r, kind if kind in OPTIMIZERS else r.choice(list(OPTIMIZERS)), names)
    alone = s["name"] in ("schedule_free", "lookahead")  # what changes their updates or their state would not be what they are made for
    before = [kind] if kind in BEFORE else r.sample(BEFORE, r.choice([0, 0, 1, 2]))
    parts = []
    for b in before:
        parts.append({"name": b, **{"clip": {"by": 0.3}, "clip_by_global_norm": {"by": r.choice([0.5, 1e-3, 1e3])}, "clip_by_block_rms": {"by": 0.25},
                                    "adaptive_grad_clip": {"by": 0.1, "eps": 1e-3}, "ema": {"decay": 0.9, "debias": r.random() < 0.5},
                                    "trace": {"decay": 0.7, "nesterov": r.random() < 0.5}, "factored_rms": {"from": 2},
                                    "add_decayed_weights": {"decay": 0.01, "mask": r.sample(names, r.randint(0, len(names)))}}.get(b, {})})
    if parts and not alone or kind in BEFORE:
        if alone:
            s = draw_optimizer(r, "adam", names)
        s = {"name": "chain", "parts": [*parts, s]}
    around = kind if kind in AROUND else r.choice([None, None, None, *AROUND]) if not alone else None
    flat = lambda s: s["name"] in ("sgd", "adam", "rmsprop", "amsgrad", "nadam", "yogi", "adabelief", "radam")  # noqa: E731
    if around == "multi_steps":
        s = {"name": around, "every": r.choice([1, 2, 7]), "inner": s}
    elif around == "apply_if_finite":
        s = {"name": around, "most": r.choice([0, 1, 3]), "inner": s}
    elif around == "masked":
        if any(k in str(s) for k in ("mask", "muon")):
            s = draw_optimizer(r, "adam", names)
        s = {"name": around, "mask": r.sample(names, r.randint(0, len(names))), "inner": s}
    elif around == "flatten":
        s = {"name": around, "inner": s if flat(s) else draw_optimizer(r, "adam", names)}
    elif around == "partition":
        s = {"name": around, "parts": [draw_optimizer(r, n, []) for n in ("sgd", "adam")], "labels": [r.randint(0, 1) for _ in names]}
    elif around == "inject":
        s = {"name": around, "rate": 0.02, "b1": 0.8}
    return s


def only(names):
    return lambda tree: {k: k in names for k in tree}


def lookahead(inner, every, rate):
    """optax.lookahead of the fast parameters, with the slow ones in the state."""
    both = optax.lookahead(inner, every, rate)

    def update(gradients, state, params):
        inner_state, slow = state
        updates, inner_state = both.update(gradients, inner_state, optax.LookaheadParams(params, slow))
        return updates.fast, (inner_state, optax.apply_updates(slow, updates.slow))

    return optax.GradientTransformation(lambda p: (both.init(optax.LookaheadParams(p, p)), p), update)


def multi_steps(inner, every):
    """optax.MultiSteps with selections: it multiplies by 0, so that a NaN stays in its mean for ever. float64 stays float64."""
    def update(gradients, state, params):
        at, mean, inner_state = state
        wide = lambda x: x.astype(jnp.promote_types(x.dtype, jnp.float32))  # noqa: E731
        mean = jax.tree.map(lambda g, m: m + (wide(g) - m) / (at + 1).astype(m.dtype), gradients, mean)
        updates, new = inner.update(jax.tree.map(lambda m, g: m.astype(g.dtype), mean, gradients), inner_state, params)
        emit = at == every - 1
        choose = lambda a, b: jax.tree.map(lambda x, y: jnp.where(emit, x, y), a, b)  # noqa: E731
        zero = lambda tree: jax.tree.map(jnp.zeros_like, tree)  # noqa: E731
        return choose(updates, zero(updates)), ((at + 1) % every, choose(zero(mean), mean), choose(new, inner_state))

    init = lambda p: (jnp.int32(0), jax.tree.map(lambda x: jnp.zeros(x.shape, jnp.promote_types(x.dtype, jnp.float32)), p), inner.init(p))  # noqa: E731
    return optax.GradientTransformation(init, update)


def build(s):
    name = s["name"]
    a = {k: v for k, v in s.items() if k not in ("name", "rate", "mask")}
    if "rate" in s:
        rate = schedule(s["rate"]) if isinstance(s["rate"], dict) else s["rate"]
    mask = {"mask": only(s["mask"])} if "mask" in s else {}
    simple = {"sgd": optax.sgd, "adam": optax.adam, "adamw": optax.adamw, "nadam": optax.nadam, "nadamw": optax.nadamw, "adamax": optax.adamax,
              "adamaxw": optax.adamaxw, "amsgrad": optax.amsgrad, "adabelief": optax.adabelief, "yogi": optax.yogi, "radam": optax.radam,
              "rmsprop": optax.rmsprop, "lion": optax.lion, "lamb": optax.lamb, "sign_sgd": optax.sign_sgd}
    if name in simple:
        return simple[name](rate, **a, **mask)
    return {
        "adagrad": lambda: optax.adagrad(rate, a.get("initial", 0.1), a.get("eps", 1e-7)),
        "adadelta": lambda: optax.adadelta(rate, a.get("decay", 0.9), a.get("eps", 1e-6)),
        "adafactor": lambda: optax.adafactor(rate, a.get("factored_from", 128), a.get("decay", 0.8), momentum=a.get("momentum"), eps=a.get("eps", 1e-30),
                                             weight_decay_rate=a.get("weight_decay"), weight_decay_mask=mask.get("mask")),
        "lars": lambda: optax.lars(rate, a.get("weight_decay", 0.0), mask.get("mask", True), 0.05, momentum=a.get("momentum", 0.9),
                                   nesterov=a.get("nesterov", False)),
        "muon": lambda: optax.contrib.muon(rate, beta=a.get("momentum", 0.95), weight_decay=a.get("weight_decay", 0.0)),
        "prodigy": lambda: optax.contrib.prodigy(rate, (a.get("b1", 0.9), a.get("b2", 0.999)), estim_lr0=a.get("initial", 1e-6),
                                                 weight_decay=a.get("weight_decay", 0.0)),
        "signum": lambda: optax.signum(rate, 0.9), "lookahead": lambda: lookahead(optax.adam(rate), 5, 0.5),
        "schedule_free": lambda: optax.contrib.schedule_free(optax.sgd(rate), rate, a.get("b1", 0.9)),
        "clip": lambda: optax.clip(a["by"]), "clip_by_global_norm": lambda: optax.clip_by_global_norm(a["by"]),
        "clip_by_block_rms": lambda: optax.clip_by_block_rms(a["by"]), "adaptive_grad_clip": lambda: optax.adaptive_grad_clip(a["by"], a["eps"]),
        "zero_nans": optax.zero_nans, "ema": lambda: optax.ema(a["decay"], a["debias"]), "trace": lambda: optax.trace(a["decay"], a["nesterov"]),
        "add_decayed_weights": lambda: optax.add_decayed_weights(a["decay"], only(s["mask"])),
        "scale_by_param_block_rms": optax.scale_by_param_block_rms, "scale_by_trust_ratio": optax.scale_by_trust_ratio,
        "factored_rms": lambda: optax.scale_by_factored_rms(min_dim_size_to_factor=a["from"]),
        "chain": lambda: optax.chain(*(build(p) for p in s["parts"])),
        "multi_steps": lambda: multi_steps(build(s["inner"]), s["every"]),
        "apply_if_finite": lambda: optax.apply_if_finite(build(s["inner"]), s["most"]),
        "masked": lambda: optax.masked(build(s["inner"]), only(s["mask"])), "flatten": lambda: optax.flatten(build(s["inner"])),
        "partition": lambda: optax.partition({str(i): build(p) for i, p in enumerate(s["parts"])},
                                             lambda tree: {k: str(s["labels"][ord(k) - 97]) for k in tree}),
        "inject": lambda: optax.inject_hyperparams(optax.adam)(s["rate"], b1=s["b1"])}[name]()


def case(r, kind, seed):
    dtype = r.choice(["float32"] * 5 + ["float64", "float16", "bfloat16", "mixed"])
    n, half = r.randint(1, 4), r.choice(["bfloat16", "float16"])
    reach = 20 if dtype not in ("float16", "mixed") else 4
    leaves = []
    for _ in range(n):
        shape = [r.choice([1, 2, 3, 5]) for _ in range(r.choice([0, 1, 1, 2, 2, 2, 3, 4]))]
        while np.prod(shape) > 30:
            shape.pop()
        d = r.choice(["float32", half]) if dtype == "mixed" else dtype
        leaves.append({"dtype": d, "shape": shape, "scale": None if r.random() < 0.05 else r.choice([0, 0, 0, -reach, reach, -3, 3])})
    if all(leaf["scale"] is None for leaf in leaves):
        leaves[0]["scale"] = 0
    names = [chr(97 + i) for i in range(n)]
    # In half precision optax.inject_hyperparams rounds 1 - b2 to 0, prodigy and schedule_free sum in the narrowest dtype, and lookahead
    # multiplies infinities by 0. In float64 the rates of the first are float32 here.
    while True:
        spec = draw(r, names, kind)
        if not any(k in str(spec) for k in {"float32": [], "float64": ["inject"]}.get(dtype, ["inject", "schedule_free", "prodigy", "lookahead"])):
            break
        if kind in ("inject", "schedule_free", "prodigy", "lookahead"):
            kind = None
    lanes, holes = 1, []
    if r.random() < 0.4 or kind in ("apply_if_finite", "zero_nans", "multi_steps"):
        lanes = 3
        for _ in range(r.randint(1, 4)):
            at, lane, leaf = r.choice([0, 1, 5, 6, 7, 300]), r.randint(1, 2), r.randrange(n)
            size = int(np.prod(leaves[leaf]["shape"]))
            holes += [[lane, at + k, leaf, r.randrange(size), v] for k, v in enumerate(r.choices(["nan", "inf", "-inf"], k=r.randint(1, 5)))]
    c = {"spec": spec, "seed": seed, "leaves": leaves, "lanes": lanes, "holes": holes, "fade": r.random() < 0.3, "feedback": r.random() < 0.4}
    if c["fade"]:
        c["feedback"] = False  # near the minimum normalized steps are signs of rounding noise
    counted = not any(k in str(spec) for k in ("multi_steps", "lookahead", "apply_if_finite", "schedule_free", "flatten", "inject"))
    last = 2**30 if "factor" in str(spec) else 2**31 - 4  # optax's factored averages add 1 to the largest count
    c["count"] = r.choice([2**24 - 3, 2**24 + 5, last]) if counted and r.random() < 0.1 else 0
    with jax.enable_x64(dtype == "float64"):
        c["values"] = values(c, names)
    return c


def values(c, names):
    shapes = [(k, np.dtype(leaf["dtype"]), tuple(leaf["shape"]), leaf["scale"]) for k, leaf in zip(names, c["leaves"])]
    start = {k: jnp.asarray(noise(c["seed"], 2**20, i, int(np.prod(s))).reshape(s), d) for i, (k, d, s, _) in enumerate(shapes)}
    opt = build(c["spec"])

    def step(carry, g):
        params, state = carry
        if c["feedback"]:
            g = jax.tree.map(lambda g, p: g + 0.1 * p, g, params)
        updates, state = opt.update(g, state, params)
        params = optax.apply_updates(params, updates)
        return (params, state), params

    @jax.jit
    def run(gradients):
        state = opt.init(start)
        if c["count"]:
            state = jax.tree.map(lambda x: jnp.asarray(c["count"], jnp.int32) if x.dtype == jnp.int32 and x.ndim == 0 else x, state)
        return jax.lax.scan(step, (start, state), gradients)[1]

    lanes = []
    for lane in range(c["lanes"]):
        gradients = {}
        for i, (k, d, s, scale) in enumerate(shapes):
            size = int(np.prod(s))
            g = np.stack([noise(c["seed"], t, i, size) * (2.0 ** -(t // 128) if c["fade"] else 1) for t in range(STEPS)])
            g = g * (0 if scale is None else 2.0**scale)
            for hole_lane, t, leaf, at, v in c["holes"]:
                if hole_lane == lane and leaf == i:
                    g[t, at] = float(v)
            gradients[k] = jnp.asarray(g.reshape(STEPS, *s), d)
        all_steps = run(gradients)
        lanes.append({k: np.asarray(v)[[n - 1 for n in KEPT]] for k, v in all_steps.items()})
    return [np.stack([lane[k] for lane in lanes], 1) for k in names]


def moves(c):
    """Says whether 20 steps move a parameter by more than the rounding of half precision: else the short form of the test shows nothing."""
    far = 0.0
    for i, v in enumerate(c["values"]):
        v = v[KEPT.index(20)].astype(np.float64)
        d = np.abs(v - noise(c["seed"], 2**20, i, v[0].size).reshape(v[0].shape))  # of all lanes
        far = max(far, d[np.isfinite(d)].max(initial=0))
    return far > 0.02


def plateau(r, seed):
    s = {"factor": r.choice([0.1, 0.5, 0.9]), "patience": r.choice([1, 2, 5, 10]), "relative": r.choice([1e-4, 0.1, 1.0, 1e-7]),
         "cooldown": r.choice([0, 1, 4]), "least": r.choice([0.0, 1e-3, 0.3])}
    t = np.arange(200)
    losses = np.float32(noise(seed, 0, 0, 200) * r.choice([0, 0.1, 1]) + r.choice([1, -1, 0]) + r.choice([0, 1, 5]) / (1 + t % r.choice([40, 300])))
    opt = optax.contrib.reduce_on_plateau(s["factor"], s["patience"], s["relative"], 0.0, s["cooldown"], 1, s["least"])

    def step(state, loss):
        state = opt.update({"a": jnp.float32(1)}, state, value=loss)[1]
        return state, state.scale

    scales = jax.jit(lambda x: jax.lax.scan(step, opt.init({"a": jnp.float32(0)}), x)[1])(losses)
    return {"spec": s, "losses": encode(losses), "scales": encode(np.asarray(scales))}


def main():
    out = out_dir(__doc__)
    n, seed = int(os.environ.get("CASES", 0)), int(os.environ.get("SEED", 0))
    kinds = [*OPTIMIZERS, *BEFORE, *AROUND]
    cases = []
    for i in range(n or 2 * len(kinds)):
        kind = kinds[i % len(kinds)]
        try:
            for k in range(seed * 10**6 + i, (seed + 1) * 10**6, 1000):
                c = case(random.Random(k), kind, k)
                if moves(c):
                    break
            cases.append({"kind": kind, **c, "values": [encode(v) for v in c["values"]]})
        except Exception as e:  # optax refuses some mixed dtypes
            print(i, kind, str(e)[:300])
    counts = [0, 1, 2, 3, 9, 10, 11, 30, 49, 50, 51, 69, 70, 71, 119, 120, 299, 300, 301, 999, 1000, 1001, 3999, 4000, 4001, 2**24 - 1, 2**24, 2**24 + 1,
              2**24 + 3, 2**30 + 7, 2**31 - 1]
    plans = [draw_schedule(random.Random(seed * 10**6 + i), (1, 2, 3, 50, 300, 1000, 4000, 2**24 + 2)) for i in range(n or 60)]
    schedules = [{"spec": p, "values": encode(np.asarray(jax.vmap(schedule(p))(jnp.asarray(counts, jnp.int32)), np.float32) + np.zeros(len(counts), np.float32))}
                 for p in plans]
    plateaus = [plateau(random.Random(seed * 10**6 + i), seed * 10**6 + i) for i in range(n or 16)]
    write(os.path.join(out, "random_optax.json.gz"), {"versions": versions("optax"), "kept": KEPT, "counts": counts, "cases": cases, "schedules": schedules,
                                                      "plateaus": plateaus})


main()
