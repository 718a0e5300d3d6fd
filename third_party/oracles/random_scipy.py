"""Random distributions of scipy.stats, written to OUTPUT_DIR/random_scipy.json.gz. CASES=n makes n cases instead of a few of each kind,
SEED=k others: for a search by hand.

{"versions": {...}, "cases": [{"kind", "p", "q", "x", "log_prob", "entropy", "kl", "mean"}...]}, arrays as in common.py, float64 all.
  p, q      parameters by name, of shapes that broadcast; some are of float32's range only at its ends
  x         values whose shape broadcasts with the parameters': inside, on the bound and outside of the support, infinities, NaN
  log_prob, entropy, mean, kl    of p, kl from p to q; missing where SciPy has none, or where a sum here has none
Densities that are infinite, at bounds, are infinite; where x is NaN all are NaN.
"""
import os

import numpy as np
from scipy import special, stats

from common import encode, out_dir, versions_of, write

INF, NAN = np.inf, np.nan


class Draw:
    def __init__(self, seed):
        self.n = np.random.default_rng(seed)

    def __call__(self, *options):
        return options[self.n.integers(len(options))]

    def shapes(self, k):
        """k shapes that broadcast with each other."""
        full = [self(1, 2, 3) for _ in range(self(0, 1, 2, 2, 3))]
        out = []
        for _ in range(k):
            drop = self.n.integers(0, len(full) + 1)
            out.append(tuple(n if self.n.random() < 0.7 else 1 for n in full[drop:]))
        return out

    def real(self, shape):
        return single(self.n.standard_normal(shape) * self(1, 1, 10, 1e-3, 1e4))

    def positive(self, shape):
        return single(np.exp(self.n.standard_normal(shape) * self(1, 1, 3)) * self(1, 1, 1e-3, 1e3))

    def among(self, x, values):
        """x with some elements replaced."""
        x = np.array(x)
        return np.where(self.n.random(x.shape) < 0.3, self.n.choice(values, x.shape), x)


def single(x):
    """The numbers that float32 has too."""
    return np.asarray(x, np.float32).astype(np.float64)


def loc_scale(d):
    a, b, c, e, x = d.shapes(5)
    p, q = {"loc": d.real(a), "scale": d.positive(b)}, {"loc": d.real(c), "scale": d.positive(e)}
    z = d.among(d.n.standard_normal(x) * d(1, 1, 8), [0, 30, -30, INF, -INF, NAN])
    return p, q, single(z * p["scale"].mean() + p["loc"].mean())


def normal(d):
    p, q, x = loc_scale(d)
    kl = np.log(q["scale"] / p["scale"]) + (p["scale"]**2 + (p["loc"] - q["loc"])**2) / (2 * q["scale"]**2) - 0.5
    return p, q, x, stats.norm(p["loc"], p["scale"]), {"kl": kl}


def laplace(d):
    p, q, x = loc_scale(d)
    apart = np.abs(p["loc"] - q["loc"])
    kl = np.log(q["scale"] / p["scale"]) + (p["scale"] * np.exp(-apart / p["scale"]) + apart) / q["scale"] - 1
    return p, q, x, stats.laplace(p["loc"], p["scale"]), {"kl": kl}


def gumbel(d):
    p, q, x = loc_scale(d)
    return p, None, x, stats.gumbel_r(p["loc"], p["scale"]), {}


def logistic(d):
    p, q, x = loc_scale(d)
    return p, None, x, stats.logistic(p["loc"], p["scale"]), {}


def uniform(d):
    p, q, x = loc_scale(d)
    p, q = ({"loc": v["loc"], "scale": single(v["loc"] + v["scale"] + np.abs(v["loc"]) / 16)} for v in (p, q))  # the ends
    x = d.among(x, np.concatenate([np.ravel(p["loc"]), np.ravel(p["scale"])]))
    inside = (q["loc"] <= p["loc"]) & (p["scale"] <= q["scale"])
    kl = np.where(inside, np.log((q["scale"] - q["loc"]) / (p["scale"] - p["loc"])), INF)
    return p, q, x, stats.uniform(p["loc"], p["scale"] - p["loc"]), {"kl": kl}


