"""Special functions and distributions over the whole range of the float dtypes, written to OUTPUT_DIR/mpmath_special.json.gz.

{"versions": {...}, "cases": [CASE...]}, arrays as in common.py. CASE:
  name        the function, or "Distribution.Method"
  args        arrays of float64, one an argument: for Distribution.LogProb the parameters and then x, for KL the parameters of both
  want        float64: the exact value, rounded once
  condition   float32: the condition number, the sum of |argument * derivative by it| over |value|

Most arguments have 8 significant bits, so that a case serves each dtype that holds its arguments. Others lie close to where a function
changes fast: they have the bits of float32 or of float64.
"""
import os
import sys

import mpmath as mp
import numpy as np

from common import encode, out_dir, versions_of, write

mp.mp.dps = 230
R = np.random.default_rng(11)
HALF = [-14, -10, -7, -4, -2, -1, 0, 1, 2, 3, 5, 7, 10, 14]
SINGLE = [-120, -60, -33, -24, *HALF, 19, 24, 33, 60, 100, 120]
DOUBLE = [-400, -200, *SINGLE, 53, 200, 400]
FEW = [-120, -24, -10, -4, -1, 0, 1, 3, 6, 10, 14, 24, 60, 100, 200]


def positive(exponents):
    """A number of 8 bits above each power of two."""
    return [float((1 + R.integers(0, 128) / 128) * 2.0 ** int(e)) for e in exponents]


def both(x):
    return [*x, *(-v for v in x)]


def pairs(x, y):
    return [(a, b) for a in positive(x) for b in positive(y)]


def single(x):
    return float(np.float32(x))


def lg(x):
    return mp.loggamma(x)


def lgamma(x):
    return lg(x) if x > 0 else mp.log(mp.pi / abs(mp.sin(mp.pi * x))) - lg(1 - x)


def lgamma_correction(x):
    with mp.workdps(500):
        return lg(x) - (x - mp.mpf(1) / 2) * mp.log(x) + x - mp.log(2 * mp.pi) / 2


def digamma(x):
    return mp.psi(0, x) if x > 0 else mp.psi(0, 1 - x) - mp.pi * mp.cot(mp.pi * x)


def trigamma(x):
    return mp.psi(1, x) if x > 0 else (mp.pi / mp.sin(mp.pi * x)) ** 2 - mp.psi(1, 1 - x)


def betaln(a, b):
    return lg(a) + lg(b) - lg(a + b)


def erfc(x):
    return mp.erfc(x) if x < 1e4 else mp.mpf(0)


def ndtr(x):
    return erfc(-x / mp.sqrt(2)) / 2


def logndtr(x):
    if x > -30:
        return mp.log1p(-erfc(x / mp.sqrt(2)) / 2) if x > 0 else mp.log(ndtr(x))
    total, term = mp.mpf(1), mp.mpf(1)
    for k in range(1, 60):
        new = -term * (2 * k - 1) / x ** 2
        if abs(new) > abs(term) or abs(new) < mp.mpf(10) ** -60:
            break
        term = new
        total += term
    return -x * x / 2 - mp.log(-x) - mp.log(2 * mp.pi) / 2 + mp.log(total)


def ndtri(p):
    if p == mp.mpf(1) / 2:
        return mp.mpf(0)
    if p > mp.mpf(1) / 2:
        return -ndtri(1 - p)
    x = -mp.sqrt(-2 * mp.log(p)) if p < 0.1 else (p - mp.mpf(1) / 2) * mp.sqrt(2 * mp.pi)
    for _ in range(60):  # Newton on the logarithm
        value = logndtr(x)
        slope = mp.exp(-x * x / 2 - value) / mp.sqrt(2 * mp.pi)
        step = (value - mp.log(p)) / slope
        x -= step
        if abs(step) < mp.mpf(10) ** -45 * max(abs(x), mp.mpf(10) ** -45):
            break
    return x


def erfinv(x):
    return ndtri((1 + x) / 2) / mp.sqrt(2) if x < 0 else -ndtri((1 - x) / 2) / mp.sqrt(2)


