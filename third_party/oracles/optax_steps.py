"""100 steps of optax's optimizers on a fixed sequence of gradients, for graph/optim: OUTPUT_DIR/optax.json.gz.

{"versions": {...}, "start": PARAMS, "gradients": {"w": [100, 3, 4], "b": [100, 4]}, "holes": [...], "losses": [...], "optimizers": [O...], "schedules": [S...],
 "transforms": [T...]}; arrays as in common.py, PARAMS = {"w": [3, 4], "b": [4]}, float32
  O  {"name", "config": {...}, "params": {"1": PARAMS, "2": …, "10": …, "100": …}}: parameters after that many steps.
     Where config has "feedback": true, the gradient of step t is gradients[t] + 0.1 * params (a quadratic), else gradients[t].
  S  {"name", "config": {...}, "counts": [...], "values": array}: the schedule at these counts
  T  {"name", "config", "input": PARAMS, "output": PARAMS}: one application of a gradient transformation (clipping)
"ema" is an exponential average of the parameters (optax.ema, debias as configured) that run beside SGD; its values stand
in "params" instead of the parameters. "multi_steps" averages "every" gradients and applies Adam to the mean. A decay mask
names the leaves that decay. "clipup" is evosax's. "apply_if_finite" and "zero_nans" get gradients with NaN in w[1, 2] at the
steps "holes". "reduce_on_plateau" gets "losses", "schedule_free_params" keeps the averages.
"""
import os

import jax
import jax.numpy as jnp
import numpy as np
import optax
import optax.contrib
from evosax.core.optimizer import clipup

from common import encode, out_dir, versions, write

STEPS, KEPT = 100, (1, 2, 10, 100)
RNG = np.random.default_rng(11)
START = {"w": jnp.asarray(RNG.standard_normal((3, 4)), jnp.float32), "b": jnp.asarray(RNG.standard_normal(4), jnp.float32)}
GRADIENTS = {"w": jnp.asarray(RNG.standard_normal((STEPS, 3, 4)) * np.linspace(2, 0.2, STEPS)[:, None, None], jnp.float32),
             "b": jnp.asarray(RNG.standard_normal((STEPS, 4)) * 3 * np.linspace(1, 0.1, STEPS)[:, None], jnp.float32)}


def tree(t):
    return {k: encode(v) for k, v in t.items()}


# Gradients with NaN in steps 3, 4, 7 to 11 (of zero_nans and apply_if_finite; only NaN, which both see).
HOLES = np.zeros(STEPS, bool)
HOLES[[3, 4, 7, 8, 9, 10, 11]] = True
HOLED = {"w": GRADIENTS["w"].at[HOLES, 1, 2].set(np.nan), "b": GRADIENTS["b"]}


# Losses that fall, then stand still, then fall again.
LOSSES = np.float32([1 / (1 + t) for t in range(20)] + [0.06] * 50 + [0.05 / (1 + t) for t in range(30)])


def run(name, config, optimizer, average=None, gradients=GRADIENTS, shown_of=None):
    params, state = START, optimizer.init(START)
    average_state = average.init(START) if average else None

    @jax.jit
    def step(params, state, average_state, gradient, loss):
        if config.get("feedback"):
            gradient = jax.tree.map(lambda g, p: g + 0.1 * p, gradient, params)
        more = {"value": loss} if name == "reduce_on_plateau" else {}
        updates, state = optimizer.update(gradient, state, params, **more)
        params = optax.apply_updates(params, updates)
        shown = params
        if shown_of:
            shown = shown_of(state, params)
        if average:
            shown, average_state = average.update(params, average_state)
        return params, state, average_state, shown

    kept = {}
    for t in range(STEPS):
        params, state, average_state, shown = step(params, state, average_state, jax.tree.map(lambda g: g[t], gradients), LOSSES[t])
        if t + 1 in KEPT:
            kept[str(t + 1)] = tree(shown)
    return {"name": name, "config": config, "params": kept}


