"""Studies by Optuna, for `xlarun bench study --peers`.
usage: optuna_study.py trivial random|tpe BEFORE        trials of two parameters that compute nothing, in an SQLite study that has BEFORE
       optuna_study.py cartpole HOW TRIALS GENERATIONS  a study of Open_ES on CartPole-v1, two trials at a time; HOW: optuna (one by one, on
                                                        all cores), threads, joblib, ray
Step size and learning rate are inputs of the compiled generation, so that a process compiles once."""
import os
import sys
import tempfile
import time

from serve import serve

POPULATION, HIDDEN, STEPS, WORKERS, TRIALS = 256, 16, 500, 2, 60


def trivial(sampler, before):
    import optuna
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    samplers = {"random": optuna.samplers.RandomSampler, "tpe": lambda seed: optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True)}
    objective = lambda t: t.suggest_float("x", 0, 1) + t.suggest_float("y", 0, 1)
    unit = optuna.distributions.FloatDistribution(0, 1)

    def run():
        with tempfile.TemporaryDirectory() as folder:
            study = optuna.create_study(storage=f"sqlite:///{folder}/study.db", sampler=samplers[sampler](seed=1))
            study.add_trials([optuna.trial.create_trial(params=dict(x=i / before, y=i / before), value=2 * i / before,
                                                        distributions=dict(x=unit, y=unit)) for i in range(before)])
            study.optimize(objective, n_trials=2)  # imports, statements
            start = time.perf_counter()
            study.optimize(objective, n_trials=TRIALS)
            return time.perf_counter() - start
    serve(run, per=TRIALS, timed=True)


compiled = {}


def generation():
    """The jitted generation of this process, and what a search begins with."""
    if compiled:
        return compiled["gen"], compiled["start"]
    import gymnax
    import jax
    import jax.numpy as jnp
    import optax
    from evosax.algorithms import Open_ES
    env, env_params = gymnax.make("CartPole-v1")

    def init(key):
        sizes = [4, HIDDEN, HIDDEN, 2]
        layers = zip(jax.random.split(key, 3), sizes[:-1], sizes[1:])
        return [(jax.random.normal(k, (a, b)) / jnp.sqrt(a), jnp.zeros(b)) for k, a, b in layers]

    def act(layers, x):
        for w, b in layers[:-1]:
            x = jnp.tanh(x @ w + b)
        w, b = layers[-1]
        return jnp.argmax(x @ w + b)

    def play(layers, key):
        first, key = jax.random.split(key)
        obs, state = env.reset(first, env_params)

        def step(carry, _):
            obs, state, key, total, alive = carry
            key, k = jax.random.split(key)
            obs, state, reward, terminated, truncated, _ = env.step(k, state, act(layers, obs), env_params)
            alive_now = alive * (1 - (terminated | truncated).astype(jnp.float32))
            return (obs, state, key, total + reward * alive, alive_now), None

        return jax.lax.scan(step, (obs, state, key, jnp.float32(0), jnp.float32(1)), None, length=STEPS)[0][3]

    solution = init(jax.random.key(0))

    def strategy(sigma, rate):
        return Open_ES(population_size=POPULATION, solution=solution, optimizer=optax.adam(rate), std_schedule=lambda _: sigma)

    @jax.jit
    def start(key, sigma, rate):
        es = strategy(sigma, rate)
        return es.init(key, solution, es.default_params)

    @jax.jit
    def gen(state, key, sigma, rate):
        es = strategy(sigma, rate)
        asking, playing, telling = jax.random.split(key, 3)
        members, state = es.ask(asking, state, es.default_params)
        fitness = jax.vmap(play)(members, jax.random.split(playing, POPULATION))
        state, _ = es.tell(telling, members, -fitness, state, es.default_params)
        return state, fitness.mean()

    compiled.update(gen=gen, start=start)
    return gen, start


def search(number, sigma, rate, generations):
    import jax
    import jax.numpy as jnp
    gen, start = generation()
    sigma, rate = jnp.float32(sigma), jnp.float32(rate)
    key = jax.random.key(number)
    state = start(key, sigma, rate)
    for i in range(generations):
        state, mean = gen(state, jax.random.fold_in(key, i), sigma, rate)
    return float(mean)


def draw(trial, generations):
    return trial.number, trial.suggest_float("sigma", 0.02, 0.5, log=True), trial.suggest_float("rate", 0.001, 0.3, log=True), generations


def study(how, trials, generations):
    import optuna
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
    began = time.perf_counter()
    if how in ("optuna", "threads"):
        study.optimize(lambda t: search(*draw(t, generations)), n_trials=trials, n_jobs=WORKERS if how == "threads" else 1)
    else:
        # One core a worker: two that both use all cores would wait for each other.
        os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
        if how == "joblib":
            import joblib
            pool = joblib.Parallel(n_jobs=WORKERS)
            run = lambda all: pool(joblib.delayed(search)(*x) for x in all)
        else:
            import ray
            ray.is_initialized() or ray.init(num_cpus=WORKERS, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
            remote = ray.remote(search)
            run = lambda all: ray.get([remote.remote(*x) for x in all])
        done = 0
        while done < trials:
            asked = [study.ask() for _ in range(min(WORKERS, trials - done))]
            for trial, value in zip(asked, run([draw(t, generations) for t in asked])):
                study.tell(trial, value)
            done += len(asked)
    return time.perf_counter() - began


if __name__ == "__main__":
    if sys.argv[1] == "trivial":
        trivial(sys.argv[2], int(sys.argv[3]))
    else:
        serve(lambda: study(sys.argv[2], int(sys.argv[3]), int(sys.argv[4])), timed=True)