def gamma(d):
    a, b, c, e, x = d.shapes(5)
    p, q = ({"concentration": d.positive(s), "rate": d.positive(t)} for s, t in ((a, b), (c, e)))
    x = d.among(single(np.exp(d.n.standard_normal(x)) * (p["concentration"] / p["rate"]).mean()), [0, -1, INF, -INF, NAN, 1e-30])
    (a, r), (b, s) = p.values(), q.values()
    kl = (a - b) * special.digamma(a) - special.gammaln(a) + special.gammaln(b) + b * np.log(r / s) + a * (s - r) / r
    return p, q, x, stats.gamma(a, scale=1 / r), {"kl": kl}


def beta(d):
    a, b, c, e, x = d.shapes(5)
    p, q = {"a": d.positive(a), "b": d.positive(b)}, {"a": d.positive(c), "b": d.positive(e)}
    x = d.among(single(d.n.random(x)), [0, 1, -0.1, 1.1, INF, -INF, NAN, 1e-30])
    a, b, c, e = p["a"], p["b"], q["a"], q["b"]
    kl = special.betaln(c, e) - special.betaln(a, b) + (a - c) * special.digamma(a) + (b - e) * special.digamma(b) + (c - a + e - b) * special.digamma(a + b)
    return p, q, x, stats.beta(a, b), {"kl": kl}


def poisson(d):
    a, b, x = d.shapes(3)
    p, q = {"rate": d.among(np.minimum(d.positive(a), 1e5), [0])}, {"rate": d.positive(b)}
    x = d.among(single(d.n.poisson(p["rate"].mean(), x)), [0, -1, 0.5, INF, -INF, NAN, 1, 170])
    kl = special.xlogy(p["rate"], p["rate"] / q["rate"]) - p["rate"] + q["rate"]
    k = np.arange(4000.0)
    logs = stats.poisson(p["rate"][..., None]).logpmf(k)
    entropy = -np.where(np.isfinite(logs), np.exp(logs) * np.where(np.isfinite(logs), logs, 0), 0).sum(-1)
    return p, q, x, stats.poisson(p["rate"]), {"kl": kl, "entropy": entropy if p["rate"].max(initial=0) < 3000 else None}


def bernoulli(d):
    a, b, x = d.shapes(3)
    p, q = {"logits": d.among(d.real(a) / 10, [0, 20, -20, INF, -INF])}, {"logits": np.clip(d.real(b), -20, 20)}
    x = d.among(d.n.integers(0, 2, x) * 1.0, [2, -1, 0.5, NAN])
    one, zero = special.log_expit(p["logits"]), special.log_expit(-p["logits"])
    log_prob = np.where(x == 1, one, np.where(x == 0, zero, np.where(np.isnan(x), NAN, -INF)))
    each = lambda f: sum(np.where(np.isinf(lp), 0, np.exp(lp) * f(np.where(np.isinf(lp), 0, lp), lq)) for lp, lq in  # noqa: E731
                         ((one, special.log_expit(q["logits"])), (zero, special.log_expit(-q["logits"]))))
    return p, q, x, None, {"log_prob": log_prob, "entropy": -each(lambda lp, lq: lp + 0 * lq) if q["logits"].ndim == 0 else None,
                           "kl": each(lambda lp, lq: lp - lq)}


def categorical(d):
    n = d(1, 2, 3, 7)
    (a, x), k = d.shapes(2), d(1, 1, 10, 100)
    p, q = {"logits": d.among(d.real((*a, n)) / k, [0, -INF, 50])}, {"logits": np.clip(d.real((n,)), -50, 50)}
    p["logits"][..., 0] = np.where(np.isinf(p["logits"][..., 0]), 0, p["logits"][..., 0])
    x = d.among(d.n.integers(0, n, x) * 1.0, [-1, n, 0.5])
    logs, other = special.log_softmax(p["logits"], -1), special.log_softmax(q["logits"], -1)
    at = np.broadcast_to(x, np.broadcast_shapes(x.shape, a))
    inside = (at >= 0) & (at < n) & (at == np.floor(at))
    rows = np.broadcast_to(logs, (*at.shape, n))
    log_prob = np.where(inside, np.take_along_axis(rows, np.where(inside, at, 0).astype(int)[..., None], -1)[..., 0], -INF)
    some = np.isfinite(logs)
    weighted = lambda y: np.where(some, np.exp(logs) * np.where(some, y, 0), 0).sum(-1)  # noqa: E731
    with np.errstate(invalid="ignore"):
        return p, q, x, None, {"log_prob": log_prob, "entropy": -weighted(logs), "kl": weighted(logs - other)}


