"""What Optuna does with a database that ours made, or makes for ours: optuna_beside.py URL STUDY TRIALS ENQUEUED. It opens the study, or makes it,
runs so many trials, enqueues so many, and prints what it sees as one line of JSON."""
import json
import sys
import warnings

import optuna

warnings.filterwarnings("ignore")
optuna.logging.set_verbosity(optuna.logging.ERROR)
url, name, trials, enqueued = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
study = optuna.create_study(storage=url, study_name=name, direction="maximize", load_if_exists=True, sampler=optuna.samplers.TPESampler(multivariate=True))


def objective(t):
    x, n, kind = t.suggest_float("x", -1, 1), t.suggest_int("n", 1, 9), t.suggest_categorical("kind", ["a", None, True])
    t.report(x, 0)
    return x * n + (kind is None)


study.optimize(objective, n_trials=trials)
for i in range(enqueued):
    study.enqueue_trial({"x": i / 8, "n": 3, "kind": None})
print(json.dumps({
    "trials": [{"number": t.number, "state": t.state.name, "values": t.values, "params": t.params, "intermediate": sorted(t.intermediate_values.items())} for t in study.trials],
    "best": study.best_trial.number,
    "importances": optuna.importance.get_param_importances(study, evaluator=optuna.importance.PedAnovaImportanceEvaluator()) if len(study.trials) > 8 else {},
}))
