"""Insertions into archives by QDax 0.5.0, and its arm, for rollout/qd and envs/tasks, written to OUTPUT_DIR/qdax_archive.json.gz.

{"versions": {...}, "archives": [{"name", "sides", "centroids", "steps": [...]}...], "arm": {"params", "fitness", "descriptor"}}
  sides       of a grid; [] of cells around centroids
  centroids   [cells, d], in QDax's order of cells
  steps       insertions one after the other, into an archive that is empty before the first
    genotypes [batch, n], descriptors [batch, d], fitnesses [batch]: what is added
    tied      [batch]: another one of the batch has the same cell and fitness, so that QDax does not say which one stays
    after     fitnesses [cells], descriptors [cells, d], genotypes [cells, n]
A fitness of NaN stands alone in its cell: in QDax it drops the others of its cell, here it drops only itself.
"""
import os

import jax
import jax.numpy as jnp
import numpy as np
from qdax.core.containers.mapelites_repertoire import MapElitesRepertoire, compute_euclidean_centroids, get_cells_indices
from qdax.tasks.arm import arm

from common import encode, out_dir, versions, write

N, BATCH = 3, 64


def steps(centroids, random, low, high):
    repertoire = MapElitesRepertoire.init_default(jnp.zeros(N), jnp.asarray(centroids))
    for step in range(4):
        genotypes = random.standard_normal((BATCH, N)).astype(np.float32)
        descriptors = random.uniform(low, high, (BATCH, centroids.shape[1])).astype(np.float32)
        fitnesses = (random.integers(-8, 8, BATCH) / 4).astype(np.float32)  # many equal ones
        if step == 2:  # the same place and fitness as the elites: they stay
            descriptors, fitnesses = before
        cells = np.asarray(get_cells_indices(jnp.asarray(descriptors), repertoire.centroids))
        if step == 3:
            alone = next(i for i in range(BATCH) if (cells == cells[i]).sum() == 1)
            fitnesses[alone] = np.nan
        tied = [any(cells[i] == cells[j] and fitnesses[i] == fitnesses[j] for j in range(BATCH) if j != i) for i in range(BATCH)]
        repertoire = repertoire.add(jnp.asarray(genotypes), jnp.asarray(descriptors), jnp.asarray(fitnesses))
        before = descriptors, fitnesses
        yield {"genotypes": encode(genotypes), "descriptors": encode(descriptors), "fitnesses": encode(fitnesses),
               "tied": encode(np.array(tied)), "after": {
                   "fitnesses": encode(repertoire.fitnesses[:, 0]), "descriptors": encode(repertoire.descriptors),
                   "genotypes": encode(repertoire.genotypes)}}


out = out_dir(__doc__)
random = np.random.default_rng(0)
archives = []
for name, sides, d in (("grid", (5, 4), 2), ("line", (60,), 1), ("cvt", (), 2), ("cvt of three", (), 3)):
    low, high = np.array([-1.0, 0.0, 2.0])[:d], np.array([1.0, 0.5, 5.0])[:d]
    if sides:
        centroids = np.asarray(compute_euclidean_centroids(sides, list(low), list(high)), np.float32)
    else:
        centroids = random.uniform(low, high, (40, d)).astype(np.float32)
    archives.append({"name": name, "sides": list(sides), "low": list(low), "high": list(high), "centroids": encode(centroids),
                     "steps": list(steps(centroids, random, low, high))})
params = random.uniform(-.2, 1.2, (20, 100)).astype(np.float32)
fitness, descriptor = jax.vmap(arm)(jnp.asarray(params))
write(os.path.join(out, "qdax_archive.json.gz"), {"versions": versions("qdax"), "archives": archives, "arm": {
    "params": encode(params), "fitness": encode(fitness), "descriptor": encode(descriptor)}})