def legendre(n):
    """Points and weights of Gauss's rule from 0 to 1."""
    at = []
    with mp.workdps(45):
        for x in np.polynomial.legendre.leggauss(n)[0]:
            x = mp.mpf(float(x))
            for _ in range(3):
                p, last = mp.mpf(1), mp.mpf(0)
                for k in range(n):
                    p, last = ((2 * k + 1) * x * p - k * last) / (k + 1), p
                slope = n * (x * p - last) / (x * x - 1)
                x -= p / slope
            at.append(((1 + x) / 2, 1 / ((1 - x * x) * slope ** 2)))
    return at


POINTS = legendre(120)


def tail(exponent, rate, curve, weight=lambda s: 1):
    """The integral of exp(-exponent(s)) from 0, which begins as rate s + curve s²/2."""
    with mp.workdps(40):
        reach = 200 / (rate + mp.sqrt(rate * rate + 200 * curve))
        while exponent(reach) < 90:
            reach *= 1.25
        return reach * sum(w * weight(reach * s) * mp.exp(-exponent(reach * s)) for s, w in POINTS)


def gammainc(a, x, lower):
    log = a * mp.log(x) - x - lg(a)
    if x < a + 1 and (a < 300 or x < a / 2):  # the series
        with mp.workdps(60):
            term = total = 1 / a
            n = a
            while term > total * mp.mpf(10) ** -58:
                n += 1
                term *= x / n
                total += term
        part, low = mp.exp(log) * total, True
    elif x >= a:
        part, low = mp.exp(log) * tail(lambda s: x * mp.expm1(s) - a * s, x - a, x), False
    else:
        part, low = mp.exp(log) * tail(lambda s: x * mp.expm1(-s) + a * s, a - x, x), True
    return part if low == lower else 1 - part


def gamma_draw_slope(a, x):
    """The derivative of a gamma draw x by a, its place in the distribution being fixed."""
    if x < a + 1 and (a < 300 or x < a / 2):  # by the series
        term = total = mp.mpf(1)
        n = slopes = slope = mp.mpf(0)
        while term > total * mp.mpf(10) ** -80:
            n += 1
            term *= x / (a + n)
            slopes += 1 / (a + n)
            total += term
            slope -= term * slopes
        return -x / a * (total * (mp.log(x) - mp.psi(0, a + 1)) + slope)
    log, near = mp.log(x) - digamma(a), (x - a, x) if x >= a else (a - x, x)
    sign = 1 if x >= a else -1
    parts = [tail(lambda s: x * mp.expm1(sign * s) - sign * a * s, *near, weight) for weight in (lambda s: 1, lambda s: sign * s)]
    return sign * x * (parts[0] * log + parts[1])


def betainc(a, b, x):
    n = a + b
    log = a * mp.log(x) + b * mp.log1p(-x) - betaln(a, b)

    def series(a, b, x):
        with mp.workdps(300):
            total, k, c = 1 / a, 0, mp.mpf(1)
            while True:
                k += 1
                c *= (k - b) * x / k
                total += c / (a + k)
                if abs(c) < mp.mpf(10) ** -60 * abs(total) and k > b * x or c == 0:
                    break
        return mp.exp(a * mp.log(x) - betaln(a, b)) * total

    def lower(a, b, x, y):  # x is below the mean; logit(t) = logit(x) - s
        return mp.exp(log) * tail(lambda s: a * s + n * mp.log1p(x * mp.expm1(-s)), a - n * x, n * x * y)

    if (b + 1) * x < 300 and x < 0.9:
        return series(a, b, x)
    if (a + 1) * (1 - x) < 300 and x > 0.1:
        return 1 - series(b, a, 1 - x)
    return lower(a, b, x, 1 - x) if x * n <= a else 1 - lower(b, a, 1 - x, x)