def lookahead(inner, every, rate):
    """optax.lookahead of the fast parameters, with the slow ones in the state."""
    both = optax.lookahead(inner, every, rate)
    pair = lambda fast, slow: optax.LookaheadParams(fast, slow)  # noqa: E731

    def update(gradients, state, params):
        inner_state, slow = state
        updates, inner_state = both.update(gradients, inner_state, pair(params, slow))
        return updates.fast, (inner_state, optax.apply_updates(slow, updates.slow))

    return optax.GradientTransformation(lambda p: (both.init(pair(p, p)), p), update)


def main():
    out = out_dir(__doc__)
    runs = [
        run("sgd", {"learning_rate": 0.1}, optax.sgd(0.1)),
        run("sgd", {"learning_rate": 0.1, "feedback": True}, optax.sgd(0.1)),
        run("sgd", {"learning_rate": 0.02, "momentum": 0.9}, optax.sgd(0.02, 0.9)),
        run("sgd", {"learning_rate": 0.02, "momentum": 0.9, "nesterov": True}, optax.sgd(0.02, 0.9, True)),
        run("adam", {"learning_rate": 0.01, "b1": 0.9, "b2": 0.999, "eps": 1e-8, "feedback": True}, optax.adam(0.01)),
        run("adam", {"learning_rate": 0.03, "b1": 0.8, "b2": 0.99, "eps": 1e-5, "eps_root": 1e-6, "nesterov": True},
            optax.adam(0.03, 0.8, 0.99, 1e-5, 1e-6, nesterov=True)),
        run("adamw", {"learning_rate": 0.01, "b1": 0.9, "b2": 0.999, "eps": 1e-8, "weight_decay": 0.05}, optax.adamw(0.01, weight_decay=0.05)),
        run("adamw", {"learning_rate": 0.01, "b1": 0.9, "b2": 0.999, "eps": 1e-8, "weight_decay": 0.05, "mask": ["w"]},
            optax.adamw(0.01, weight_decay=0.05, mask={"w": True, "b": False})),
        run("radam", {"learning_rate": 0.01, "b1": 0.9, "b2": 0.999, "eps": 1e-8, "feedback": True}, optax.radam(0.01)),
        run("radam", {"learning_rate": 0.03, "b1": 0.8, "b2": 0.95, "eps": 1e-5, "eps_root": 1e-6}, optax.radam(0.03, 0.8, 0.95, 1e-5, 1e-6)),
        run("rmsprop", {"learning_rate": 0.01, "decay": 0.9, "eps": 1e-8}, optax.rmsprop(0.01)),
        run("rmsprop", {"learning_rate": 0.01, "decay": 0.95, "eps": 1e-6, "centered": True, "momentum": 0.9},
            optax.rmsprop(0.01, 0.95, 1e-6, centered=True, momentum=0.9)),
        run("rmsprop", {"learning_rate": 0.01, "decay": 0.9, "eps": 1e-6, "eps_in_sqrt": False, "momentum": 0.5, "nesterov": True},
            optax.rmsprop(0.01, 0.9, 1e-6, eps_in_sqrt=False, momentum=0.5, nesterov=True)),
        run("rmsprop", {"learning_rate": 0.01, "decay": 0.9, "eps": 1e-6, "bias_correction": True}, optax.rmsprop(0.01, 0.9, 1e-6, bias_correction=True)),
        run("clipup", {"learning_rate": 0.03, "max_speed": 0.06, "momentum": 0.9}, clipup(0.03, 0.06)),
        run("clipup", {"learning_rate": 0.02, "max_speed": 0.02, "momentum": 0.8, "feedback": True}, clipup(0.02, 0.02, 0.8)),
        run("lion", {"learning_rate": 0.003, "b1": 0.9, "b2": 0.99, "weight_decay": 0.001}, optax.lion(0.003)),
        run("clip_then_adam", {"max_norm": 0.5, "learning_rate": 0.01, "b1": 0.9, "b2": 0.999, "eps": 1e-8},
            optax.chain(optax.clip_by_global_norm(0.5), optax.adam(0.01))),
        run("adam_schedule", {"schedule": "warmup_cosine", "init_value": 0.0, "peak_value": 0.05, "warmup_steps": 10, "decay_steps": 80,
                              "end_value": 0.001, "b1": 0.9, "b2": 0.999, "eps": 1e-8},
            optax.adam(optax.warmup_cosine_decay_schedule(0.0, 0.05, 10, 80, 0.001))),
        run("multi_steps", {"every": 4, "learning_rate": 0.01, "b1": 0.9, "b2": 0.999, "eps": 1e-8},
            optax.MultiSteps(optax.adam(0.01), 4).gradient_transformation()),
        run("ema", {"learning_rate": 0.1, "decay": 0.95, "debias": True}, optax.sgd(0.1), optax.ema(0.95)),
        run("ema", {"learning_rate": 0.1, "decay": 0.95, "debias": False}, optax.sgd(0.1), optax.ema(0.95, debias=False)),
        run("muon", {"learning_rate": 0.02, "momentum": 0.95}, optax.contrib.muon(0.02)),
        run("muon", {"learning_rate": 0.01, "momentum": 0.9, "weight_decay": 0.1, "b1": 0.8, "feedback": True},
            optax.contrib.muon(0.01, beta=0.9, weight_decay=0.1, adam_b1=0.8)),
        run("apply_if_finite", {"learning_rate": 0.01, "most": 2, "b1": 0.9}, optax.apply_if_finite(optax.adam(0.01), 2), gradients=HOLED),
        run("zero_nans", {"learning_rate": 0.01, "b1": 0.9}, optax.chain(optax.zero_nans(), optax.adam(0.01)), gradients=HOLED),
        run("adagrad", {"learning_rate": 0.1, "feedback": True}, optax.adagrad(0.1)),
        run("adagrad", {"learning_rate": 0.1, "initial": 0.0, "eps": 1e-5}, optax.adagrad(0.1, 0.0, 1e-5)),
        run("adadelta", {"learning_rate": 1.0}, optax.adadelta(1.0)),
        run("amsgrad", {"learning_rate": 0.01, "feedback": True}, optax.amsgrad(0.01)),
        run("amsgrad", {"learning_rate": 0.01, "b1": 0.8, "b2": 0.9, "eps": 1e-5, "eps_root": 1e-6}, optax.amsgrad(0.01, 0.8, 0.9, 1e-5, 1e-6)),
        run("nadam", {"learning_rate": 0.01, "feedback": True}, optax.nadam(0.01)),
        run("nadamw", {"learning_rate": 0.01, "weight_decay": 0.05}, optax.nadamw(0.01, weight_decay=0.05)),
        run("adamax", {"learning_rate": 0.01, "feedback": True}, optax.adamax(0.01)),
        run("adamax", {"learning_rate": 0.01, "weight_decay": 0.05}, optax.adamaxw(0.01, weight_decay=0.05)),
        run("adabelief", {"learning_rate": 0.01, "feedback": True}, optax.adabelief(0.01)),
        run("adabelief", {"learning_rate": 0.01, "b2": 0.9, "nesterov": True}, optax.adabelief(0.01, b2=0.9, nesterov=True)),
        run("yogi", {"learning_rate": 0.01, "feedback": True}, optax.yogi(0.01)),
        run("lamb", {"learning_rate": 0.01, "weight_decay": 0.1, "feedback": True}, optax.lamb(0.01, weight_decay=0.1)),
        run("lars", {"learning_rate": 0.1, "coefficient": 0.05, "weight_decay": 0.1}, optax.lars(0.1, weight_decay=0.1, trust_coefficient=0.05)),
        run("signum", {"learning_rate": 0.01, "decay": 0.9}, optax.signum(0.01, 0.9)),
        run("lookahead", {"learning_rate": 0.01, "every": 5, "rate": 0.5}, lookahead(optax.adam(0.01), 5, 0.5)),
        run("adafactor", {"learning_rate": 0.05, "feedback": True}, optax.adafactor(0.05)),
        run("adafactor", {"learning_rate": 0.05, "factored_from": 2, "momentum": 0.9, "weight_decay": 0.01},
            optax.adafactor(0.05, 2, momentum=0.9, weight_decay_rate=0.01)),
        run("prodigy", {"learning_rate": 1.0, "initial": 1e-3, "feedback": True}, optax.contrib.prodigy(1.0, estim_lr0=1e-3)),
        run("prodigy", {"learning_rate": 1.0, "initial": 1e-2, "weight_decay": 0.1}, optax.contrib.prodigy(1.0, estim_lr0=1e-2, weight_decay=0.1)),
        run("schedule_free", {"learning_rate": 0.02, "feedback": True}, optax.contrib.schedule_free(optax.sgd(0.02), 0.02)),
        run("schedule_free_params", {"learning_rate": 0.02, "b1": 0.8}, optax.contrib.schedule_free(optax.sgd(0.02), 0.02, 0.8),
            shown_of=optax.contrib.schedule_free_eval_params),
        run("adaptive_grad_clip", {"learning_rate": 0.05, "factor": 0.1}, optax.chain(optax.adaptive_grad_clip(0.1), optax.sgd(0.05))),
        run("reduce_on_plateau", {"learning_rate": 0.05, "factor": 0.5, "patience": 4, "cooldown": 2},
            optax.chain(optax.sgd(0.05), optax.contrib.reduce_on_plateau(0.5, 4, cooldown=2))),
        run("partition", {"learning_rate": 0.05}, optax.partition({"matrix": optax.sgd(0.05), "other": optax.adam(0.05)}, {"w": "matrix", "b": "other"})),
    ]
    counts = [0, 1, 2, 5, 9, 10, 11, 30, 49, 50, 51, 79, 80, 99, 100, 150]
    planned = [
        ("constant", {"value": 0.3}, optax.constant_schedule(0.3)),
        ("linear", {"init_value": 1.0, "end_value": 0.1, "transition_steps": 50, "transition_begin": 10}, optax.linear_schedule(1.0, 0.1, 50, 10)),
        ("polynomial", {"init_value": 1.0, "end_value": 0.1, "power": 2, "transition_steps": 50, "transition_begin": 10},
         optax.polynomial_schedule(1.0, 0.1, 2, 50, 10)),
        ("cosine", {"init_value": 0.5, "decay_steps": 80, "alpha": 0.1}, optax.cosine_decay_schedule(0.5, 80, 0.1)),
        ("warmup_cosine", {"init_value": 0.0, "peak_value": 0.05, "warmup_steps": 10, "decay_steps": 80, "end_value": 0.001},
         optax.warmup_cosine_decay_schedule(0.0, 0.05, 10, 80, 0.001)),
        ("piecewise_constant", {"init_value": 1.0, "boundaries": [10, 50], "scales": [0.1, 0.5]}, optax.piecewise_constant_schedule(1.0, {10: 0.1, 50: 0.5})),
        ("cosine_onecycle", {"peak_value": 0.3, "transition_steps": 100, "rise": 0.3, "div": 25.0, "final_div": 100.0},
         optax.cosine_onecycle_schedule(100, 0.3, 0.3, 25.0, 100.0)),
        ("linear_onecycle", {"peak_value": 0.3, "transition_steps": 99, "rise": 0.3, "fall": 0.85, "div": 25.0, "final_div": 100.0},
         optax.linear_onecycle_schedule(99, 0.3, 0.3, 0.85, 25.0, 100.0)),
        ("exponential", {"init_value": 1.0, "transition_steps": 10, "decay_rate": 0.5}, optax.exponential_decay(1.0, 10, 0.5)),
    ]
    schedules = [{"name": n, "config": c, "counts": counts, "values": encode(np.float32([s(jnp.asarray(k)) for k in counts]))} for n, c, s in planned]
    transforms = []
    for scale in (0.01, 1.0, 0.0):
        g = jax.tree.map(lambda x: x[0] * scale, GRADIENTS)
        for name, config, t in (("clip_by_global_norm", {"max_norm": 1.0}, optax.clip_by_global_norm(1.0)), ("clip", {"max_delta": 0.7}, optax.clip(0.7))):
            transforms.append({"name": name, "config": config, "input": tree(g), "output": tree(t.update(g, t.init(g))[0])})
    write(os.path.join(out, "optax.json.gz"), {"versions": versions("optax", "evosax"), "start": tree(START), "gradients": tree(GRADIENTS), "holes": np.flatnonzero(HOLES).tolist(), "losses": LOSSES.tolist(),
                                              "optimizers": runs, "schedules": schedules, "transforms": transforms})


main()
