"""Traces of evosax 0.3.2's strategies for rollout/evolve/strategy, written to OUTPUT_DIR/evosax_strategies.json.

{"versions": {...}, "traces": [TRACE...]}, each trace
  strategy  the name that it has in xlarun; "config" its settings (evosax minimizes; fitness below is what it was told)
  start     the state before the first generation, array by array
  steps     one object a generation: "asked" (the population that ask gave), "told" (its fitness, smaller is better), and the
            state after tell, array by array; for pso and de "keys" too, the words of each member's key
Arrays are encoded as common.py says; of a state those of floats that are not the best solution, under evosax's names. The
fitness is a skew bowl with ties in the second generation and one NaN in the fourth.

xNES is evosax's but for two lines: its matrix is multiplied by the exponential of a matrix, where evosax takes that of each
element, and members are mean + std·B·z, where evosax has B transposed (which is the same while B is diagonal). MA-ES, LM-MA-ES and
Rm-ES follow the fitness, as their papers say, where evosax takes weights in the order of the members, and ranks weights.
"""
import os

import jax
import jax.numpy as jnp
import numpy as np
import optax
from evosax.algorithms import (ARS, ASEBO, CMA_ES, CR_FM_NES, GESMR_GA, LM_MA_ES, MA_ES, MR15_GA, PSO, SNES, DifferentialEvolution, GuidedES,
                               NoiseReuseES, Open_ES, PersistentES, Rm_ES, Sep_CMA_ES, xNES)
from evosax.core.fitness_shaping import (add_weight_decay, centered_rank_fitness_shaping_fn, identity_fitness_shaping_fn,
                                         standardize_fitness_shaping_fn, weights_fitness_shaping_fn)

from common import encode, out_dir, versions, write

DIMS, GENERATIONS = 6, 6
SKEW = jnp.linalg.qr(jax.random.normal(jax.random.key(9), (DIMS, DIMS)))[0]


def fitness_of(population, generation):
    y = (population - jnp.linspace(-1, 1, DIMS)) @ SKEW
    f = jnp.sum(jnp.linspace(1, 5, DIMS) * y**2, -1)
    if generation == 1:
        f = jnp.round(f / 4)  # ties
    if generation == 3:
        f = f.at[2].set(jnp.nan)
    return f


class FullXNES(xNES):
    def _ask(self, key, state, params):
        z = jax.random.normal(key, (self.population_size, self.num_dims))
        return state.mean + state.std * z @ state.B.T, state.replace(z=z)

    def _tell(self, key, population, fitness, state, params):
        new = super()._tell(key, population, fitness, state, params)
        outer = jnp.einsum("i,ij,ik->jk", fitness, state.z, state.z) - jnp.sum(fitness) * jnp.eye(self.num_dims)
        traceless = outer - jnp.trace(outer) / self.num_dims * jnp.eye(self.num_dims)
        return new.replace(B=state.B @ jax.scipy.linalg.expm(0.5 * params.lr_B * traceless))


class FullMAES(MA_ES):
    """The weights of M are those of the members' ranks, not of their order."""

    def update_M(self, M, p_std, z, params):
        # With ties they do not add up to 1.
        return super().update_M(M, p_std, z, params.replace(weights=self.weights)) + M * params.c_mu / 2 * (1 - self.weights.sum())

    def _tell(self, key, population, fitness, state, params):
        self.weights = fitness
        return super()._tell(key, population, fitness, state, params)


class FullLMMAES(LM_MA_ES):
    """So are those of the vectors."""

    def update_M(self, M, z, params):
        return super().update_M(M, z, params.replace(weights=self.weights))

    def _tell(self, key, population, fitness, state, params):
        self.weights = fitness
        return super()._tell(key, population, fitness, state, params)


class FullRmES(Rm_ES):
    """Parents are ranked by fitness, not by their weights."""

    def __init__(self, population_size, solution, m):
        super().__init__(population_size, solution, m, fitness_shaping_fn=lambda p, f, s, q: jnp.where(jnp.isnan(f), jnp.inf, f))

    def update_mean(self, population, fitness, mean, std, params):
        return super().update_mean(population, weights_fitness_shaping_fn(population, fitness, None, params), mean, std, params)


class OwnGuidedES(GuidedES):
    """Its surrogate gradients are its own last estimates."""

    def _tell(self, key, population, fitness, state, params):
        half = self.population_size // 2
        grad = (fitness[:half] - fitness[half:]) @ state.z[:half] / (2 * state.std**2)
        return super()._tell(key, population, fitness, state, params).replace(grad=grad)


def arrays(state):
    """The arrays of floats of a state, those of the optimizer as optimizer.0, optimizer.1, ..."""
    out = {}
    for name, value in vars(state).items():
        if name in ("best_solution", "best_fitness", "generation_counter", "opt_state", "z", "y", "lr_std", "inner_step_counter", "UUT", "UUT_ort"):
            continue
        out[name] = encode(jnp.asarray(value, jnp.float32))
    return out


def distribution(name, strategy, config, change=lambda params, state: (params, state), generations=GENERATIONS):
    params = strategy.default_params
    if hasattr(params, "std_init"):
        params = params.replace(std_init=jnp.asarray(0.5))
    state = strategy.init(jax.random.key(0), jnp.linspace(0.5, -0.5, DIMS), params)
    params, state = change(params, state)
    start, steps = arrays(state), []
    for g in range(generations):
        key = jax.random.fold_in(jax.random.key(100), g)
        population, state = strategy.ask(key, state, params)
        fitness = fitness_of(population, g)
        noise = {"noise": encode(state.z)} if name in ("maes", "lmmaes") else {}
        state, _ = strategy.tell(key, population, fitness, state, params)
        steps.append({"asked": encode(population), "told": encode(fitness), **noise, **arrays(state)})
    return {"strategy": name, "config": {"population": strategy.population_size, **config}, "start": start, "steps": steps}


