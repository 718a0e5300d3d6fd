"""Distributions from distrax and jax.scipy.stats for graph/distribution, written to OUTPUT_DIR/jax_distributions.json.gz.

{"versions": {...}, "cases": [CASE...]}, arrays as in common.py, float64 all. CASE:
  kind     "normal", "squashed_normal", "laplace", "categorical", "bernoulli", "poisson", "gamma", "beta", "dirichlet",
           "multivariate_normal" (loc, scale: the Cholesky factor), "uniform" (loc, scale: the ends), "inverse" (loc, scale: the
           concentrations of a beta distribution), and others by their names in KINDS
  p, q     parameters by name; q is another distribution of the kind
  x        values
  log_prob, entropy, kl        of p; kl from p to q; both are missing where they have no closed form
  d_log_prob, d_x, d_entropy, d_kl   gradients of their sums by p's parameters (by name), and of log_prob's by x
Values at which a result is infinite or has no derivative are left to tests of their own.
"""
import os

os.environ["JAX_ENABLE_X64"] = "1"
import distrax  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import scipy.stats  # noqa: E402

from common import encode, out_dir, versions, write  # noqa: E402

RNG = np.random.default_rng(5)


def normal(*shape):
    return RNG.standard_normal(shape)


def positive(*shape):
    return np.exp(RNG.standard_normal(shape))


class Poisson:
    def __init__(self, rate):
        self.rate = rate

    def log_prob(self, x):
        return jax.scipy.stats.poisson.logpmf(x, self.rate)

    def entropy(self):
        k = jnp.arange(2000.0)
        logs = jax.scipy.stats.poisson.logpmf(k, self.rate[..., None])
        return -jnp.sum(jnp.exp(logs) * logs, -1)

    def kl_divergence(self, q):
        return self.rate * jnp.log(self.rate / q.rate) - self.rate + q.rate


KINDS = {
    "normal": lambda loc, scale: distrax.Normal(loc, scale),
    "squashed_normal": lambda loc, scale: distrax.Transformed(distrax.Normal(loc, scale), distrax.Tanh()),
    "laplace": lambda loc, scale: distrax.Laplace(loc, scale),
    "categorical": lambda logits: distrax.Categorical(logits=logits),
    "bernoulli": lambda logits: distrax.Bernoulli(logits=logits),
    "poisson": Poisson,
    "gamma": lambda concentration, rate: distrax.Gamma(concentration, rate),
    "beta": lambda a, b: distrax.Beta(a, b),
    "dirichlet": lambda concentration: distrax.Dirichlet(concentration),
    "multivariate_normal": lambda loc, scale: distrax.MultivariateNormalTri(loc, scale),
    "uniform": lambda loc, scale: distrax.Uniform(loc, scale),
    "gumbel": lambda loc, scale: distrax.Gumbel(loc, scale),
    "logistic": lambda loc, scale: distrax.Logistic(loc, scale),
    "multivariate_normal_diag": lambda loc, scale: distrax.MultivariateNormalDiag(loc, scale),
    "one_hot_categorical": lambda logits: distrax.OneHotCategorical(logits=logits),
    "independent": lambda loc, scale: distrax.Independent(distrax.Laplace(loc, scale), 1),
    "mixture": lambda logits, loc, scale: distrax.MixtureSameFamily(distrax.Categorical(logits=logits), distrax.Normal(loc, scale)),
    "mixture_diag": lambda logits, loc, scale: distrax.MixtureSameFamily(distrax.Categorical(logits=logits), distrax.MultivariateNormalDiag(loc, scale)),
    "transformed": lambda loc, scale: distrax.Transformed(distrax.Normal(loc, scale), distrax.Chain([distrax.Sigmoid(), distrax.ScalarAffine(0.5, 2.0)])),
    "inverse": lambda loc, scale: distrax.Transformed(distrax.Beta(loc, scale), distrax.Inverse(distrax.Sigmoid())),
}
# Without a closed divergence; without a closed entropy.
NO_KL = ("logistic", "mixture", "mixture_diag", "transformed", "inverse", "independent")
NO_ENTROPY = ("squashed_normal", "mixture", "mixture_diag", "transformed", "inverse")


def case(kind, p, q, x):
    make = KINDS[kind]
    entropy = kind not in NO_ENTROPY
    discrete = kind in ("categorical", "bernoulli", "poisson", "one_hot_categorical")

    def all_of(p, q, x):
        d = make(**p)
        if kind in NO_KL:
            return {"log_prob": d.log_prob(x), **({"entropy": d.entropy()} if entropy else {})}
        kl = make(**q) if kind != "squashed_normal" else distrax.Normal(**q)
        base = d if kind != "squashed_normal" else distrax.Normal(**p)
        return {"log_prob": d.log_prob(x), "kl": base.kl_divergence(kl), **({"entropy": d.entropy()} if entropy else {})}

    @jax.jit
    def everything(p, q, x):
        out = all_of(p, q, x)
        for name in list(out):
            out["d_" + name] = jax.grad(lambda p: jnp.sum(all_of(p, q, x)[name]))(p)
        if not discrete:
            out["d_x"] = jax.grad(lambda x: jnp.sum(all_of(p, q, x)["log_prob"]))(x)
        return out

    p, q = ({k: jnp.asarray(v) for k, v in t.items()} for t in (p, q))
    x = jnp.asarray(x)
    got = everything(p, q, x)
    if kind == "poisson":
        np.testing.assert_allclose(got["entropy"], scipy.stats.poisson.entropy(np.asarray(p["rate"])), rtol=1e-6)
    tree = lambda t: {k: encode(v) for k, v in t.items()} if isinstance(t, dict) else encode(t)  # noqa: E731
    return {"kind": kind, "p": tree(p), "q": tree(q), "x": encode(x), **{k: tree(v) for k, v in got.items()}}


