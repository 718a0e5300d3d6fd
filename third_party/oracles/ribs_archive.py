"""Thresholds and values of insertions into annealed archives by pyribs 0.12, for rollout/qd, written to OUTPUT_DIR/ribs_archive.json.gz.

{"versions": {...}, "archives": [{"rate", "min", "sides", "steps": [...]}...]}
  rate, min   learning_rate and threshold_min; min is null for MAP-Elites
  sides       cells of a grid over [0, 1]²
  steps       insertions one after the other
    descriptors [batch, 2], fitnesses [batch]: what is added
    status [batch]: 0 not accepted, 1 accepted, 2 in an empty cell; value [batch]: fitness less threshold
    thresholds [cells]: after it; -inf of empty cells
"""
import os

import numpy as np
from ribs.archives import GridArchive

from common import encode, out_dir, versions_of, write

random = np.random.default_rng(1)
archives = []
for rate, least in ((1.0, None), (0.1, -2.0), (0.5, 0.0), (0.0, -1.0)):
    annealed = {} if least is None else {"learning_rate": rate, "threshold_min": least}
    archive = GridArchive(solution_dim=1, dims=(4, 3), ranges=[(0, 1), (0, 1)], **annealed)
    steps = []
    for _ in range(5):
        descriptors = random.uniform(0, 1, (30, 2)).astype(np.float32)
        fitnesses = random.uniform(-3, 3, 30).astype(np.float32)
        info = archive.add(np.zeros((30, 1)), fitnesses, descriptors)
        thresholds = np.full(12, -np.inf if least is None else least)
        thresholds[archive.data("index")] = archive.data("threshold")
        steps.append({"descriptors": encode(descriptors), "fitnesses": encode(fitnesses), "status": encode(info["status"]),
                      "value": encode(info["value"]), "thresholds": encode(thresholds)})
    archives.append({"rate": rate, "min": least, "sides": [4, 3], "steps": steps})
write(os.path.join(out_dir(__doc__), "ribs_archive.json.gz"), {"versions": versions_of("ribs", "numpy"), "archives": archives})
