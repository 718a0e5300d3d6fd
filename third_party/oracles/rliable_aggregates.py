"""Aggregates of final scores with bootstrap intervals for rollout/aggregate, written to OUTPUT_DIR/rliable_aggregates.json.gz.

{"versions": {...}, "cases": [{"scores", "threshold", "confidence", "points", "indices", "intervals", "many"}...],
 "profiles": [{"scores", "thresholds", "points", "indices", "intervals"}...],
 "improvements": [{"x", "y", "point", "of_x", "of_y", "interval"}...]}
  scores      [runs, tasks]
  threshold   of the optimality gap
  points      rliable.metrics: interquartile mean, mean, median, optimality gap
  indices     [resamples, runs, tasks]: the runs that rliable's stratified bootstrap drew
  intervals   [2, 4]: rliable.library.get_interval_estimates by percentiles of what these resamples come to
  many        [2, 4]: the same of 20,000 resamples, whose draws are not kept
A profile is rliable.library.create_performance_profile at each threshold (score distributions), with its 95 % interval,
[2, thresholds]. An improvement is rliable.metrics.probability_of_improvement of x over y, with its 95 % interval, [2];
of_x and of_y, [resamples, runs, tasks], are the runs that the bootstrap drew, of x and then of y.
"""
import os

import numpy as np
from rliable import library, metrics

from common import encode, out_dir, versions_of, write


def recording(f):
    """Returns what f returns, and what numpy.random.choice drew in it."""
    drawn, choice = [], np.random.choice

    def recorded(*args, **named):
        drawn.append(choice(*args, **named))
        return drawn[-1]

    np.random.choice = recorded
    out = f()
    np.random.choice = choice
    return out, drawn


def profile(scores, thresholds, resamples=40):
    (points, intervals), drawn = recording(
        lambda: library.create_performance_profile({"": scores}, np.array(thresholds), reps=resamples))
    return {"scores": encode(scores), "thresholds": encode(np.array(thresholds)), "points": encode(points[""]),
            "indices": encode(np.array(drawn, np.uint8)), "intervals": encode(intervals[""])}


def improvement(x, y, resamples=40):
    (point, interval), drawn = recording(
        lambda: library.get_interval_estimates({"": (x, y)}, metrics.probability_of_improvement, reps=resamples))
    return {"x": encode(x), "y": encode(y), "point": encode(np.array([point[""]])),
            "of_x": encode(np.array(drawn[0::2], np.uint8)), "of_y": encode(np.array(drawn[1::2], np.uint8)),
            "interval": encode(np.ravel(interval[""]))}


def case(scores, threshold=1.0, confidence=.95, resamples=60):
    def four(x):
        return np.array([metrics.aggregate_iqm(x), metrics.aggregate_mean(x), metrics.aggregate_median(x), metrics.aggregate_optimality_gap(x, threshold)])

    def estimates(reps):
        points, intervals = library.get_interval_estimates({"": scores}, four, reps=reps, confidence_interval_size=confidence)
        return points[""], intervals[""]

    (points, intervals), drawn = recording(lambda: estimates(resamples))
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
    profiles = [
        profile(r.normal(400, 80, (10, 1)), [200., 350., 400., 475.]),
        profile(r.integers(0, 4, (6, 3)).astype(float), [-1., 0., 1., 1.5, 3.]),
    ]
    improvements = [
        improvement(r.normal(1, 1, (10, 1)), r.normal(0, 1, (8, 1))),
        improvement(r.integers(0, 4, (5, 3)).astype(float), r.integers(0, 4, (7, 3)).astype(float)),
        improvement(np.full((4, 2), 500.), np.full((4, 2), 500.)),
        improvement(np.arange(8.)[:, None], np.arange(8.)[:, None] - 10),
    ]
    write(os.path.join(out, "rliable_aggregates.json.gz"), {"versions": versions_of("rliable", "arch", "scipy", "numpy"), "cases": cases,
                                                                     "profiles": profiles, "improvements": improvements})


main()
