"""Traces of evosax 0.3.2's strategies for rollout/evolve, written to OUTPUT_DIR/evosax_openes.json.

{"versions": {...}, "traces": [TRACE...]}, each trace
  strategy  "openes", "pgpe" or "simple_ga"; "config" its settings (evosax minimizes; fitness below is what it was told)
  start     the state before the first generation: mean (and std for pgpe), or population and fitness for simple_ga
  steps     one object a generation: "key" (two words, given to ask), "noise" (openes and pgpe: z of the first half of the
            population; the second half is -z), "population", "fitness" (as told, smaller is better), "shaped" (centered
            ranks), "mean" and "std" after tell, and the optimizer's state after tell ("adam": count, mu, nu;
            "clipup": velocity)
Arrays are encoded as common.py says. The fitness is a bumpy bowl with ties in the second generation, and one NaN in the
fourth, so that equal ranks and failed members are covered.
"""
import os

import jax
import jax.numpy as jnp
import numpy as np
import optax
from evosax.algorithms import PGPE, Open_ES, SimpleGA
from evosax.core.fitness_shaping import centered_rank_fitness_shaping_fn

from common import encode, out_dir, versions, write

DIMS, POP, GENERATIONS = 10, 8, 5


def fitness_of(population, generation):
    target = jnp.linspace(-1, 1, DIMS)
    f = jnp.sum((population - target) ** 2, -1) + 0.1 * jnp.sin(5 * population).sum(-1)
    if generation == 1:
        f = jnp.round(f)  # ties
    if generation == 3:
        f = f.at[2].set(jnp.nan)
    return f


def words(key):
    return [int(w) for w in np.asarray(jax.random.key_data(key))]


def distribution(name, strategy, config, noisy_std):
    mean = jnp.linspace(0.5, -0.5, DIMS)
    params = strategy.default_params
    if noisy_std is not None:
        params = params.replace(std_init=noisy_std)
    state = strategy.init(jax.random.key(0), mean, params)
    start = {"mean": encode(state.mean), "std": encode(state.std)}
    steps = []
    for g in range(GENERATIONS):
        key = jax.random.fold_in(jax.random.key(100), g)
        population, state = strategy.ask(key, state, params)
        fitness = fitness_of(population, g)
        step = {"key": words(key), "noise": encode(jax.random.normal(key, (POP // 2, DIMS))), "population": encode(population),
                "fitness": encode(fitness), "shaped": encode(centered_rank_fitness_shaping_fn(population, fitness, state, params))}
        state, _ = strategy.tell(key, population, fitness, state, params)
        step.update(mean=encode(state.mean), std=encode(state.std),
                    best_fitness=encode(state.best_fitness), best_solution=encode(state.best_solution))
        for leaf in jax.tree.leaves(state.opt_state, is_leaf=lambda s: hasattr(s, "_fields")):
            if hasattr(leaf, "mu"):
                step["adam"] = {"count": int(leaf.count), "mu": encode(leaf.mu), "nu": encode(leaf.nu)}
            elif hasattr(leaf, "velocity"):
                step["clipup"] = {"velocity": encode(leaf.velocity)}
        steps.append(step)
    return {"strategy": name, "config": config, "start": start, "steps": steps}


def simple_ga():
    strategy = SimpleGA(population_size=POP, solution=jnp.zeros(DIMS), std_schedule=optax.constant_schedule(0.1))
    params = strategy.default_params.replace(crossover_rate=0.3)
    population = jax.random.normal(jax.random.key(5), (POP, DIMS))
    fitness = fitness_of(population, 0)
    state = strategy.init(jax.random.key(0), population, fitness, params)
    start = {"population": encode(population), "fitness": encode(fitness)}
    steps = []
    for g in range(GENERATIONS):
        key = jax.random.fold_in(jax.random.key(200), g)
        population, state = strategy.ask(key, state, params)
        fitness = fitness_of(population, g if g != 3 else 0)  # no failed member here
        state, _ = strategy.tell(key, population, fitness, state, params)
        steps.append({"key": words(key), "population": encode(population), "fitness": encode(fitness),
                      "best_fitness": encode(state.best_fitness), "best_solution": encode(state.best_solution)})
    return {"strategy": "simple_ga", "config": {"sigma": 0.1, "crossover_rate": 0.3, "elite_ratio": 0.5, "population": POP},
            "start": start, "steps": steps}


def main():
    out = out_dir(__doc__)
    zero = jnp.zeros(DIMS)
    adam = {"optimizer": "adam", "learning_rate": 0.02, "population": POP}
    traces = [
        distribution("openes", Open_ES(POP, zero, optimizer=optax.adam(0.02), std_schedule=optax.constant_schedule(0.1)),
                     {**adam, "sigma": 0.1}, None),
        distribution("openes", Open_ES(POP, zero, optimizer=optax.sgd(0.05), std_schedule=optax.exponential_decay(0.2, 1, 0.9)),
                     {"optimizer": "sgd", "learning_rate": 0.05, "population": POP, "sigma": 0.2, "sigma_decay": 0.9}, None),
        distribution("pgpe", PGPE(POP, zero, optimizer=optax.adam(0.02)), {**adam, "sigma": 0.1, "std_lr": 0.1, "std_max_change": 0.2}, 0.1),
        distribution("pgpe", PGPE(POP, zero), {"optimizer": "clipup", "learning_rate": 0.01, "max_velocity": 0.02,
                                               "momentum": 0.9, "population": POP, "sigma": 0.1, "std_lr": 0.1, "std_max_change": 0.2}, 0.1),
        simple_ga(),
    ]
    write(os.path.join(out, "evosax_openes.json"), {"versions": versions("evosax", "optax"), "traces": traces})


main()
