"""Studies whose trials run at the same time, for `xlarun bench parallel --peers`: an evolution strategy on CartPole in numpy, a population as
one batch, once a seed. BLAS gets its threads before numpy is imported.
usage: parallel_trials.py HOW THREADS WORKERS TRIALS POPULATION GENERATIONS SEEDS [covariance]
HOW: loop (one by one, no library), pool (multiprocessing), threads (Optuna's n_jobs), ray. THREADS: of BLAS in a worker, 0 for all cores.
With covariance, noise is multiplied by a matrix of all parameters, as CMA-ES does: products that BLAS computes by several threads."""
import os
import sys

HOW, THREADS, WORKERS, TRIALS, POPULATION, GENERATIONS, SEEDS = sys.argv[1:2] + [int(x) for x in sys.argv[2:8]]
COVARIANCE = sys.argv[8:] == ["covariance"]
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = str(THREADS or os.cpu_count())

import time

import numpy as np

STEPS, HIDDEN = 200, 32 if COVARIANCE else 16
SHAPES = [(4, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, 2)]


def returns(x, rng):
    """The returns of networks, a row of parameters each, on CartPole."""
    weights, i = [], 0
    for a, b in SHAPES:
        weights.append(x[:, i:i + a * b].reshape(len(x), a, b))
        i += a * b
    s = rng.uniform(-0.05, 0.05, (len(x), 4)).astype(np.float32)
    total, alive = np.zeros(len(x), np.float32), np.ones(len(x), np.float32)
    for _ in range(STEPS):
        h = s
        for w in weights[:2]:
            h = np.tanh((h[:, None] @ w)[:, 0])
        out = (h[:, None] @ weights[2])[:, 0]
        force = np.where(out[:, 1] > out[:, 0], 10.0, -10.0).astype(np.float32)
        c, sn = np.cos(s[:, 2]), np.sin(s[:, 2])
        t = (force + 0.05 * s[:, 3] ** 2 * sn) / 1.1
        turn = (9.8 * sn - c * t) / (0.5 * (4 / 3 - 0.1 * c * c / 1.1))
        s = s + 0.02 * np.stack([s[:, 1], t - 0.05 * turn * c / 1.1, s[:, 3], turn], 1)
        total += alive
        alive *= (np.abs(s[:, 0]) < 2.4) & (np.abs(s[:, 2]) < 0.2095)
    return total


def search(sigma, rate):
    """One trial: the mean return of the last generation, over seeds."""
    n, values = sum(a * b for a, b in SHAPES), []
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        mean, spread = np.zeros(n, np.float32), np.eye(n, dtype=np.float32)
        for _ in range(GENERATIONS):
            e = rng.standard_normal((POPULATION // 2, n), dtype=np.float32)
            e = np.concatenate([e, -e])
            if COVARIANCE:
                e = e @ spread
            r = returns(mean + sigma * e, rng)
            values_of, r = r.mean(), (r - r.mean()) / (r.std() + 1e-6)
            mean = mean + rate / sigma / POPULATION * (r @ e)
            if COVARIANCE:
                w = (e * np.maximum(r, 0)[:, None]).T @ e / POPULATION
                spread = 0.99 * spread + 0.01 * w / (np.abs(w).max() + 1e-6)
        values.append(float(values_of))
    return float(np.mean(values))


def study():
    """The seconds of a study. The next trial is asked for as soon as one is over."""
    if HOW == "loop":
        rng, start = np.random.default_rng(0), time.perf_counter()
        for _ in range(TRIALS):
            search(10 ** rng.uniform(-1.7, -0.3), 10 ** rng.uniform(-2, -0.3))
        return time.perf_counter() - start
    import optuna
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=0))
    draw = lambda t: (t.suggest_float("sigma", 0.02, 0.5, log=True), t.suggest_float("rate", 0.01, 0.5, log=True))
    if HOW == "threads":
        start = time.perf_counter()
        study.optimize(lambda t: search(*draw(t)), n_trials=TRIALS, n_jobs=WORKERS)
        return time.perf_counter() - start
    running = {}
    if HOW == "ray":
        import ray
        ray.is_initialized() or ray.init(num_cpus=WORKERS, include_dashboard=False, logging_level="ERROR", log_to_driver=False,
                                         runtime_env={"env_vars": {k: v for k, v in os.environ.items() if k.endswith("NUM_THREADS")}})
        remote = ray.remote(search)
        begin, result, end = lambda x: remote.remote(*x), ray.get, lambda: None
        over = lambda: ray.wait(list(running), num_returns=1)[0]
        ready = ray.remote(lambda: None)
        ray.get([ready.remote() for _ in range(2 * WORKERS)])  # its workers have started
    else:
        import multiprocessing
        pool = multiprocessing.get_context("fork").Pool(WORKERS)
        begin, result = lambda x: pool.apply_async(search, x), lambda f: f.get()

        def over():
            while not (done := [f for f in running if f.ready()]):
                time.sleep(0.0005)
            return done

        def end():
            pool.close()
            pool.join()
    start, asked = time.perf_counter(), 0
    while asked < TRIALS or running:
        while asked < TRIALS and len(running) < WORKERS:
            t = study.ask()
            running[begin(draw(t))] = t
            asked += 1
        for f in over():
            study.tell(running.pop(f), result(f))
    seconds = time.perf_counter() - start
    end()
    return seconds


if __name__ == "__main__":
    from serve import serve
    serve(study, timed=True, known=HOW != "ray")
