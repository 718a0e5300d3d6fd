"""What Optuna 5.0 does, for studies/study and studies/rdb. Written to ROLLOUT_STUDY_TESTDATA (the argument):

optuna_study.json
  parzen   [{"space", "rows", "points", "log_pdf"}]  densities of TPE's estimator; space as Optuna's storages have distributions
  halton   scipy's unscrambled Halton sequence, 50 points of 5 dimensions
  prune    [{"pruner", "direction", "curves", "pruned_at", "values"}]  trials one after the other that report curves[i][s] at the steps 1, 2, …;
           pruned_at[i] is the step at which the pruner ended the trial, 0 for none
  fronts   [{"values", "rank"}]  fast non-dominated sorting of points to be minimized
  regret   [{"function", "sampler", "best50", "best200"}]  best values after 50 and 200 trials, one a seed
and, beside it, ../../../studies/rdb/testdata/optuna.db.gz, a database with a study of each kind of parameter and state, and optuna.json, what
is in it. With ONLY=database or ONLY=quick the regrets stay as they are. Needs the packages optuna 5.0.0, cmaes and scipy.
"""
import gzip
import json
import math
import os
import sys
import warnings

import numpy as np
import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution, distribution_to_json
from optuna.samplers._tpe.parzen_estimator import _ParzenEstimator, _ParzenEstimatorParameters
from optuna.samplers._tpe.sampler import default_weights
from optuna.study._multi_objective import _fast_non_domination_rank
from scipy.stats import qmc

from common import out_dir, versions_of, write

warnings.filterwarnings("ignore")
optuna.logging.set_verbosity(optuna.logging.ERROR)


def floats(a):
    return np.asarray(a, float).tolist()


def parzen(space, n, seed):
    """Of several parameters, numbers have to differ: argsort is not stable, and to which of two equal ones a width goes would be a matter of the machine."""
    r = np.random.RandomState(seed)

    def draw(k):
        out = {}
        for name, d in space.items():
            if isinstance(d, CategoricalDistribution):
                out[name] = r.randint(len(d.choices), size=k).astype(float)
            elif d.log:
                x = np.exp(r.uniform(np.log(d.low), np.log(d.high), k))
                out[name] = np.round(x) if isinstance(d, IntDistribution) else x
            elif d.step is not None:
                out[name] = d.low + d.step * r.randint(int(round((d.high - d.low) / d.step)) + 1, size=k)
            else:
                out[name] = r.uniform(d.low, d.high, k)
        return out

    rows, points = draw(n), draw(12)
    assert len(space) == 1 or all(isinstance(d, CategoricalDistribution) or len(set(rows[k])) == n for k, d in space.items())
    e = _ParzenEstimator(rows, space, _ParzenEstimatorParameters(prior_weight=1.0, consider_magic_clip=True, consider_endpoints=False, weights=default_weights, multivariate=True))
    names = list(space)
    return {"space": [json.loads(distribution_to_json(space[k])) for k in names], "rows": floats(np.array([rows[k] for k in names]).T.reshape(n, len(names))),
            "points": floats(np.array([points[k] for k in names]).T), "log_pdf": floats(e.log_pdf(points))}


def prune(name, pruner, direction, seed, trials=40, steps=30):
    r = np.random.RandomState(seed)
    curves = [[float(np.round(r.normal() * .3 + a * (1 - math.exp(-s / 8)), 3)) for s in range(1, steps + 1)] for a in r.normal(size=trials)]
    curves[7][4] = curves[20][0] = float("nan")
    study = optuna.create_study(study_name="curves", direction=direction, pruner=pruner)
    at = []
    for c in curves:
        t, ended = study.ask(), 0
        for s, x in enumerate(c, 1):
            t.report(x, s)
            if t.should_prune():
                ended = s
                break
        at.append(ended)
        if ended:
            study.tell(t, state=optuna.trial.TrialState.PRUNED)
        else:
            study.tell(t, c[-1])
    return {"pruner": name, "direction": direction, "curves": [[None if math.isnan(x) else x for x in c] for c in curves], "pruned_at": at}


def branin(t):
    x, y = t.suggest_float("x", -5, 10), t.suggest_float("y", 0, 15)
    return (y - 5.1 / (4 * math.pi**2) * x * x + 5 / math.pi * x - 6) ** 2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


def sphere(t):
    return sum((t.suggest_float(f"x{i}", -5, 5) - i / 2) ** 2 for i in range(5))


def rosenbrock(t):
    x = [t.suggest_float(f"x{i}", -2, 2) for i in range(4)]
    return sum(100 * (x[i + 1] - x[i] ** 2) ** 2 + (1 - x[i]) ** 2 for i in range(3))


def rastrigin(t):
    return sum(10 + (x := t.suggest_float(f"x{i}", -5.12, 5.12)) ** 2 - 10 * math.cos(2 * math.pi * x) for i in range(3))


def mixed(t):
    rate, units = t.suggest_float("rate", 1e-5, 1, log=True), t.suggest_int("units", 1, 64, log=True)
    kind, drop = t.suggest_categorical("kind", ["a", "b", "c"]), t.suggest_float("drop", 0, .9, step=.1)
    return (math.log10(rate) + 2.5) ** 2 + abs(math.log2(units) - 4) / 2 + {"a": 1, "b": 0, "c": .5}[kind] + (drop - .3) ** 2


