"""Insertions into the fronts and the unstructured archive of QDax 0.5.0, for rollout/qd, written to
OUTPUT_DIR/qdax_fronts.json.gz.

{"versions": {...}, "fronts": {...}, "unstructured": {...}}
  fronts        a MOMERepertoire of the cells of a grid of sides 3 x 2 within [0, 1]², with fronts of `length`
    centroids   [cells, d], in QDax's order of cells
    steps       insertions one after the other, into an archive that is empty before the first
      genotypes [batch, n], descriptors [batch, d], objectives [batch, 2]: what is added
      after     objectives [cells, length, 2], descriptors [cells, length, d], genotypes [cells, length, n]; -inf: none
      hypervolume  of all elites, and moqd [cells] of each cell, from `reference`
  unstructured  an UnstructuredRepertoire with the threshold `l` and room for `capacity`; steps as above, with fitnesses
"""
import os
import warnings

import jax.numpy as jnp
import numpy as np
from qdax.core.containers import unstructured_repertoire
from qdax.core.containers.mapelites_repertoire import compute_euclidean_centroids
from qdax.core.containers.mome_repertoire import MOMERepertoire
from qdax.core.containers.unstructured_repertoire import UnstructuredRepertoire
from qdax.utils.pareto_front import compute_hypervolume

from common import encode, out_dir, versions, write

warnings.filterwarnings("ignore")

# QDax 0.5.0 gives get_cells_indices [capacity, capacity, d] instead of the elites' descriptors, [capacity, d]: it
# broadcasts them with fitnesses of shape [capacity, 1]. All members are far from those, so nothing is ever replaced.
# The diagonal is what is meant.
cells_indices = unstructured_repertoire.get_cells_indices
unstructured_repertoire.get_cells_indices = lambda descriptors, elites, k: cells_indices(
    descriptors, elites[jnp.arange(len(elites)), jnp.arange(len(elites))], k)
out = out_dir(__doc__)
random = np.random.default_rng(0)
N, BATCH, LENGTH, REFERENCE = 3, 48, 5, (-3.0, -3.0)


def fronts():
    centroids = jnp.asarray(compute_euclidean_centroids((3, 2), [0.0, 0.0], [1.0, 1.0]), jnp.float32)
    cells = centroids.shape[0]
    archive = MOMERepertoire(
        genotypes=jnp.zeros((cells, LENGTH, N)), fitnesses=jnp.full((cells, LENGTH, 2), -jnp.inf),
        descriptors=jnp.zeros((cells, LENGTH, 2)), centroids=centroids, extra_scores={}, keys_extra_scores=())
    reference, steps = jnp.asarray(REFERENCE), []
    for step in range(4):
        genotypes = random.standard_normal((BATCH, N)).astype(np.float32)
        descriptors = random.uniform(0, 1, (BATCH, 2)).astype(np.float32)
        # Along a line, so that fronts grow beyond their length; coarse, so that objectives and points are equal.
        along = random.integers(0, 12, BATCH) / 8
        objectives = np.stack([along, -along + (step + random.integers(-3, 2, BATCH)) / 8], 1).astype(np.float32)
        archive = archive.add(jnp.asarray(genotypes), jnp.asarray(descriptors), jnp.asarray(objectives))
        one = [float(compute_hypervolume(f, reference)) for f in archive.fitnesses]
        front, _ = archive.compute_global_pareto_front()
        steps.append({"genotypes": encode(genotypes), "descriptors": encode(descriptors), "objectives": encode(objectives),
                      "after": {"objectives": encode(archive.fitnesses), "descriptors": encode(archive.descriptors),
                                "genotypes": encode(archive.genotypes)},
                      "moqd": encode(np.asarray(one, np.float32)), "hypervolume": float(compute_hypervolume(front, reference))})
    return {"centroids": encode(centroids), "length": LENGTH, "reference": list(REFERENCE), "steps": steps}


def unstructured(l, capacity):
    archive = UnstructuredRepertoire(
        genotypes=jnp.zeros((capacity, N)), fitnesses=jnp.full((capacity, 1), -jnp.inf), descriptors=jnp.zeros((capacity, 2)),
        extra_scores={}, keys_extra_scores=(), l_value=jnp.full((capacity,), l), max_size=capacity)
    steps = []
    for _ in range(5):
        genotypes = random.standard_normal((BATCH, N)).astype(np.float32)
        descriptors = random.uniform(0, 1, (BATCH, 2)).astype(np.float32)
        fitnesses = random.standard_normal(BATCH).astype(np.float32)
        archive = archive.add(jnp.asarray(genotypes), jnp.asarray(descriptors), jnp.asarray(fitnesses))
        steps.append({"genotypes": encode(genotypes), "descriptors": encode(descriptors), "fitnesses": encode(fitnesses),
                      "after": {"fitnesses": encode(archive.fitnesses[:, 0]), "descriptors": encode(archive.descriptors),
                                "genotypes": encode(archive.genotypes)}})
    return {"l": l, "capacity": capacity, "steps": steps}


write(os.path.join(out, "qdax_fronts.json.gz"), {"versions": versions("qdax"), "fronts": fronts(),
                                                  "unstructured": [unstructured(.1, 200), unstructured(.04, 400)]})