def dirichlet(d):
    n, rows = d(2, 3, 5), d(1, 4)
    p = {"concentration": d.positive((n,))}
    x = d.n.dirichlet(np.ones(n), rows)
    return p, None, x, None, {"log_prob": np.array([stats.dirichlet(p["concentration"]).logpdf(r) for r in x]),
                              "entropy": stats.dirichlet(p["concentration"]).entropy()}


def multivariate_normal(d):
    n, shape = d(1, 2, 4), d.shapes(1)[0]

    def one():
        m = d.n.standard_normal((n, n))
        return {"loc": d.real((n,)), "covariance": single(m @ m.T + np.diag(np.exp(d.n.standard_normal(n))))}

    p, q = one(), one()
    x = single(p["loc"] + d.n.standard_normal((*shape, n)) * d(1, 5))
    inverse, apart = np.linalg.inv(q["covariance"]), q["loc"] - p["loc"]
    kl = 0.5 * (np.trace(inverse @ p["covariance"]) + apart @ inverse @ apart - n + np.linalg.slogdet(q["covariance"])[1] - np.linalg.slogdet(p["covariance"])[1])
    m = stats.multivariate_normal(p["loc"], p["covariance"])
    return p, q, x, None, {"log_prob": np.reshape(m.logpdf(x), shape), "entropy": m.entropy(), "kl": kl}


def mixture(d):
    k, (a, x) = d(1, 2, 4), d.shapes(2)
    p = {"logits": d.among(d.real((k,)), [-INF]), "loc": d.real((*a, k)), "scale": d.positive((k,))}
    p["logits"][0] = 0
    x = d.among(single(d.n.standard_normal(x) * p["scale"].mean() + p["loc"].mean()), [INF, -INF, NAN])
    with np.errstate(divide="ignore", invalid="ignore"):
        log_prob = special.logsumexp(special.log_softmax(p["logits"]) + stats.norm(p["loc"], p["scale"]).logpdf(x[..., None]), axis=-1)
    return p, None, x, None, {"log_prob": np.where(np.isnan(x), NAN, log_prob)}


KINDS = [normal, laplace, gumbel, logistic, uniform, gamma, beta, poisson, bernoulli, categorical, dirichlet, multivariate_normal, mixture]


def case(kind, seed):
    d = Draw(seed)
    p, q, x, law, more = kind(d)
    c = {}
    if law is not None:
        y = (law.logpmf if kind is poisson else law.logpdf)(x)
        c["log_prob"] = np.where(np.isinf(x), -INF, y)  # SciPy has NaN at some infinities
        if kind is not poisson:
            c["entropy"] = law.entropy()
        if kind in (gamma, beta):
            c["mean"] = law.mean()
    c |= {k: v for k, v in more.items() if v is not None}
    return {"kind": kind.__name__, "p": {k: encode(v) for k, v in p.items()}, "q": {k: encode(v) for k, v in (q or {}).items()}, "x": encode(x),
            **{k: encode(np.asarray(v, np.float64)) for k, v in c.items()}}


def main():
    out = out_dir(__doc__)
    n, seed = int(os.environ.get("CASES", 0)), int(os.environ.get("SEED", 0))
    with np.errstate(all="ignore"):
        cases = [case(KINDS[i % len(KINDS)], seed * 10**6 + i) for i in range(n or 8 * len(KINDS))]
    write(os.path.join(out, "random_scipy.json.gz"), {"versions": versions_of("numpy", "scipy"), "cases": cases})


main()