def zeta(s, q):
    if s > 1000:
        return sum((q + k) ** -s for k in range(3))
    if q > 1e9:
        return q ** (1 - s) / (s - 1) + q ** -s / 2 + s * q ** (-s - 1) / 12
    with mp.workdps(40):
        n = 30
        total = sum((q + k) ** -s for k in range(n))
        end, term = q + n, s
        total += end ** (1 - s) / (s - 1) + end ** -s / 2
        factor = s * end ** (-s - 1)
        for j in range(1, 30):
            total += mp.bernoulli(2 * j) / mp.factorial(2 * j) * factor
            factor *= (s + 2 * j - 1) * (s + 2 * j) / end ** 2
        return total


def xlogy(x, y):
    return x * mp.log(y)


def relentr(x, y):
    return x * (mp.log(x) - mp.log(y))


def beta_log(a, b, x):
    return (a - 1) * mp.log(x) + (b - 1) * mp.log1p(-x) - betaln(a, b)


def beta_entropy(a, b):
    return betaln(a, b) - (a - 1) * digamma(a) - (b - 1) * digamma(b) + (a + b - 2) * digamma(a + b)


def beta_kl(a, b, c, d):
    return betaln(c, d) - betaln(a, b) + (a - c) * digamma(a) + (b - d) * digamma(b) + (c + d - a - b) * digamma(a + b)


def gamma_log(a, r, x):
    return a * mp.log(r) + (a - 1) * mp.log(x) - r * x - lg(a)


def gamma_entropy(a, r):
    return a - mp.log(r) + lg(a) + (1 - a) * digamma(a)


def gamma_kl(a, r, b, q):
    return (a - b) * digamma(a) - lg(a) + lg(b) + b * mp.log(r / q) + a * (q / r - 1)


def dirichlet_log(a, b, c, x, y, z):
    return (a - 1) * mp.log(x) + (b - 1) * mp.log(y) + (c - 1) * mp.log(z) - lg(a) - lg(b) - lg(c) + lg(a + b + c)


def dirichlet_entropy(a, b, c):
    n = a + b + c
    return lg(a) + lg(b) + lg(c) - lg(n) + (n - 3) * digamma(n) - sum((v - 1) * digamma(v) for v in (a, b, c))


def dirichlet_kl(a, b, c, d, e, f):
    n, m = a + b + c, d + e + f
    return lg(n) - lg(a) - lg(b) - lg(c) - lg(m) + lg(d) + lg(e) + lg(f) + sum(
        (p - q) * (digamma(p) - digamma(n)) for p, q in ((a, d), (b, e), (c, f)))


def poisson_log(rate, k):
    return k * mp.log(rate) - rate - lg(k + 1)


def poisson_entropy(rate):
    if rate > 2000:
        return mp.log(2 * mp.pi * mp.e * rate) / 2 - sum(c / rate ** k for k, c in enumerate(
            (mp.mpf(1) / 12, mp.mpf(1) / 24, mp.mpf(19) / 360, mp.mpf(9) / 80, mp.mpf(863) / 2520), 1))
    with mp.workdps(40):
        total, log = mp.mpf(0), mp.log(rate)
        k, p = 0, mp.exp(-rate)
        fact = mp.mpf(0)
        while k < rate + 40 * mp.sqrt(rate) + 60:
            l = k * log - rate - fact
            total -= mp.exp(l) * l
            k += 1
            fact += mp.log(k)
        return total


def poisson_kl(a, b):
    return a * mp.log(a / b) - a + b


def normal_log(m, s, x):
    return -((x - m) / s) ** 2 / 2 - mp.log(s) - mp.log(2 * mp.pi) / 2


def normal_kl(m, s, n, q):
    return ((s / q) ** 2 + ((m - n) / q) ** 2 - 1) / 2 - mp.log(s / q)


def laplace_log(m, s, x):
    return -abs(x - m) / s - mp.log(2 * s)


def laplace_kl(m, s, n, q):
    d = abs(m - n)
    return mp.log(q / s) + d / q + s / q * mp.exp(-d / s) - 1


def gumbel_log(m, s, x):
    z = (x - m) / s
    return -z - mp.exp(-z) - mp.log(s)


