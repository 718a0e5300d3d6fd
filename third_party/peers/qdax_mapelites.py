"""MAP-Elites by QDax 0.5.0: a CVT archive, iso+line variation, and some generations, 50 if not given, in one scan.

usage: qdax_mapelites.py ENV CELLS BATCH [GENERATIONS]     ENV: Arm-v0, Rastrigin-v0 or CartPole-v1
The result is the coverage.
"""
import sys
from functools import partial
from serve import serve
import time
import jax, jax.numpy as jnp
from qdax.core.containers.mapelites_repertoire import compute_cvt_centroids
from qdax.core.emitters.mutation_operators import isoline_variation
from qdax.core.emitters.standard_emitters import MixingEmitter
from qdax.core.map_elites import MAPElites
from qdax.tasks.arm import arm_scoring_function
from qdax.utils.metrics import default_qd_metrics

GENERATIONS, SIZE, STEPS = int(sys.argv[4]) if sys.argv[4:] else 50, 100, 500


def arm(batch, key):
    return arm_scoring_function, jax.random.uniform(key, (batch, SIZE)), (0, 1), (0, 1)


def rastrigin(batch, key):
    def score(x, key):
        return -(10 * SIZE + jnp.sum(x**2 - 10 * jnp.cos(2 * jnp.pi * x), axis=-1)), x[:, :2], {}
    return score, jax.random.uniform(key, (batch, SIZE), minval=-5.12, maxval=5.12), (-5.12, 5.12), (-5.12, 5.12)


def cartpole(batch, key):
    """Descriptors: mean distance from the middle and mean speed."""
    import gymnax
    from flax import linen as nn
    env, params = gymnax.make("CartPole-v1")
    net = nn.Sequential([nn.Dense(16), nn.tanh, nn.Dense(16), nn.tanh, nn.Dense(2)])

    def episode(weights, key):
        def step(carry, key):
            obs, state, alive, sums = carry
            obs, state, reward, done, _ = env.step_env(key, state, jnp.argmax(net.apply(weights, obs)), params)
            sums += alive * jnp.array([reward, jnp.abs(obs[0]) / 2.4, jnp.abs(obs[1]) / 3])
            return (obs, state, alive * (1 - done), sums), None
        start = *env.reset(key, params), jnp.float32(1), jnp.zeros(3)
        total, *means = jax.lax.scan(step, start, jax.random.split(key, STEPS))[0][3]
        return total, jnp.clip(jnp.array(means) / jnp.maximum(total, 1), 0, 1)

    def score(weights, key):
        return *jax.vmap(episode, in_axes=(0, None))(weights, key), {}
    first = jax.vmap(net.init, in_axes=(0, None))(jax.random.split(key, batch), jnp.zeros(4))
    return score, first, (-jnp.inf, jnp.inf), (0, 1)


def main():
    name, cells, batch = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    key = jax.random.key(0)
    score, first, bounds, (low, high) = {"Arm-v0": arm, "Rastrigin-v0": rastrigin, "CartPole-v1": cartpole}[name](batch, key)
    variation = partial(isoline_variation, iso_sigma=.01, line_sigma=.1, minval=bounds[0], maxval=bounds[1])
    emitter = MixingEmitter(mutation_fn=None, variation_fn=variation, variation_percentage=1., batch_size=batch)
    search = MAPElites(score, emitter, partial(default_qd_metrics, qd_offset=0.))
    centroids = compute_cvt_centroids(2, 20 * cells, cells, jnp.full(2, low), jnp.full(2, high), key)
    repertoire, state, _ = jax.jit(search.init)(first, centroids, key)
    start = time.perf_counter()
    run = jax.jit(lambda carry: jax.lax.scan(search.scan_update, carry, None, length=GENERATIONS))
    run = run.lower((repertoire, state, key)).compile()
    seconds, carry = time.perf_counter() - start, (repertoire, state, key)

    def generations():
        nonlocal carry
        carry, metrics = jax.block_until_ready(run(carry))
        return metrics["coverage"][-1]
    serve(generations, per=GENERATIONS, compile=seconds)


main()
