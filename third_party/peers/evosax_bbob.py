"""evosax's strategies on its BBOB functions: seeds and functions as lanes.
usage: evosax_bbob.py, a line of JSON on stdin for each search, a line on stdout for each answer
       evosax_bbob.py --check holds the functions that are written anew here against evosax's

Search: {"strategy", "functions", "dims", "population", "generations", "seeds", "seed", "sigma", "learning_rate"}. Seed s has the
instance that sample_params draws of jax.random.key(s), and starts where FoldIn(key(77), s) says, as ours does. Strategies of
populations start from start + sigma * z, evaluated, which counts as a generation; the genetic algorithms from copies of the start
without fitness, so that the first generation is drawn as ours is.
Answer: {"best": [[of each seed] of each function], "compile": seconds until two generations have run, "run": seconds}. The functions
are a program of their own, so that they are compiled once for all strategies.
"""
import functools
import json
import sys
import time

import jax
import serve
import jax.numpy as jnp
import optax
from evosax.algorithms import (ARS, ASEBO, CMA_ES, CR_FM_NES, GESMR_GA, LM_MA_ES, MA_ES, MR15_GA, PGPE, PSO, SAMR_GA, SNES, SV_CMA_ES,
                               DifferentialEvolution, DiffusionEvolution, GradientlessDescent, GuidedES, HillClimbing, NoiseReuseES, Open_ES,
                               PersistentES, RandomSearch, Rm_ES, Sep_CMA_ES, SimpleGA, SimulatedAnnealing, iAMaLGaM_Full, iAMaLGaM_Univariate, xNES)
from evosax.core.fitness_shaping import centered_rank_fitness_shaping_fn
from evosax.problems.bbob.bbob_fns import bbob_fns, f_pen, lambda_alpha, transform_osz
from evosax.problems.bbob.meta_bbob import MetaBBOBProblem


def with_sigma(make, root=False):
    def made(population, zero, sigma, rate):
        es = make(population, zero)
        # xNES multiplies a first sigma into both of its factors.
        return es, es.default_params.replace(std_init=jnp.asarray(sigma**0.5 if root else sigma))
    return made


def with_schedule(make):
    def made(population, zero, sigma, rate):
        es = make(population, zero, optimizer=optax.adam(rate), std_schedule=optax.constant_schedule(sigma))
        return es, es.default_params
    return made


def pgpe(population, zero, sigma, rate):
    es = PGPE(population, zero, optimizer=optax.adam(rate))
    return es, es.default_params.replace(std_init=sigma)


def plain(make):
    def made(population, zero, sigma, rate):
        es = make(population, zero)
        return es, es.default_params
    return made


def simple_ga(population, zero, sigma, rate):
    es = SimpleGA(population, zero, std_schedule=optax.constant_schedule(sigma))
    return es, es.default_params


class OwnGuidedES(GuidedES):
    """Its surrogate gradients, which evosax leaves to the caller, are its own last estimates."""

    def _tell(self, key, population, fitness, state, params):
        half = self.population_size // 2
        grad = (fitness[:half] - fitness[half:]) @ state.z[:half]
        return super()._tell(key, population, fitness, state, params).replace(grad=grad)