def gumbel_kl(m, s, n, q):
    r, d = s / q, (n - m) / q
    return -mp.log(r) + (r - 1) * mp.euler + mp.exp(d + lg(r + 1)) - 1 - d


def logistic_log(m, s, x):
    z = abs(x - m) / s
    return -z - 2 * mp.log1p(mp.exp(-z)) - mp.log(s)


def uniform_kl(a, b, c, d):
    return mp.log(d - c) - mp.log(b - a)


def squashed_log(m, s, x):
    u = mp.atanh(x)
    return normal_log(m, s, u) - mp.log1p(-x * x)


def softplus(x):
    return mp.log1p(mp.exp(-abs(x))) + max(x, 0)


def sigmoid(x):
    return 1 / (1 + mp.exp(-x))


def bernoulli_entropy(l):
    return sigmoid(l) * softplus(-l) + sigmoid(-l) * softplus(l)


def bernoulli_kl(l, m):
    return sigmoid(l) * (softplus(-m) - softplus(-l)) + sigmoid(-l) * (softplus(m) - softplus(l))


def log_softmax(x):
    most = max(x)
    norm = most + mp.log(sum(mp.exp(v - most) for v in x))
    return [v - norm for v in x]


def categorical_entropy(*x):
    return -sum(mp.exp(v) * v for v in log_softmax(x))


def categorical_kl(*x):
    p, q = log_softmax(x[:3]), log_softmax(x[3:])
    return sum(mp.exp(v) * (v - w) for v, w in zip(p, q))


def two_normal_log(a, b, c, d, e, x, y):
    """The density of two normal variables: means a and b, Scale [[c, 0], [d, e]]."""
    u = (x - a) / c
    v = (y - b - d * u) / e
    return -(u * u + v * v) / 2 - mp.log(c) - mp.log(e) - mp.log(2 * mp.pi)


def two_normal_kl(a, b, c, d, e, f, g, h, i, j):
    u = (a - f) / h
    v = (b - g - i * u) / j
    first, last = c / h, e / j
    across = (d - i * first) / j
    return (first ** 2 + last ** 2 + across ** 2 + u * u + v * v) / 2 - 1 - mp.log(first) - mp.log(last)


def mixture_log(k, l, m, s, n, q, x):
    logs = [a + normal_log(b, c, x) for a, b, c in zip(log_softmax((k, l)), (m, n), (s, q))]
    return max(logs) + mp.log1p(mp.exp(min(logs) - max(logs)))


def record(name, f, points):
    """Points whose value float64 cannot hold are left out, as those at a pole."""
    points = list(dict.fromkeys(points if isinstance(points[0], tuple) else [(p,) for p in points]))
    kept, want, condition = [], [], []
    step = mp.mpf(10) ** -25
    for p in points:
        at = [mp.mpf(v) for v in p]
        y = f(*at)
        if abs(y) > 1e308:
            continue
        total = mp.mpf(0)
        for i, v in enumerate(at):
            moved = list(at)
            moved[i] = v * (1 - step)
            total += abs(f(*moved) - y) / step
        kept.append(p)
        want.append(float(y))
        condition.append(float(min(total / abs(y), 3e38)) if y else 0)
    print(name, len(kept), file=sys.stderr)
    return {"name": name, "args": [encode(np.array(c, np.float64)) for c in zip(*kept)], "want": encode(np.array(want, np.float64)),
            "condition": encode(np.array(condition, np.float32))}


def broken(x):
    """Negative numbers that are not whole, of which a dtype of 8 bits has only small ones."""
    return [-v for v in x if v != int(v)]


def near_mean_gamma(exponents):
    """Concentrations, and x some standard deviations from the mean."""
    out = []
    for a in positive(exponents):
        for z in (-6, -2, -0.3, 0, 0.5, 3, 8):
            x = a + z * a ** 0.5
            if x > 0:
                out += [(a, single(x) if a < 2.0 ** 120 else x), (a, x)]
    return out


