"""Optuna's samplers on the problems of cmd/xlarun-bench/bench/samplerbench, for `xlarun bench samplers --peers`.
usage: optuna_samplers.py < QUESTIONS

A question is a line of JSON: {"sampler", "problem", "dims", "marks": [50, 200], "instances": [{"optimum", "r", "q"}...], "table", "probes": [[x...]...],
"values": [...]}. Seed i of the sampler minimizes instance i. The answer is a line {"best": [[the best value after each of marks]...]}. Values at the
probes (of instance 0) have to be those that the question has: else both sides would minimize different functions, and this one ends.
Functions: Hansen, Finck, Ros and Auger, "Real-parameter black-box optimization benchmarking 2009: noiseless functions definitions", RR-6829, INRIA."""
import json
import sys
import warnings

import numpy as np
import optuna
import serve

BOUND = 5.0


def ramp(n):
    return np.arange(n) / (n - 1)


def stretched(alpha, x):
    return alpha ** (ramp(len(x)) / 2) * x


def oscillated(x):
    x = np.asarray(x, float)
    size = np.log(np.where(x == 0, 1, np.abs(x)))
    c1, c2 = np.where(x > 0, 10, 5.5), np.where(x > 0, 7.9, 3.1)
    return np.sign(x) * np.exp(size + 0.049 * (np.sin(c1 * size) + np.sin(c2 * size)))


def skewed(beta, x):
    up = np.maximum(x, 0)
    return np.where(x > 0, up ** (1 + beta * ramp(len(x)) * np.sqrt(up)), x)


def ellipsoid(z):
    return np.sum(10 ** (6 * ramp(len(z))) * z ** 2)


def waves(z):
    return 10 * (len(z) - np.sum(np.cos(2 * np.pi * z))) + np.sum(z ** 2)


def bueche_rastrigin(x, opt, R, Q):
    z = oscillated(x - opt)
    steep = 10 ** (ramp(len(x)) / 2)
    return waves(np.where((z > 0) & (np.arange(len(x)) % 2 == 0), 10 * steep, steep) * z)


def linear_slope(x, opt, R, Q):
    steep = np.sign(opt) * 10 ** ramp(len(x))
    return np.sum(BOUND * np.abs(steep) - steep * x)


def attractive_sector(x, opt, R, Q):
    z = Q @ stretched(10, R @ (x - opt))
    return oscillated(np.sum((np.where(z * opt > 0, 100, 1) * z) ** 2)) ** 0.9


def step_ellipsoid(x, opt, R, Q):
    fine = stretched(10, R @ (x - opt))
    z = Q @ np.where(np.abs(fine) > 0.5, np.floor(0.5 + fine), np.floor(0.5 + 10 * fine) / 10)
    return 0.1 * max(abs(fine[0]) / 1e4, np.sum(10 ** (2 * ramp(len(x))) * z ** 2))


def rosenbrock(x, opt, R, Q):
    z = max(1, np.sqrt(len(x)) / 8) * (x - opt) + 1
    return np.sum(100 * (z[:-1] ** 2 - z[1:]) ** 2 + (z[:-1] - 1) ** 2)


FUNCTIONS = {
    "sphere": lambda x, opt, R, Q: np.sum((x - opt) ** 2),
    "ellipsoid": lambda x, opt, R, Q: ellipsoid(oscillated(x - opt)),
    "rastrigin": lambda x, opt, R, Q: waves(stretched(10, skewed(0.2, oscillated(x - opt)))),
    "bueche_rastrigin": bueche_rastrigin,
    "linear_slope": linear_slope,
    "attractive_sector": attractive_sector,
    "step_ellipsoid": step_ellipsoid,
    "rosenbrock": rosenbrock,
    "different_powers": lambda x, opt, R, Q: np.sqrt(np.sum(np.abs(R @ (x - opt)) ** (2 + 4 * ramp(len(x))))),
    "ellipsoid_rotated": lambda x, opt, R, Q: ellipsoid(oscillated(R @ (x - opt))),
}

SAMPLERS = {
    "random": lambda seed: optuna.samplers.RandomSampler(seed=seed),
    "quasi-random": lambda seed: optuna.samplers.QMCSampler(seed=seed, scramble=True),
    "tpe": lambda seed: optuna.samplers.TPESampler(seed=seed),
    "cmaes": lambda seed: optuna.samplers.CmaEsSampler(seed=seed),
    "nsga2": lambda seed: optuna.samplers.NSGAIISampler(seed=seed),
}


def objective(q, instance):
    table = q.get("table")
    if table:
        def look(t):
            rows = table["values"][t.suggest_categorical("strategy", table["strategies"])]
            return table["most"] - rows[t.suggest_int("sigma", 0, len(rows) - 1)][t.suggest_int("rate", 0, len(rows[0]) - 1)]
        return look, None
    parts = [np.array(instance[k]) for k in ("optimum", "r", "q")]
    f = lambda x: float(FUNCTIONS[q["problem"]](np.asarray(x), *parts))
    return lambda t: f([t.suggest_float(f"x{i}", -BOUND, BOUND) for i in range(q["dims"])]), f


def answer(q):
    best = []
    for seed, instance in enumerate(q["instances"]):
        goal, f = objective(q, instance)
        if seed == 0 and f:
            for x, want in zip(q["probes"], q["values"]):
                if not np.isclose(f(x), want, rtol=1e-9, atol=1e-12):
                    raise SystemExit(f"{q['problem']} is {f(x)} here and {want} there at {x}")
        study = optuna.create_study(sampler=SAMPLERS[q["sampler"]](seed))
        study.optimize(goal, n_trials=max(q["marks"]))
        values = [t.value for t in study.trials]
        best.append([min(values[:m]) for m in q["marks"]])
    return {"best": best}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    serve.answer(answer)