def main():
    out = out_dir(__doc__)
    cases = []
    for kind in ("normal", "laplace"):
        cases.append(case(kind, {"loc": normal(3, 4), "scale": positive(3, 4)}, {"loc": normal(3, 4), "scale": positive(3, 4)}, 3 * normal(2, 3, 4)))
        cases.append(case(kind, {"loc": np.float64(1e3), "scale": np.float64(1e-3)}, {"loc": np.float64(1e3 + 1e-3), "scale": np.float64(1e-2)},
                          1e3 + 2e-3 * normal(5)))
    cases.append(case("squashed_normal", {"loc": normal(4), "scale": positive(4)}, {"loc": normal(4), "scale": positive(4)},
                      np.tanh([[-3.0, -1.0, 0.1, 2.0], [0.5, 0.0, 4.0, -5.0]])))
    cases.append(case("categorical", {"logits": 3 * normal(5, 6)}, {"logits": normal(5, 6)}, RNG.integers(0, 6, (4, 5))))
    cases.append(case("categorical", {"logits": np.array([900.0, -900.0, 0.0])}, {"logits": np.array([1.0, -1.0, 0.0])}, np.array([0, 1, 2])))
    cases.append(case("bernoulli", {"logits": 4 * normal(8)}, {"logits": normal(8)}, RNG.integers(0, 2, (3, 8))))
    cases.append(case("bernoulli", {"logits": np.array([-80.0, 80.0, 0.0])}, {"logits": np.array([1.0, -1.0, 2.0])}, np.array([0, 1, 1])))
    rates = np.array([1e-3, 0.3, 2.0, 9.0, 29.9, 30.1, 80.0, 600.0])
    cases.append(case("poisson", {"rate": rates}, {"rate": rates[::-1].copy()}, np.floor(rates * np.array([[0.5], [1.3]]))))
    for scale in (1.0, 30.0):
        cases.append(case("gamma", {"concentration": scale * positive(6), "rate": positive(6)}, {"concentration": positive(6), "rate": positive(6)},
                          scale * positive(3, 6)))
        cases.append(case("beta", {"a": scale * positive(6), "b": positive(6)}, {"a": positive(6), "b": scale * positive(6)}, RNG.uniform(0.01, 0.99, (3, 6))))
        x = positive(3, 2, 4)
        cases.append(case("dirichlet", {"concentration": scale * positive(2, 4)}, {"concentration": positive(2, 4)}, x / x.sum(-1, keepdims=True)))
    factor = lambda: np.tril(normal(3, 3), -1) + np.diag(positive(3))  # noqa: E731
    cases.append(case("multivariate_normal", {"loc": normal(3), "scale": factor()}, {"loc": normal(3), "scale": factor()}, normal(5, 3)))
    for kind in ("gumbel", "logistic", "independent", "multivariate_normal_diag"):
        cases.append(case(kind, {"loc": normal(3, 4), "scale": positive(3, 4)}, {"loc": normal(3, 4), "scale": positive(3, 4)}, 3 * normal(2, 3, 4)))
    cases.append(case("uniform", {"loc": np.array([0.0, -1.0]), "scale": np.array([1.0, 3.0])}, {"loc": np.array([-1.0, -1.0]), "scale": np.array([1.5, 9.0])},
                      np.array([[0.3, 0.5], [0.9, 2.5]])))
    cases.append(case("one_hot_categorical", {"logits": normal(3, 4)}, {"logits": normal(3, 4)}, np.eye(4)[RNG.integers(0, 4, (2, 3))]))
    mixed = lambda *value: {"logits": normal(3, 4), "loc": 2 * normal(3, 4, *value), "scale": positive(3, 4, *value)}  # noqa: E731
    cases.append(case("mixture", mixed(), mixed(), normal(5, 3)))
    cases.append(case("mixture_diag", mixed(2), mixed(2), normal(5, 3, 2)))
    cases.append(case("transformed", {"loc": normal(3), "scale": positive(3)}, {"loc": normal(3), "scale": positive(3)}, RNG.uniform(0.01, 0.99, (4, 3))))
    cases.append(case("inverse", {"loc": positive(3), "scale": positive(3)}, {"loc": positive(3), "scale": positive(3)}, normal(4, 3)))
    write(os.path.join(out, "jax_distributions.json.gz"), {"versions": versions("distrax"), "cases": cases})


main()