def conditional(t):
    if t.suggest_categorical("kind", ["low", "high"]) == "low":
        return 1 + t.suggest_float("x", -1, 1) ** 2
    return .5 + abs(t.suggest_float("y", 0, 10) - 7) + abs(t.suggest_int("n", 0, 20) - 3) / 10


def regret(function, name, make, seeds=10):
    best = {50: [], 200: []}
    for seed in range(seeds):
        study = optuna.create_study(sampler=make(seed))
        study.optimize(function, n_trials=200)
        values = np.minimum.accumulate([t.value for t in study.trials])
        for n in best:
            best[n].append(float(values[n - 1]))
    print(function.__name__, name, np.median(best[50]), np.median(best[200]), flush=True)
    return {"function": function.__name__, "sampler": name, "best50": best[50], "best200": best[200]}


def database(folder):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "optuna.db")
    if os.path.exists(path):
        os.remove(path)
    study = optuna.create_study(storage="sqlite:///" + path, study_name="all kinds", direction="maximize", sampler=optuna.samplers.RandomSampler(seed=1))

    def objective(t):
        x = t.suggest_float("x", -1, 1)
        t.suggest_int("units", 1, 64, log=True)
        t.suggest_float("rate", 1e-5, 1, log=True)
        t.suggest_float("drop", 0, .9, step=.3)
        t.suggest_int("even", 2, 10, step=2)
        t.suggest_categorical("kind", ["a", None, 3, True, 2.5])
        t.set_user_attr("note", {"a": [1, "b"]})
        for s, v in enumerate([x, math.inf, -math.inf, math.nan]):
            t.report(v, s)
        if t.number == 2:
            raise optuna.TrialPruned()
        if t.number == 3:
            return math.nan
        return math.inf if t.number == 4 else x

    study.optimize(objective, n_trials=6)
    study.enqueue_trial({"x": .25, "kind": None})
    study.ask()  # takes the one that is enqueued, and is left running
    study.enqueue_trial({"x": -.25, "kind": True})
    many = optuna.create_study(storage="sqlite:///" + path, study_name="two", directions=["minimize", "maximize"])
    many.optimize(lambda t: (t.suggest_int("i", 0, 9), 1.), n_trials=2)
    word = lambda v: None if v is None else str(v)
    all = [{"number": t.number, "state": t.state.name, "values": t.values and [word(v) for v in t.values], "params": {k: t.params[k] for k in sorted(t.params)},
            "intermediate": [[s, word(v)] for s, v in sorted(t.intermediate_values.items())], "user_attrs": t.user_attrs} for t in study.trials]
    optuna.storages.RDBStorage("sqlite:///" + path).remove_session()
    with open(path, "rb") as f, open(path + ".gz", "wb") as g:
        g.write(gzip.compress(f.read(), 9, mtime=0))
    os.remove(path)
    write(os.path.join(folder, "optuna.json"), {"versions": versions_of("optuna"), "trials": all})


def main():
    out = out_dir(__doc__)
    only = os.environ.get("ONLY", "")
    if only in ("", "database"):
        database(os.path.join(out, "../../../studies/rdb/testdata"))
    plain, log = FloatDistribution(-1, 3), FloatDistribution(1e-4, 10, log=True)
    whole, wide, step, kind = IntDistribution(1, 7), IntDistribution(1, 500, log=True), FloatDistribution(0, 1, step=.25), CategoricalDistribution(["a", "b", "c"])
    cases = [parzen(dict(enumerate(s)), n, i) for i, (s, n) in enumerate([((plain,), 0), ((plain,), 1), ((plain,), 7), ((log,), 5), ((whole,), 6), ((wide,), 9), ((step,), 12), ((kind,), 8),
             ((plain, log, IntDistribution(1, 10**6), IntDistribution(10**3, 10**6, log=True), FloatDistribution(0, 1, step=.001), kind), 30), ((plain, kind), 60), ((plain, log), 26)])]
    halton = floats(qmc.Halton(5, scramble=False).random(50))
    p = optuna.pruners
    pruned = [prune(*c) for c in [("median", p.MedianPruner(), "minimize", 1), ("median", p.MedianPruner(), "maximize", 2), ("asha", p.SuccessiveHalvingPruner(min_resource=1), "maximize", 3),
              ("asha", p.SuccessiveHalvingPruner(min_resource=1), "minimize", 4), ("hyperband", p.HyperbandPruner(min_resource=1, max_resource=30), "maximize", 5)]]
    r = np.random.RandomState(0)
    fronts = [{"values": floats(v), "rank": _fast_non_domination_rank(np.array(v, float)).tolist()} for v in (r.randint(0, 5, (20, 2)), r.normal(size=(30, 3)), np.zeros((4, 2)))]
    s = optuna.samplers
    makers = {"tpe": lambda seed: s.TPESampler(seed=seed), "cmaes": lambda seed: s.CmaEsSampler(seed=seed), "random": lambda seed: s.RandomSampler(seed=seed)}
    regrets = [regret(f, name, make) for f in (branin, sphere, rosenbrock, rastrigin, mixed, conditional) for name, make in makers.items() if only in ("", "regret") and (name != "cmaes" or f not in (mixed, conditional))]
    path = os.path.join(out, "optuna_study.json")
    if only not in ("", "regret"):  # it takes minutes
        with open(path) as f:
            regrets = json.load(f)["regret"]
    write(path, {"versions": versions_of("optuna", "cmaes", "scipy", "numpy"), "parzen": cases, "halton": halton, "prune": pruned, "fronts": fronts, "regret": regrets})


main()
