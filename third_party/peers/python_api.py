"""What xlarun's Python package does, and other libraries for the same, for `xlarun bench python`.
usage: python_api.py strategy WHO POP SIZE              ask and tell of OpenES, fitness given; WHO: xlarun, evosax
       python_api.py archive WHO POP SIZE               ask and tell of MAP-Elites with 2,500 cells; WHO: xlarun, ribs
       python_api.py vector WHO ENVIRONMENTS            a step of CartPole-v1; WHO: xlarun, CartPoleVectorEnv,
                                                        SyncVectorEnv, envpool
       python_api.py trials WHO TRIALS WORKERS SECONDS  programs that sleep; WHO: optuna, joblib, ray, tune
xlarun's package must be importable, and XLARUN name the program."""
import sys
import tempfile

import numpy as np

from serve import serve


def strategy(who, pop, size):
    rng = np.random.default_rng(0)
    fitness = [rng.standard_normal(pop, np.float32) for _ in range(8)]
    if who == "xlarun":
        import xlarun
        s = xlarun.Strategy("openes", popsize=pop, x0=np.zeros(size, np.float32))

        def once(f):
            s.tell(s.ask(), f)
    else:
        import jax
        import jax.numpy as jnp
        import optax
        from evosax.algorithms import Open_ES
        es = Open_ES(population_size=pop, solution=jnp.zeros(size), optimizer=optax.adam(0.02),
                     std_schedule=optax.constant_schedule(0.1))
        p, key = es.default_params, jax.random.key(0)
        ask, tell, split = jax.jit(es.ask), jax.jit(es.tell), jax.jit(lambda k: jax.random.split(k, 3))
        state = es.init(key, jnp.zeros(size), p)

        def once(f):
            nonlocal state, key
            key, asking, telling = split(key)
            xs, state = ask(asking, state, p)
            np.asarray(xs)  # the objective has them
            state, _ = tell(telling, xs, -f, state, p)
            jax.block_until_ready(state)
    return once, fitness, 1


def archive(who, pop, size):
    rng = np.random.default_rng(0)
    first = rng.uniform(-1, 1, (pop, size)).astype(np.float32)
    if who == "xlarun":
        import xlarun
        s = xlarun.Strategy("map-elites", popsize=pop, x0=first, ranges=[(-1, 1), (-1, 1)], archive="grid:50,50",
                            emitter_iso_sigma=0.05, emitter_line_sigma=0.1)

        def once(_):
            xs = s.ask()
            s.tell(xs, xs[:, 2], xs[:, :2])
    else:
        from ribs.archives import GridArchive
        from ribs.emitters import IsoLineEmitter
        from ribs.schedulers import Scheduler
        a = GridArchive(solution_dim=size, dims=[50, 50], ranges=[(-1, 1), (-1, 1)], dtype=np.float32)
        s = Scheduler(a, [IsoLineEmitter(a, initial_solutions=first, iso_sigma=0.05, line_sigma=0.1, batch_size=pop)])

        def once(_):
            xs = s.ask()
            s.tell(xs[:, 2], xs[:, :2])
    return once, [None], 1


def vector(who, n):
    rng = np.random.default_rng(0)
    actions = [rng.integers(0, 2, n).astype(np.int32) for _ in range(16)]
    if who == "xlarun":
        import xlarun
        env = xlarun.make_vec("CartPole-v1", n, seed=0)
    elif who == "envpool":
        try:
            import envpool
        except ImportError:
            sys.exit("EnvPool is not among the requirements, for its 600 MB: pip install envpool==1.2.5")
        env = envpool.make_gymnasium("CartPole-v1", num_envs=n, num_threads=1)  # two are slower
    else:
        import gymnasium
        mode = "sync" if who == "SyncVectorEnv" else "vector_entry_point"
        env = gymnasium.make_vec("CartPole-v1", num_envs=n, vectorization_mode=mode)
    env.reset()
    return env.step, actions, 1 if who == "SyncVectorEnv" else 16


def trials(who, count, workers, seconds):
    import subprocess

    def one(i):
        command = ["sh", "-c", f"sleep {seconds}; echo '{{\"value\": {i}}}'"]
        out = subprocess.run(command, capture_output=True, check=True).stdout
        return float(out.split(b":")[1].strip(b" }\n"))
    if who == "optuna":
        import optuna
        optuna.logging.set_verbosity(optuna.logging.ERROR)

        def all():
            study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
            study.optimize(lambda t: one(t.suggest_float("x", 0, 1)), n_trials=count, n_jobs=workers)
    elif who == "joblib":
        import joblib
        pool = joblib.Parallel(n_jobs=workers)
        xs = np.random.default_rng(0).uniform(size=count)

        def all():
            pool(joblib.delayed(one)(x) for x in xs)
    else:
        import ray
        ray.init(num_cpus=workers, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
        task = ray.remote(num_cpus=1)(one)

        def all():
            ray.get([task.remote(x) for x in np.random.default_rng(0).uniform(size=count)])
    if who == "tune":
        from ray import tune
        folder = tempfile.TemporaryDirectory()

        def all():
            tune.Tuner(tune.with_resources(lambda config: {"value": one(config["x"])}, {"cpu": 1}),
                       param_space={"x": tune.uniform(0, 1)},
                       run_config=tune.RunConfig(verbose=0, storage_path=folder.name),
                       tune_config=tune.TuneConfig(num_samples=count, max_concurrent_trials=workers)).fit()
    return lambda _: all(), [None], 1


if __name__ == "__main__":
    what, who = sys.argv[1:3]
    once, given, repeats = globals()[what](who, *[float(x) if "." in x else int(x) for x in sys.argv[3:]])
    asked = 0

    def run():
        global asked
        for _ in range(repeats):
            asked += 1
            once(given[asked % len(given)])
        return 0
    serve(run, per=repeats, known=who not in ("xlarun", "ray", "tune"))