class SVSearches(SV_CMA_ES):
    """Four searches that share the population: the first begins at the start, the others near it."""

    SEARCHES, sigma = 4, 1.0

    def __init__(self, population, zero):
        super().__init__(population // self.SEARCHES, self.SEARCHES, zero)

    def init(self, key, mean, params):
        away = self.sigma * jax.random.normal(key, (self.SEARCHES, mean.size)).at[0].set(0.0)
        return super().init(key, mean + away, params)

    def tell(self, key, population, fitness, state, params):
        state, metrics = super().tell(key, population.reshape(self.SEARCHES, self.population_size, -1), fitness, state, params)
        return state, metrics


def sv_cma_es(population, zero, sigma, rate):
    es = SVSearches(population, zero)
    es.sigma = sigma
    return es, es.default_params.replace(std_init=jnp.asarray(sigma))


def ranked_with_schedule(make):
    def made(population, zero, sigma, rate):
        es = make(population, zero, optimizer=optax.adam(rate), std_schedule=optax.constant_schedule(sigma),
                  fitness_shaping_fn=centered_rank_fitness_shaping_fn)
        return es, es.default_params
    return made


def without_optimizer(make):
    def made(population, zero, sigma, rate):
        es = make(population, zero, std_schedule=optax.constant_schedule(sigma))
        return es, es.default_params
    return made


def gradientless(population, zero, sigma, rate):
    es = GradientlessDescent(population, zero)
    return es, es.default_params.replace(radius_max=sigma)


STRATEGIES = {
    "openes": with_schedule(Open_ES), "pgpe": pgpe, "ars": with_schedule(ARS), "snes": with_sigma(SNES), "xnes": with_sigma(xNES, root=True),
    "cmaes": with_sigma(CMA_ES), "sepcmaes": with_sigma(Sep_CMA_ES), "crfmnes": with_sigma(CR_FM_NES), "de": plain(DifferentialEvolution),
    "pso": plain(PSO), "simplega": simple_ga, "samrga": with_sigma(SAMR_GA), "randomsearch": None,
    "maes": with_sigma(MA_ES), "lmmaes": with_sigma(LM_MA_ES), "rmes": with_sigma(Rm_ES), "svcmaes": sv_cma_es,
    "iamalgam": without_optimizer(iAMaLGaM_Full), "iamalgamu": without_optimizer(iAMaLGaM_Univariate),
    "guidedes": ranked_with_schedule(OwnGuidedES), "asebo": ranked_with_schedule(ASEBO), "nres": ranked_with_schedule(NoiseReuseES),
    "pes": ranked_with_schedule(PersistentES), "mr15ga": with_sigma(MR15_GA), "gesmrga": with_sigma(GESMR_GA),
    "diffusion": plain(DiffusionEvolution), "hillclimbing": without_optimizer(HillClimbing), "annealing": without_optimizer(SimulatedAnnealing),
    "gradientless": gradientless,
}
EVALUATED, COPIES = ("de", "pso", "diffusion"), ("simplega", "samrga", "mr15ga", "gesmrga")


def peaks(num_optima, d, first, most):
    """The peaks of Gallagher's functions, which evosax draws anew in each call, from one key."""
    key = jax.random.fold_in(jax.random.key(0), 0)
    w = jnp.where(jnp.arange(num_optima) == 0, 10.0, 1.1 + 8.0 * (jnp.arange(num_optima) - 1.0) / (num_optima - 2.0))
    key, subkey = jax.random.split(key)
    alpha = jax.random.permutation(subkey, jnp.power(1000.0, 2.0 * jnp.arange(num_optima - 1) / (num_optima - 2)))
    alpha = jnp.concatenate([jnp.array([first]), alpha])
    key, subkey = jax.random.split(key)
    def axes(a, k):
        diag = jnp.diag(lambda_alpha(a, d, d)) / a**0.25
        return diag[jax.random.choice(k, jnp.arange(d), shape=(d,), replace=False, p=jnp.ones(d, bool))]
    c = jax.vmap(axes)(alpha, jax.random.split(subkey, num_optima))
    key, subkey = jax.random.split(key)
    return w, c, jax.random.uniform(subkey, (num_optima, d), minval=-most, maxval=most)


def gallagher(num_optima, d, first, most, shrink):
    """evosax's function with its products of matrices multiplied out: the same values (--check), and not 101 products of d x d."""
    w, c, y = peaks(num_optima, d, first, most)
    def value(x, x_opt, R, Q, num_dims):
        away = R @ x - y.at[0].set(shrink * x_opt) @ R.T
        height = w * jnp.exp(-jnp.sum(c * away**2, -1) / (2 * num_dims))
        return jnp.square(transform_osz(10.0 - jnp.max(height))), f_pen(x, num_dims)
    return value


def functions_of(names, d):
    fns = dict(bbob_fns)
    fns["gallagher_101_me"] = gallagher(101, d, 1000.0, 5.0, 1.0)
    fns["gallagher_21_hi"] = gallagher(21, d, 1000.0**2, 4.9, 3.92 / 4.0)
    return [(n, fns[n]) for n in names]


@functools.cache
def problem_of(names, d, seeds, population):
    """Starts of the lanes, and the functions of all members [lanes, population, d], compiled once for all strategies."""
    problem = MetaBBOBProblem(min_num_dims=d, max_num_dims=d)
    instances = jax.vmap(lambda i: problem.sample_params(jax.random.key(i)))(jnp.arange(seeds))
    starts = jax.vmap(lambda i: jax.random.uniform(jax.random.fold_in(jax.random.key(77), i), (d,), minval=-4.0, maxval=4.0))(jnp.arange(seeds))
    fns = functions_of(names, d)

    @jax.jit
    def values(members, instances):
        out = []
        for (name, fn), xs in zip(fns, members.reshape(len(names), seeds, population, d)):
            x_opt = 0.75 * instances.x_opt if name == "rosenbrock" else instances.x_opt
            one = lambda y, o, R, Q: sum(fn(y, o, R, Q, d))
            v = jax.vmap(jax.vmap(one, (0, None, None, None)))(xs, x_opt, instances.R, instances.Q)
            out.append(jnp.where(jnp.all(jnp.isfinite(xs), -1), v, jnp.nan))
        return jnp.stack(out).reshape(-1, population)

    return jnp.tile(starts, (len(names), 1)), lambda members: values(members, instances)


def search(s):
    t = time.perf_counter()
    d, seeds, population, names, sigma = s["dims"], s["seeds"], s["population"], s["functions"], s["sigma"]
    starts, values = problem_of(tuple(names), d, seeds, population)
    zero, lanes = jnp.zeros(d), len(names) * seeds
    # The samples of a random search are drawn around a start, of which each lane has another.
    strategy = s["strategy"]
    make = lambda start: (RandomSearch(population, zero, sampling_fn=lambda k: start + sigma * jax.random.normal(k, (d,))), {}) \
        if strategy == "randomsearch" else STRATEGIES[strategy](population, zero, sigma, s["learning_rate"])
    es, params = make(zero)
    if strategy == "randomsearch":
        params = es.default_params
    # Diffusion works in coordinates around the start, in units of sigma.
    around = strategy == "diffusion"
    place = lambda x: starts[:, None] + sigma * x if around else x
    finite_least = lambda f: jnp.min(jnp.where(jnp.isfinite(f), f, jnp.inf), 1)

    @jax.jit
    def ask(key, state):
        one = lambda k, state, start: make(start)[0].ask(k, state, params) if strategy == "randomsearch" else es.ask(k, state, params)
        return jax.vmap(one)(jax.random.split(key, lanes), state, starts)

    @jax.jit
    def tell(key, x, f, state, best):
        state = jax.vmap(lambda k, x, f, state: es.tell(k, x, f, state, params)[0])(jax.random.split(key, lanes), x, f, state)
        return state, jnp.minimum(best, finite_least(f))

    @jax.jit
    def init(key, x, f):
        keys = jax.random.split(key, lanes)
        if f is None:
            return jax.vmap(lambda k, x: es.init(k, x, params))(keys, x)
        return jax.vmap(lambda k, x, f: es.init(k, x, f, params))(keys, x, f)

    @functools.partial(jax.jit, static_argnums=1)
    def first_members(key, evaluated):
        x = jnp.broadcast_to(starts[:, None], (lanes, population, d))
        z = jax.random.normal(key, x.shape)
        return (z if around else x + sigma * z) if evaluated else x

    def run(key, generations):
        best, first = jnp.full(lanes, jnp.inf), 0
        k_init, k_first, key = jax.random.split(key, 3)
        if strategy in EVALUATED + COPIES:
            x, f = first_members(k_first, strategy in EVALUATED), jnp.full((lanes, population), jnp.inf)
            if strategy in EVALUATED:
                f, first = values(place(x)), 1
                best = finite_least(f)
            state = init(k_init, x, f)
        else:
            state = init(k_init, starts, None)
        for g in range(first, generations):
            k_ask, k_tell = jax.random.split(jax.random.fold_in(key, g))
            x, state = ask(k_ask, state)
            state, best = tell(k_tell, x, values(place(x)), state, best)
        return jax.block_until_ready(best).reshape(len(names), seeds)

    key = jax.random.key(s["seed"])
    run(key, 2)
    start = time.perf_counter()
    best = run(key, s["generations"])
    return {"best": best.tolist(), "compile": start - t, "run": time.perf_counter() - start}

def check():
    """The functions that are written anew here have evosax's values."""
    for d in (2, 10, 40):
        params = MetaBBOBProblem(min_num_dims=d, max_num_dims=d).sample_params(jax.random.key(d))
        x = jax.random.uniform(jax.random.key(5), (4, d), minval=-5.0, maxval=5.0).at[0].set(0.99 * params.x_opt)
        for name, fn in functions_of(("gallagher_101_me", "gallagher_21_hi"), d):
            ours, evosaxs = [jax.jit(jax.vmap(lambda y: sum(f(y, params.x_opt, params.R, params.Q, d))))(x) for f in (fn, bbob_fns[name])]
            assert jnp.allclose(ours, evosaxs, rtol=1e-3, atol=1e-4), f"{name}, {d} dimensions: {ours} are not {evosaxs}"
    print("the functions agree")


if sys.argv[1:] == ["--check"]:
    check()
else:
    serve.answer(search)
