"""Aggregates of final scores with bootstrap intervals for rollout/ppo/aggregate, written to OUTPUT_DIR/rliable_aggregates.json.gz.

{"versions": {...}, "cases": [{"scores", "threshold", "confidence", "points", "indices", "intervals", "many"}...]}
  scores      [runs, tasks]
  threshold   of the optimality gap
  points      rliable.metrics: interquartile mean, mean, median, optimality gap
  indices     [resamples, runs, tasks]: the runs that rliable's stratified bootstrap drew
  intervals   [2, 4]: rliable.library.get_interval_estimates by percentiles of what these resamples come to
  many        [2, 4]: the same of 20,000 resamples, whose draws are not kept
"""
import os

import numpy as np
from rliable import library, metrics

from common import encode, out_dir, versions_of, write


def case(scores, threshold=1.0, confidence=.95, resamples=60):
    def four(x):
        return np.array([metrics.aggregate_iqm(x), metrics.aggregate_mean(x), metrics.aggregate_median(x), metrics.aggregate_optimality_gap(x, threshold)])

    def estimates(reps):
        points, intervals = library.get_interval_estimates({"": scores}, four, reps=reps, confidence_interval_size=confidence)
        return points[""], intervals[""]

    drawn, choice = [], np.random.choice

    def recorded(*args, **named):
        drawn.append(choice(*args, **named))
        return drawn[-1]

    np.random.choice = recorded
    points, intervals = estimates(resamples)
    np.random.choice = choice
    assert len(drawn) == resamples
    return {"scores": encode(scores), "threshold": threshold, "confidence": confidence, "points": encode(points),
            "indices": encode(np.array(drawn, np.uint8)), "intervals": encode(intervals), "many": encode(estimates(20000)[1])}


def main():
    out = out_dir(__doc__)
    r = np.random.default_rng(1)
    np.random.seed(1)
    cases = [
        case(r.normal(400, 80, (20, 1)), threshold=500.),
        case(r.normal(.8, .3, (5, 3)), confidence=.9),
        case(r.exponential(1, (10, 6)), confidence=.5),
        case(r.integers(0, 3, (7, 2)).astype(float), threshold=2., resamples=41),
        case(r.normal(0, 1e6, (3, 4)), threshold=0.),
        case(np.full((4, 2), 1.5)),
        case(r.normal(0, 1, (1, 5))),
        case(np.where(r.random((16, 1)) < .2, -1e30, 1.)),
    ]
    write(os.path.join(out, "rliable_aggregates.json.gz"), {"versions": versions_of("rliable", "arch", "scipy", "numpy"), "cases": cases})


main()