def population_based(name, strategy):
    """Starts from an evaluated population whose last member failed."""
    params = strategy.default_params
    population = jax.random.normal(jax.random.key(5), (strategy.population_size, DIMS))
    fitness = fitness_of(population, 0).at[-1].set(jnp.inf)
    state = strategy.init(jax.random.key(0), population, fitness, params)
    start, steps = arrays(state), []
    for g in range(GENERATIONS):
        key = jax.random.fold_in(jax.random.key(200), g)
        population, state = strategy.ask(key, state, params)
        fitness = fitness_of(population, g)
        state, _ = strategy.tell(key, population, fitness, state, params)
        keys = np.asarray(jax.random.key_data(jax.random.split(key, strategy.population_size)))
        steps.append({"keys": encode(keys), "asked": encode(population), "told": encode(fitness), **arrays(state)})
    return {"strategy": name, "config": {"population": strategy.population_size}, "start": start, "steps": steps}


def genetic(name, strategy, config):
    """Starts from an evaluated population. "before" has the fitness of each child's parent, and "factors" and "places" what the rates of
    groups are multiplied with and inherited from."""
    params = strategy.default_params.replace(std_init=0.5)
    population = jax.random.normal(jax.random.key(5), (strategy.population_size, DIMS))
    state = strategy.init(jax.random.key(0), population, fitness_of(population, 0), params)
    start, steps = arrays(state), []
    for g in range(GENERATIONS):
        key = jax.random.fold_in(jax.random.key(300), g)
        population, state = strategy.ask(key, state, params)
        more = {}
        if name == "gesmrga":
            k_place, k_factor = jax.random.split(key)
            more = {"before": encode(state.fitness), "factors": encode(jax.random.uniform(k_factor, (strategy.num_groups,), minval=-1, maxval=1)),
                    "places": encode(jax.random.choice(k_place, strategy.num_std_elites, (strategy.num_groups - 1,)))}
        fitness = fitness_of(population, g)
        if name == "gesmrga":
            fitness = jnp.where(jnp.isnan(fitness), jnp.inf, fitness)
        state, _ = strategy.tell(key, population, fitness, state, params)
        steps.append({"asked": encode(population), "told": encode(fitness), **more, **arrays(state)})
    return {"strategy": name, "config": {"population": strategy.population_size, **config}, "start": start, "steps": steps}


def identity_shape(params, state):
    """xNES multiplies a first sigma into both its factors."""
    return params, state.replace(B=jnp.eye(DIMS))


def main():
    out = out_dir(__doc__)
    zero = jnp.zeros(DIMS)
    adam, constant = optax.adam(0.05), optax.constant_schedule(0.5)
    traces = [
        distribution("snes", SNES(10, zero), {}),
        distribution("sepcmaes", Sep_CMA_ES(11, zero), {}),
        distribution("cmaes", CMA_ES(10, zero), {}),
        distribution("cmaes", CMA_ES(40, zero), {}, generations=3),
        distribution("xnes", FullXNES(10, zero), {}, identity_shape),
        distribution("crfmnes", CR_FM_NES(12, zero), {}),
        distribution("crfmnes", CR_FM_NES(4, zero), {}, generations=3),
        distribution("ars", ARS(12, zero, optimizer=adam, std_schedule=constant), {"learning_rate": 0.05}),
        distribution("openes", Open_ES(12, zero, optimizer=adam, std_schedule=constant, fitness_shaping_fn=identity_fitness_shaping_fn),
                     {"learning_rate": 0.05, "shaping": "raw"}, generations=3),
        distribution("openes", Open_ES(12, zero, optimizer=adam, std_schedule=constant, fitness_shaping_fn=add_weight_decay(standardize_fitness_shaping_fn, 0.5)),
                     {"learning_rate": 0.05, "shaping": "z-score", "weight_decay": 0.5}, generations=3),
        distribution("maes", FullMAES(10, zero), {}),
        distribution("lmmaes", FullLMMAES(6, zero), {}),
        distribution("rmes", FullRmES(10, zero, 2), {}, generations=8),
        *(distribution(name, make(12, zero, optimizer=adam, std_schedule=constant, fitness_shaping_fn=centered_rank_fitness_shaping_fn, **more),
                       {"learning_rate": 0.05}, generations=8)
          for name, make, more in (("guidedes", OwnGuidedES, {"subspace_dims": 2}), ("asebo", ASEBO, {"subspace_dims": 2}))),
        *(distribution(name, make(12, zero, optimizer=adam, std_schedule=constant, fitness_shaping_fn=centered_rank_fitness_shaping_fn),
                       {"learning_rate": 0.05}, lambda params, state: (params.replace(K=40), state))
          for name, make in (("nres", NoiseReuseES), ("pes", PersistentES))),
        genetic("mr15ga", MR15_GA(8, zero), {}),
        genetic("gesmrga", GESMR_GA(9, zero, num_groups=4), {"groups": 4}),
        population_based("pso", PSO(8, zero)),
        population_based("de", DifferentialEvolution(8, zero)),
    ]
    write(os.path.join(out, "evosax_strategies.json"), {"versions": versions("evosax", "optax"), "traces": traces})


main()
