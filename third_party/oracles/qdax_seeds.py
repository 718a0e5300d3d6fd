"""Results of 20 runs of MAP-Elites by QDax 0.5.0, for the tests of xlarun bench, written to OUTPUT_DIR/qdax_seeds.json.

{"versions": {...}, "tasks": {ENV: {"coverage": [20], "qd_score": [20], "best_fitness": [20]}}}
A run has 100 generations of 256 members, the first of them uniform, a CVT of 1,024 cells around centroids of its own,
and iso+line variation (0.01, 0.1). The score of an elite has the offset that xlarun qd suggests. The coverage is in
percent, as QDax gives it.
"""
import os
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from qdax.core.containers.mapelites_repertoire import compute_cvt_centroids
from qdax.core.emitters.mutation_operators import isoline_variation
from qdax.core.emitters.standard_emitters import MixingEmitter
from qdax.core.map_elites import MAPElites
from qdax.tasks.arm import arm_scoring_function
from qdax.utils.metrics import default_qd_metrics

from common import out_dir, versions, write

SIZE, BATCH, CELLS, GENERATIONS, SEEDS = 100, 256, 1024, 100, 20


def rastrigin(x, key):
    return -(10 * SIZE + jnp.sum(x**2 - 10 * jnp.cos(2 * jnp.pi * x), axis=-1)), x[:, :2], {}


def results(score, low, high, offset):
    variation = partial(isoline_variation, iso_sigma=.01, line_sigma=.1, minval=low, maxval=high)
    emitter = MixingEmitter(mutation_fn=None, variation_fn=variation, variation_percentage=1., batch_size=BATCH)
    search = MAPElites(score, emitter, partial(default_qd_metrics, qd_offset=offset))

    @jax.jit
    def run(first, centroids, key):
        repertoire, state, _ = search.init(first, centroids, key)
        _, metrics = jax.lax.scan(search.scan_update, (repertoire, state, key), None, length=GENERATIONS - 1)
        return {name: metrics[source][-1] for name, source in (("coverage", "coverage"), ("qd_score", "qd_score"), ("best_fitness", "max_fitness"))}

    all_runs = {"coverage": [], "qd_score": [], "best_fitness": []}
    for seed in range(SEEDS):
        k_first, k_cells, key = jax.random.split(jax.random.key(seed), 3)
        centroids = compute_cvt_centroids(2, 20 * CELLS, CELLS, jnp.full(2, low), jnp.full(2, high), k_cells)
        one = run(jax.random.uniform(k_first, (BATCH, SIZE), minval=low, maxval=high), centroids, key)
        for name, values in all_runs.items():
            values.append(round(float(np.asarray(one[name])), 6))
    return all_runs


out = out_dir(__doc__)
write(os.path.join(out, "qdax_seeds.json"), {"versions": versions("qdax"), "tasks": {
    "Arm-v0": results(arm_scoring_function, 0., 1., 1.), "Rastrigin-v0": results(rastrigin, -5.12, 5.12, 2000.)}})
