"""The program that a trial of a study in Python is: trial.py OBJECTIVE PARAMS VALUES. See study.py."""
import sys

del sys.path[0]  # the package's folder, whose files are no modules of their own

import importlib  # noqa: E402
import inspect  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import runpy  # noqa: E402


def objective_of(where):
    """The function that study.place has given a place."""
    if where.endswith(".pkl"):
        import pickle
        with open(where, "rb") as f:
            return pickle.load(f)
    module, _, name = where.rpartition(":")
    if module.endswith(".py"):  # as multiprocessing does it: what stands under `if __name__ == "__main__":` is not run
        sys.argv[1:] = []
        found = runpy.run_path(module, run_name="__mp_main__")[name.partition(".")[0]]
        _, _, name = name.partition(".")
    else:
        found = importlib.import_module(module)
    for part in filter(None, name.split(".")):
        found = getattr(found, part)
    return found


def main(where, params, values):
    objective = objective_of(where)
    with open(params) as f:
        arguments = json.load(f)
    if "seed" in inspect.signature(objective).parameters and "seed" not in arguments:
        arguments["seed"] = int(os.environ["XLARUN_SEED"])
    got = objective(**arguments)
    all = list(got) if isinstance(got, (tuple, list)) else [got]
    try:
        line = {"value" if len(all) == 1 else f"value_{i}": float(x) for i, x in enumerate(all)}
    except (TypeError, ValueError):
        sys.exit(f"the objective returned {got!r}, want a number, or a tuple of one for each direction")
    with open(values, "a") as f:
        print(json.dumps(line), file=f)


if __name__ == "__main__":
    main(*sys.argv[1:])
