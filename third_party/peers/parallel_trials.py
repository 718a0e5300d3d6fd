"""Trials side by side from Python, as its users run them: a loop without a library, Optuna one after the other, Optuna's threads, a process pool, joblib,
Ray. One mode a process; what it is to do comes as one argument of JSON, one line of JSON is what it came to
(own: processor time that the library took by itself, where that can be told). `batch` modes ask as many trials as there
are workers, wait for all of them and tell them together (joblib.Parallel and Pool.map can do nothing else); the others ask the next one as soon as one is over.

keys: mode    loop | optuna | threads | pool | pool-batch | joblib | ray
      workers, trials, storage (memory, or a URL)
      objective cartpole: an antithetic evolution strategy on CartPole, numpy, a population as one batch (population, generations, seeds, steps)
                covariance: the same with a covariance of all parameters, whose products numpy's BLAS computes by threads of its own (hidden layers of 32)
                nap: sleeps for durations[i] seconds"""
import json, os, sys, time
import numpy as np


def cartpole(sigma, rate, population, generations, seeds, steps, hidden=16, covariance=False):
    values = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        shapes = [(4, hidden), (hidden, hidden), (hidden, 2)]
        n = sum(a * b for a, b in shapes)
        mean, spread = np.zeros(n, np.float32), np.eye(n, dtype=np.float32) if covariance else None
        for _ in range(generations):
            e = rng.standard_normal((population // 2, n), dtype=np.float32)
            e = np.concatenate([e, -e])
            if covariance:
                e = e @ spread
            x, weights, i = mean + sigma * e, [], 0
            for a, b in shapes:
                weights.append(x[:, i:i + a * b].reshape(population, a, b))
                i += a * b
            s = rng.uniform(-0.05, 0.05, (population, 4)).astype(np.float32)
            returns, alive = np.zeros(population, np.float32), np.ones(population, np.float32)
            for _ in range(steps):
                h = np.tanh((s[:, None] @ weights[0])[:, 0])
                h = np.tanh((h[:, None] @ weights[1])[:, 0])
                out = (h[:, None] @ weights[2])[:, 0]
                force = np.where(out[:, 1] > out[:, 0], 10.0, -10.0).astype(np.float32)
                c, sn = np.cos(s[:, 2]), np.sin(s[:, 2])
                t = (force + 0.05 * s[:, 3] ** 2 * sn) / 1.1
                turn = (9.8 * sn - c * t) / (0.5 * (4 / 3 - 0.1 * c * c / 1.1))
                push = t - 0.05 * turn * c / 1.1
                s = s + 0.02 * np.stack([s[:, 1], push, s[:, 3], turn], 1)
                returns += alive
                alive *= (np.abs(s[:, 0]) < 2.4) & (np.abs(s[:, 2]) < 0.2095)
            r = (returns - returns.mean()) / (returns.std() + 1e-6)
            mean = mean + rate / sigma / population * (r @ e)
            if covariance:
                w = (e * np.maximum(r, 0)[:, None]).T @ e / population
                spread = 0.99 * spread + 0.01 * w / (np.abs(w).max() + 1e-6)
        values.append(float(returns.mean()))
    return float(np.mean(values))


def trial(job):
    """one trial: its value, and the seconds that it lasted"""
    c, i, sigma, rate = job
    begun = time.perf_counter()
    if c["objective"] == "nap":
        time.sleep(c["durations"][i])
        value = c["durations"][i]
    else:
        deep = c["objective"] == "covariance"
        value = cartpole(sigma, rate, c["population"], c["generations"], c["seeds"], c["steps"], 32 if deep else 16, deep)
    return value, time.perf_counter() - begun


def ready(_):
    time.sleep(0.05)
    return os.getpid()


def main():
    c = json.loads(sys.argv[1])
    mode, workers, trials = c["mode"], c["workers"], c["trials"]
    busy, start, best, own = [], 0.0, None, 0.0
    if mode == "loop":
        rng, values = np.random.default_rng(0), []
        begun = time.perf_counter()
        for i in range(trials):
            value, took = trial((c, i, 10 ** rng.uniform(-1.7, -0.3), 10 ** rng.uniform(-2, -0.3)))
            values.append(value); busy.append(took)
        seconds, best = time.perf_counter() - begun, max(values)
    else:
        import optuna
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        storage = None if c["storage"] == "memory" else c["storage"]
        sampler = optuna.samplers.RandomSampler(seed=0) if c["objective"] == "nap" else optuna.samplers.TPESampler(seed=0)
        study = optuna.create_study(direction="maximize", sampler=sampler, storage=storage)
        draw = lambda t: (c, t.number, t.suggest_float("sigma", 0.02, 0.5, log=True), t.suggest_float("rate", 0.01, 0.5, log=True))
        if mode in ("optuna", "threads"):
            inside = []
            def objective(t):
                job, before = draw(t), time.process_time()
                value, took = trial(job); busy.append(took)
                inside.append(time.process_time() - before)
                return value
            begun, before = time.perf_counter(), time.process_time()
            study.optimize(objective, n_trials=trials, n_jobs=workers if mode == "threads" else 1)
            seconds = time.perf_counter() - begun
            own = time.process_time() - before - sum(inside)
            if mode == "threads":  # what one thread computes counts for all that are in a trial
                own = 0.0
        else:
            begun = time.perf_counter()
            if mode in ("pool", "pool-batch"):
                import multiprocessing
                pool = multiprocessing.get_context("spawn").Pool(workers)
                all_of = lambda f, jobs: pool.map(f, jobs, chunksize=1)
            elif mode == "joblib":
                import joblib
                pool = joblib.Parallel(n_jobs=workers); pool.__enter__()
                all_of = lambda f, jobs: pool(joblib.delayed(f)(j) for j in jobs)
            else:
                import ray
                ray.init(num_cpus=workers, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
                remote = {f: ray.remote(f) for f in (ready, trial)}
                all_of = lambda f, jobs: ray.get([remote[f].remote(j) for j in jobs])
            all_of(ready, range(2 * workers))
            start = time.perf_counter() - begun
            begun = time.perf_counter()
            if mode in ("joblib", "pool-batch"):
                done = 0
                while done < trials:
                    asked = [study.ask() for _ in range(min(workers, trials - done))]
                    for t, (value, took) in zip(asked, all_of(trial, [draw(t) for t in asked])):
                        study.tell(t, value); busy.append(took)
                    done += len(asked)
            else:
                under_way, asked = {}, 0
                def ask():
                    t = study.ask()
                    job = draw(t)
                    under_way[remote[trial].remote(job) if mode == "ray" else pool.apply_async(trial, (job,))] = t
                while asked < min(workers, trials):
                    ask(); asked += 1
                while under_way:
                    if mode == "ray":
                        over, _ = ray.wait(list(under_way), num_returns=1)
                        results = [(f, ray.get(f)) for f in over]
                    else:
                        results = [(f, f.get()) for f in list(under_way) if f.ready()]
                        if not results:
                            time.sleep(0.0005)
                    for f, (value, took) in results:
                        study.tell(under_way.pop(f), value); busy.append(took)
                        if asked < trials:
                            ask(); asked += 1
            seconds = time.perf_counter() - begun
            if mode == "ray":
                ray.shutdown()
            elif mode == "joblib":
                pool.__exit__(None, None, None)
            else:
                pool.close(); pool.join()
        best = study.best_value
    print(json.dumps({"seconds": seconds, "start": start, "busy": sum(busy), "trials": len(busy), "best": best, "own": own}), flush=True)


if __name__ == "__main__":
    main()