def near_mean_beta(exponents):
    out = []
    for a in positive(exponents):
        for b in positive(exponents):
            n = a + b
            for z in (-7, -1, 0, 0.4, 4):
                x = a / n + z * ((a / n) * (b / n) / (n + 1)) ** 0.5
                for v in (single(x), x):
                    if 1e-300 < v < 1:
                        out.append((a, b, v))
    return out


def main():
    out = out_dir(__doc__)
    wide = positive(DOUBLE)
    middle = [k / 8 for k in range(1, 80)]
    close = [1 + 2.0 ** -k for k in (7, 15, 23, 40)] + [1 - 2.0 ** -k for k in (8, 16, 24, 40)]
    twice = [2 * v for v in close]
    roots = [single(1.4616321449683622), 1.4616321449683622]
    below = broken([*middle, *positive([-60, -14, -7, -4, -2, -1, 0, 1, 2, 3]), *close, *(10 + v / 64 for v in range(1, 64, 5)), 1000.5,
                    100.25, 3e4 + 0.5, 1e6 + 0.25, 1e6 + 0.001])
    unit = [*positive([-400, -120, -60, -24, *HALF[:6]]), *(k / 64 for k in range(1, 64)), *close[4:], *(single(v) for v in (0.999, 0.99999))]
    tails = both([*positive([*SINGLE[:-7], 4, 5]), *(k / 4 for k in range(1, 160))])
    gammas = [*pairs(DOUBLE[1:-1], SINGLE), *near_mean_gamma([*SINGLE[8:], 53, 200])]
    betas = [*((a, b, x) for a, b in pairs(FEW[::2], FEW[1::2]) + pairs(FEW[1::2], FEW[::2]) for x in (0.5, *positive([-120, -24, -10, -3]), *close[4:7])),
             *near_mean_beta([-10, -1, 2, 6, 9, 24, 50])]
    fours = [tuple(positive(R.choice(FEW[1:-1], 4))) for _ in range(120)]
    fours += [(a, b, a * 1.25, b) for a, b in pairs(FEW, FEW)] + [(a, b, c, d) for a, b in pairs(FEW[::2], FEW[::2]) for c, d in pairs([0], [0])]
    threes = [tuple(positive(R.choice(FEW[1:], 3))) for _ in range(150)]
    simplex = [(0.25, 0.25, 0.5), (2.0 ** -10, 0.5, 0.5 - 2.0 ** -10), (2.0 ** -100, 0.125, 0.875), (1 - 2.0 ** -7, 2.0 ** -8, 2.0 ** -8)]
    places = [tuple(positive(R.choice([-10, -4, -1, 0, 1, 3, 6, 10, 14, 40, 60], 3)) * R.choice([-1, 1], 3) ** np.array([1, 0, 1]))
              for _ in range(150)]
    places = [tuple(map(float, p)) for p in places]
    # Pairs of distributions that are close: their divergence is of second order.
    near = [(0.0, s * c, 0.0, s) for s in (1.0, 3.0) for c in close] + [(2.0 ** -e, c, 0.0, 1.0) for e in (4, 7, 10, 20) for c in (1.0, *close)]
    near_logits = [(0.5, -1.25, 2.0, 0.5 * c, -1.25 * d, 2.0) for c, d in zip(close, reversed(close))]
    near_counts = [(a * c, b, a, b) for a, b in ((1.0, 1.0), (0.25, 3.0), (96.0, 24.0)) for c in close]
    kinds = [tuple(float(v) for v in np.array(positive(R.choice([-10, -4, -1, 0, 1, 3, 6, 10, 14], 4))) * np.array(
        [R.choice([-1, 1]), 1, R.choice([-1, 1]), 1])) for _ in range(150)]
    logits = both(positive([-120, -24, -10, -4, -1, 0, 1, 2, 3, 4, 6, 10, 14, 100]))
    cases = [
        record("Lgamma", lgamma, [*wide, *middle, *close, *twice, *below]),
        record("Digamma", digamma, [*wide, *middle, *close, *roots, *below]),
        record("Trigamma", trigamma, [*wide, *middle, *close, *below]),
        record("Polygamma2", lambda x: mp.psi(2, x), [*wide, *middle]),
        record("Polygamma5", lambda x: mp.psi(5, x), [*wide, *middle]),
        record("Zeta", zeta, [(1 + s, q) for s, q in pairs([-7, -5, -3, -1, 0, 2, 5, 8, 20, 60], [-100, *FEW])]),
        record("Erf", mp.erf, tails), record("Erfc", erfc, tails), record("ErfInv", erfinv, both(unit)),
        record("Ndtr", ndtr, tails), record("LogNdtr", logndtr, [*tails, *both(positive([6, 8, 10, 14, 30, 60, 100]))]),
        record("Ndtri", ndtri, unit), record("Logit", lambda p: mp.log(p) - mp.log1p(-p), unit),
        record("Entr", lambda x: -x * mp.log(x), [*wide, *close]),
        record("XLogY", xlogy, pairs(FEW, DOUBLE)), record("XLog1pY", lambda x, y: x * mp.log1p(y), pairs(FEW, DOUBLE)),
        record("RelEntr", relentr, pairs(FEW, FEW) + [(a, a * 1.0078125) for a in positive(FEW)]),
        record("KLDiv", lambda x, y: relentr(x, y) - x + y, pairs(FEW, FEW) + [(a, a * 1.0078125) for a in positive(FEW)]),
        record("BetaLn", betaln, pairs(DOUBLE[1:-1], DOUBLE[1:-1])),
        record("GammaInc", lambda a, x: gammainc(a, x, True), gammas), record("GammaIncC", lambda a, x: gammainc(a, x, False), gammas),
        record("BetaInc", betainc, betas),
        record("Gamma.LogProb", gamma_log, [(a, r, x) for a, x in gammas[::2] for r in (1.0, 0.75)]),
        record("Gamma.Entropy", gamma_entropy, pairs(DOUBLE[1:-1], [-100, -4, 0, 5, 90])), record("Gamma.KL", gamma_kl, fours + near_counts),
        record("Beta.LogProb", beta_log, betas[::2]), record("Beta.Entropy", beta_entropy, pairs(DOUBLE[1:-1], DOUBLE[1:-1])),
        record("Beta.KL", beta_kl, fours + near_counts),
        record("Dirichlet.LogProb", dirichlet_log, [(*p, *x) for p in threes[::2] for x in simplex]),
        record("Dirichlet.Entropy", dirichlet_entropy, threes),
        record("Dirichlet.KL", dirichlet_kl, [(*p, *q) for p, q in zip(threes[::2], threes[1::2])] +
               [(a, b, c, d, e, c) for a, b, d, e in near_counts for c in (2.0, 160.0)]),
        record("Poisson.LogProb", poisson_log, [(r, float(k)) for r in positive(FEW) for k in (0, 1, 2, 7, 60, 1000, 30000, 2 ** 24, 2 ** 40, 2 ** 60,
                                                2 ** 100)] + [(float(r), float(k)) for r, k in gammas[-120:] if k == int(k)]),
        record("Poisson.Entropy", poisson_entropy, [*positive(FEW), *middle, *(float(v) for v in range(10, 60, 3)), 100.0, 1000.0]),
        record("Poisson.KL", poisson_kl, pairs(FEW, FEW) + [(a, a * 1.0078125) for a in positive(FEW)] + [(a, a * c) for a in (1.0, 96.0) for c in close]),
        record("Normal.LogProb", normal_log, places), record("Normal.KL", normal_kl, kinds + near),
        record("SquashedNormal.LogProb", squashed_log, [(m, s, x) for m, s, x in ((p[0], p[1], q) for p in places[:12] for q in both(unit[5::7]))]),
        record("Laplace.LogProb", laplace_log, places), record("Laplace.KL", laplace_kl, kinds + near),
        record("Gumbel.LogProb", gumbel_log, places), record("Gumbel.KL", gumbel_kl, kinds + near),
        record("Logistic.LogProb", logistic_log, places),
        record("Bernoulli.LogProb", lambda l: -softplus(-l), logits), record("Bernoulli.Entropy", bernoulli_entropy, logits),
        record("Bernoulli.KL", bernoulli_kl, [(a, b) for a in logits for b in logits[::2]] + [(a, a * 1.0078125) for a in logits] +
               [(a, a * c) for a in (0.25, -1.5, 6.0) for c in close]),
        record("Categorical.Entropy", categorical_entropy, [tuple(map(float, R.choice(logits, 3))) for _ in range(100)]),
        record("Categorical.KL", categorical_kl, [tuple(map(float, R.choice(logits, 6))) for _ in range(150)] + near_logits),
        record("LgammaCorrection", lgamma_correction, [*wide, *middle, *close]),
        record("DigammaCorrection", lambda x: digamma(x) - mp.log(x), [*wide, *middle, *close]),
        record("GammaLogPDF", lambda a, x: gamma_log(a, 1, x), gammas[1::2]), record("BetaLogPDF", beta_log, betas[1::2]),
        record("Expm1Rest", lambda x: mp.expm1(x) - x, tails),
        record("Uniform.KL", uniform_kl, [(0.0, 1.0, -v, w) for v in (0.0, 0.25, *positive([-24, 3, 20])) for w in (1.0, 7.0, *close[:4])]),
    ]
    scales = [*positive(DOUBLE[1:-1]), *middle[::3], *close]
    ends = [(0.0, 1.0), *((-a, b) for a, b in pairs([-24, -4, 0, 3, 20], [-20, -4, 0, 5, 24])), *((1.0, v) for v in close[:4])]

    def vectors(kinds, n):
        """Random numbers: "+" of a positive one, "-" of one of any sign, "s" of one whose exponent is small."""
        e = {"+": HALF[:-2], "-": [-10, -4, -1, 0, 1, 3, 6, 10], "s": [-4, -2, -1, 0, 1, 2, 3, 4]}
        return [tuple(positive([R.choice(e[k])])[0] * (1.0 if k == "+" else float(R.choice([-1, 1]))) for k in kinds) for _ in range(n)]

    covariances = vectors("--+-+--", 150) + [(a, b, 2.0 ** k, 2.0 ** (k - 2), 2.0 ** k, a, b) for a, b in ((1.0, -3.0), (0.25, 2.0)) for k in (-60, -10, 0, 7, 60)]
    divergences = vectors("--+-+--+-+", 150) + [(1.0, b, c, d, c, 1.0, b, 1.0, d, 1.0) for b in (-3.0, 2.0) for d in (0.0, 0.5) for c in close]
    divergences += [(1.0, c, 2.0, 0.5, 1.0, 1.0, 1.0, 2.0, 0.5 * d, 1.0) for c, d in zip(close, reversed(close))]
    cases += [
        record("RandomGammaGrad", gamma_draw_slope, gammas), record("Normal.Entropy", lambda s: mp.log(2 * mp.pi * mp.e) / 2 + mp.log(s), scales),
        record("Laplace.Entropy", lambda s: 1 + mp.log(2 * s), scales), record("Gumbel.Entropy", lambda s: 1 + mp.euler + mp.log(s), scales),
        record("Logistic.Entropy", lambda s: 2 + mp.log(s), scales), record("Uniform.LogProb", lambda a, b: -mp.log(b - a), ends),
        record("Uniform.Entropy", lambda a, b: mp.log(b - a), ends),
        record("MultivariateNormal.LogProb", two_normal_log, covariances),
        record("MultivariateNormal.Entropy", lambda s, q: mp.log(2 * mp.pi * mp.e) + mp.log(s) + mp.log(q), pairs(FEW, FEW)),
        record("MultivariateNormal.KL", two_normal_kl, divergences),
        record("Mixture.LogProb", mixture_log, vectors("ss-+-+-", 200) + [(0.0, 0.0, a, s, -a, s, 0.0) for a, s in pairs([-4, 0, 3, 7], [-7, 0, 5])]),
    ]
    write(os.path.join(out, "mpmath_special.json.gz"), {"versions": versions_of("mpmath", "numpy"), "cases": cases})


main()
