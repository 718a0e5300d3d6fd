"""Rank-sum and signed-rank tests, and Holm's corrections for cmd/xlarun-bench/bench/bbob, written to OUTPUT_DIR/scipy_ranksum.json.

{"versions": {...}, "cases": [{"a", "b", "p"}...], "signed": [{"a", "b", "p"}...], "holm": [{"p", "corrected"}...]}
  a case    two samples and the two-sided p of scipy.stats.mannwhitneyu, exact; those with ties by scipy.stats.permutation_test
            of the sum of the ranks, over all permutations
  signed    pairs and the two-sided p of scipy.stats.wilcoxon without pairs of equals, by all signs
  holm      probabilities and what multiplying the sorted ones by what is left of them gives
"""
import os

import numpy as np
from scipy.stats import PermutationMethod, mannwhitneyu, permutation_test, rankdata, wilcoxon

from common import out_dir, versions_of, write


def case(a, b):
    if len(set([*a, *b])) == len(a) + len(b):
        p = mannwhitneyu(a, b, method="exact").pvalue
    else:
        ranks = rankdata([*a, *b])
        split = ranks[: len(a)], ranks[len(a):]
        p = permutation_test(split, lambda x, y: np.abs(np.sum(x) - len(a) * (len(ranks) + 1) / 2), n_resamples=np.inf, alternative="greater").pvalue
    return {"a": list(map(float, a)), "b": list(map(float, b)), "p": float(p)}


def signed(a, b):
    a, b = (np.asarray(x, float) for x in (a, b))
    differ = a != b
    if len(np.unique(np.abs(a - b))) == len(a) and differ.all():
        p = wilcoxon(a, b, method="exact").pvalue
    else:
        p = wilcoxon(a[differ], b[differ], method=PermutationMethod(n_resamples=np.inf)).pvalue
    return {"a": list(map(float, a)), "b": list(map(float, b)), "p": float(p)}


def holm(p):
    order, out, most = np.argsort(p, kind="stable"), [0.0] * len(p), 0.0
    for k, i in enumerate(order):
        most = max(most, min(1.0, (len(p) - k) * p[i]))
        out[i] = most
    return {"p": p, "corrected": out}


def main():
    out = out_dir(__doc__)
    r = np.random.default_rng(1)
    cases = [case(r.normal(0, 1, n), r.normal(shift, 1, m)) for n, m, shift in ((3, 3, 0), (15, 15, 0), (15, 15, 1), (15, 15, 3), (8, 12, .5), (1, 5, 0))]
    cases += [case(r.integers(0, top, n), r.integers(0, top, m) + shift) for n, m, top, shift in ((5, 5, 3, 0), (7, 6, 4, 1), (8, 8, 2, 0), (4, 4, 1, 0))]
    pairs = [signed(r.normal(0, 1, n), r.normal(shift, 1, n)) for n, shift in ((3, 0), (8, .5), (15, 0), (20, 1), (30, .4))]
    pairs += [signed(r.integers(0, top, n), r.integers(0, top, n) + shift) for n, top, shift in ((6, 5, 0), (10, 4, 1), (12, 3, 0))]
    write(os.path.join(out, "scipy_ranksum.json"), {"versions": versions_of("scipy", "numpy"), "cases": cases, "signed": pairs,
          "holm": [holm([0.01, 0.04, 0.03, 0.005]), holm([0.5]), holm([0.2, 0.2, 1.0, 0.0])]})


main()
