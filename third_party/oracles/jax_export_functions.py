"""The public functions that jax_export.py exports, each once: NAME: (function, arguments)."""
import distrax
import equinox as eqx
import flax.linen as nn
import jax
import jax.numpy as jnp
import jax.scipy as jsp
import jax.scipy.optimize
import jax.scipy.sparse.linalg
import numpy as np
import optax
from jax import lax

RNG = np.random.default_rng(11)


def normal(*shape):
    return jnp.asarray(RNG.standard_normal(shape), jnp.float32)


def whole(*values):
    return jnp.asarray(values, jnp.int32)


X, Y, M, N = normal(5), normal(5), normal(3, 4), normal(3, 4)
P, Q = jnp.abs(X) + 0.3, jnp.abs(Y) + 0.4  # positive
U = jnp.asarray([0.1, 0.35, 0.5, 0.62, 0.97], jnp.float32)  # between 0 and 1
S = normal(3, 3)
D = S @ S.T + 2 * jnp.eye(3)  # positive definite
I, J = whole(3, 0, 2, 3, 1), whole(7, -3, 5, 2, 4)
Z = jnp.asarray([0.5, 2.0, 1.0, 3.0], jnp.float32)
ODD = jnp.asarray([1.5, np.nan, -2.0, np.inf, 0.0], jnp.float32)
KEY = jnp.asarray([1, 7], jnp.uint32)
IMAGE = normal(1, 6, 5, 2)

# Functions that take the arguments as they are.
PLAIN = [
    ("jax.numpy", jnp, [
        ("abs", X), ("arccos", U), ("arccosh", 1 + P), ("arcsin", U), ("arcsinh", X), ("arctan", X), ("arctan2", X, Y),
        ("arctanh", U), ("cbrt", X), ("ceil", X), ("copysign", X, Y), ("cos", X), ("cosh", X), ("deg2rad", X), ("divmod", J, whole(2)),
        ("exp", X), ("exp2", X), ("expm1", X), ("fabs", X), ("float_power", P, Y), ("floor_divide", J, whole(2)), ("fmod", X, Y),
        ("frexp", X), ("gcd", J, whole(6)), ("heaviside", X, Y), ("hypot", X, Y), ("i0", X), ("isclose", X, Y), ("lcm", J, whole(6)),
        ("ldexp", X, I), ("log", P), ("log10", P), ("log1p", P), ("log2", P), ("logaddexp", X, Y), ("logaddexp2", X, Y), ("mod", X, Q),
        ("modf", X), ("nan_to_num", ODD), ("nextafter", X, Y), ("power", P, Y), ("reciprocal", P), ("rint", X), ("sign", X),
        ("signbit", X), ("sin", X), ("sinc", X), ("sinh", X), ("spacing", X), ("sqrt", P), ("tan", X), ("tanh", X), ("trunc", X),
        ("unwrap", 4 * X), ("bitwise_count", J), ("packbits", whole(1, 0, 1, 1, 0, 0, 1, 1, 1)), ("unpackbits", jnp.asarray([3, 200], jnp.uint8)),
        ("amax", M, 1), ("argmax", M, 1), ("argmin", M, 0), ("all", I), ("any", I), ("average", M, 1), ("count_nonzero", I),
        ("cumprod", M, 1), ("cumsum", M, 0), ("median", M, 1), ("mean", M), ("nanargmax", ODD), ("nancumsum", ODD), ("nanmax", ODD),
        ("nanmean", ODD), ("nanmedian", M), ("nanstd", M), ("percentile", X, 30.0), ("prod", M, 1), ("ptp", M, 1), ("quantile", X, U),
        ("std", M, 1), ("sum", M, 1), ("trapezoid", X), ("var", M, 0),
        ("argpartition", X, 2), ("argsort", X), ("digitize", X, jnp.sort(Y)), ("interp", X, jnp.sort(Y), P), ("lexsort", (X, I)),
        ("partition", X, 2), ("searchsorted", jnp.sort(Y), X), ("sort", M, 0), ("histogram", X), ("isin", I, whole(1, 3)),
        ("append", X, Y), ("array_split", X, 2), ("block", [X, Y]), ("column_stack", [X, Y]), ("concatenate", [X, Y]), ("convolve", X, Z),
        ("corrcoef", M), ("correlate", X, Z), ("cov", M), ("cross", S, S[0]), ("delete", X, 1), ("diag", X), ("diagflat", X),
        ("diff", X), ("dot", M, Z), ("ediff1d", X), ("flip", M), ("fliplr", M), ("gradient", X), ("hstack", [X, Y]), ("inner", X, Y),
        ("insert", X, 1, 2.0), ("kron", X, Z), ("matmul", M, N.T), ("meshgrid", X, Z), ("moveaxis", M, 0, 1), ("outer", X, Z),
        ("pad", X, 2, "reflect"), ("poly", X), ("polyadd", X, Z), ("polyder", X), ("polyint", X), ("polymul", X, Z), ("polyval", Z, X),
        ("repeat", X, 2), ("resize", X, (3, 4)), ("roll", X, 2), ("rollaxis", M, 1), ("rot90", M), ("select", [X > 0, Y > 0], [X, Y]),
        ("swapaxes", M, 0, 1), ("take", X, I), ("take_along_axis", M, I[None, :1], 1), ("tensordot", M, N, 2), ("tile", X, 2),
        ("trace", S), ("tril", S), ("triu", S), ("vander", X), ("vdot", X, Y), ("vstack", [X, Y]), ("where", X > 0, X, Y),
    ]),
    ("jax.numpy.linalg", jnp.linalg, [
        ("cholesky", D), ("cond", D), ("det", S), ("eigvalsh", D), ("inv", S), ("lstsq", D, X[:3]), ("matrix_norm", M), ("matrix_power", S, 3),
        ("matrix_rank", D), ("multi_dot", [M, N.T, S]), ("norm", M), ("pinv", D), ("slogdet", S), ("solve", S, X[:3]), ("svdvals", M),
        ("tensorsolve", S, X[:3]), ("vector_norm", X),
    ]),
    ("jax.numpy.fft", jnp.fft, [("irfft", lax.complex(X, Y)), ("fftshift", X), ("hfft", lax.complex(X, Y)), ("fftfreq", 5)]),
    ("jax.lax", lax, [
        ("bessel_i0e", X), ("bessel_i1e", X), ("betainc", P, Q, U), ("bitcast_convert_type", X, jnp.uint8), ("clamp", -0.5, X, 0.5), ("clz", I),
        ("cumlogsumexp", X), ("cummax", X), ("cummin", X), ("digamma", P), ("erf_inv", U), ("erfc", X), ("igamma", P, Q), ("igammac", P, Q),
        ("igamma_grad_a", P, Q), ("integer_pow", X, 3), ("lgamma", P), ("logistic", X), ("nextafter", X, Y), ("polygamma", P + 1, Q),
        ("population_count", I), ("random_gamma_grad", P, Q), ("reduce_precision", X, 5, 4),
        ("rsqrt", P), ("sort_key_val", X, Y), ("square", X), ("top_k", X, 2), ("zeta", 1 + P, Q), ("approx_max_k", X, 2),
    ]),
    ("jax.nn", jax.nn, [
        ("celu", X), ("elu", X), ("gelu", X), ("glu", Z), ("hard_sigmoid", X), ("hard_silu", X), ("hard_tanh", X), ("leaky_relu", X), ("log_sigmoid", X),
        ("log_softmax", X), ("logsumexp", X), ("mish", X), ("one_hot", I, 4), ("relu", X), ("relu6", X), ("selu", X), ("silu", X), ("soft_sign", X),
        ("softmax", X), ("softplus", X), ("sparse_plus", X), ("squareplus", X), ("standardize", X),
        ("dot_product_attention", normal(1, 3, 2, 4), normal(1, 3, 2, 4), normal(1, 3, 2, 4)),
    ]),
    ("jax.scipy.special", jsp.special, [
        ("bernoulli", 4), ("betaln", P, Q), ("entr", P), ("erfcx", P), ("expi", P), ("exp1", P), ("expn", 2, P), ("gamma", P), ("gammasgn", X), ("i1", X),
        ("kl_div", P, Q), ("log_ndtr", X), ("logit", U), ("multigammaln", 2 + P, 2), ("ndtr", X), ("ndtri", U), ("poch", P, Q), ("rel_entr", P, Q),
        ("spence", P), ("xlog1py", X, P), ("xlogy", X, P), ("hyp1f1", P, Q + 1, X), ("sici", X), ("fresnel", X),
    ]),
    ("jax.scipy", jsp, [
        ("linalg.expm", S), ("linalg.lu", S), ("linalg.cho_solve", (D, True), X[:3]), ("linalg.solve_triangular", D, X[:3]), ("linalg.block_diag", S, D),
        ("linalg.toeplitz", X), ("signal.convolve2d", S, S), ("signal.detrend", X), ("signal.fftconvolve", X, Z),
        ("ndimage.map_coordinates", S, [U[:3], U[1:4]], 1),
        ("stats.beta.logpdf", U, P, Q), ("stats.gamma.logpdf", P, Q), ("stats.poisson.logpmf", I, P), ("stats.t.logpdf", X, P),
        ("stats.norm.logcdf", X), ("stats.rankdata", X), ("stats.mode", I), ("stats.truncnorm.logpdf", U, -1.0, 2.0),
    ]),
    ("jax.ops", jax.ops, [("segment_sum", X, I, 4), ("segment_max", X, I, 4), ("segment_min", X, I, 4), ("segment_prod", X, I, 4)]),
    ("optax", optax, [
        ("l2_loss", X, Y), ("huber_loss", X, Y), ("log_cosh", X, Y), ("cosine_distance", X, Y), ("hinge_loss", X, jnp.sign(Y)), ("sigmoid_binary_cross_entropy", X, U),
        ("sigmoid_focal_loss", X, U), ("softmax_cross_entropy", X, U), ("softmax_cross_entropy_with_integer_labels", M, I[:3]), ("kl_divergence", X, U),
        ("convex_kl_divergence", X, U), ("squared_error", X, Y), ("safe_norm", X, 0.1), ("safe_root_mean_squares", X, 0.1),
        ("global_norm", [X, Y]), ("ctc_loss", normal(2, 5, 4), jnp.zeros((2, 5)), whole(1, 2, 3, 1).reshape(2, 2), jnp.zeros((2, 2))),
    ]),
    ("optax.projections", optax.projections, [
        ("projection_simplex", X), ("projection_l1_ball", X, 1.0), ("projection_l2_ball", X, 1.0), ("projection_box", X, -0.5, 0.5), ("projection_non_negative", X),
    ]),
    ("optax.losses", optax.losses, [
        ("ranking_softmax_loss", X, U), ("ntxent", M, I[:3]), ("perceptron_loss", X, jnp.sign(Y)), ("sparsemax_loss", X, jnp.asarray(1.0)),
        ("multiclass_hinge_loss", M, I[:3]), ("dice_loss", X, U), ("triplet_margin_loss", M, N, M * N),
    ]),
]

# Functions that need a line.
LINES = {
    "jax.numpy.unique": (lambda x: jnp.unique(x, size=4), I),
    "jax.numpy.nonzero": (lambda x: jnp.nonzero(x, size=4), I),
    "jax.numpy.bincount": (lambda x: jnp.bincount(x, length=4), I),
    "jax.numpy.intersect1d": (lambda x, y: jnp.intersect1d(x, y, size=3), I, J),
    "jax.numpy.union1d": (lambda x, y: jnp.union1d(x, y, size=6), I, J),
    "jax.numpy.setdiff1d": (lambda x, y: jnp.setdiff1d(x, y, size=3), I, J),
    "jax.numpy.compress": (lambda c, x: jnp.compress(c, x, size=3), X > 0, Y),
    "jax.numpy.einsum": (lambda x, y: jnp.einsum("ij,kj->ik", x, y), M, N),
    "jax.numpy.linspace": (lambda x: jnp.linspace(x[0], x[1], 5), X),
    "jax.numpy.geomspace": (lambda x: jnp.geomspace(x[0], x[1], 5), P),
    "jax.numpy.piecewise": (lambda x: jnp.piecewise(x, [x < 0], [jnp.sin, jnp.cos]), X),
    "jax.numpy.put_along_axis": (lambda x, i, y: jnp.put_along_axis(x, i, y, 1, inplace=False), M, I[:3, None] % 4, N[:, :1]),
    "jax.numpy.fft.fft": (lambda x: (jnp.fft.fft(x).real, jnp.fft.fft(x).imag), X),
    "jax.numpy.fft.rfft2": (lambda x: jnp.abs(jnp.fft.rfft2(x)), M),
    "jax.numpy.at.set": (lambda x, y: x.at[whole(1, -2)].set(y[:2]), X, Y),
    "jax.numpy.at.add": (lambda x, y: x.at[whole(1, 1, 3)].add(y[:3]), X, Y),
    "jax.numpy.at.multiply": (lambda x, y: x.at[whole(1, 1, 3)].multiply(y[:3]), X, Y),
    "jax.numpy.at.max": (lambda x, y: x.at[whole(1, 1, 3)].max(y[:3]), X, Y),
    "jax.numpy.at.apply": (lambda x: x.at[1:3].apply(jnp.sin), X),
    "jax.numpy.linalg.qr": (lambda x: jnp.linalg.qr(x), M.T),
    "jax.numpy.linalg.eigh": (lambda x: jnp.abs(jnp.linalg.eigh(x)[1]), D),
    "jax.numpy.linalg.svd": (lambda x: jnp.linalg.svd(x, full_matrices=False)[1], M),
    "jax.numpy.linalg.eigvals": (lambda x: jnp.sort(jnp.abs(jnp.linalg.eigvals(x))), S),
    "jax.lax.scan": (lambda x, y: lax.scan(lambda c, t: (jnp.tanh(c * t), c), x[0], y), X, Y),
    "jax.lax.while_loop": (lambda x: lax.while_loop(lambda c: jnp.sum(c) < 40, lambda c: c * 1.5 + 1, x), P),
    "jax.lax.fori_loop": (lambda x: lax.fori_loop(0, 4, lambda i, c: jnp.sin(c) + i, x), X),
    "jax.lax.cond": (lambda x: lax.cond(x[0] > 0, jnp.sin, jnp.cos, x), X),
    "jax.lax.switch": (lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, jnp.exp], x), jnp.int32(1), X),
    "jax.lax.map": (lambda x: lax.map(jnp.cumsum, x), M),
    "jax.lax.associative_scan": (lambda x: lax.associative_scan(jnp.multiply, x), X),
    "jax.lax.reduce": (lambda x, y: lax.reduce((x, y), (0.0, 1.0), lambda a, b: (a[0] + b[0], a[1] * b[1]), (0,)), X, Y),
    "jax.lax.reduce_window": (lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (1, 2), "SAME"), M),
    "jax.lax.reduce_and": (lambda x: jnp.bitwise_and.reduce(x), I),
    "jax.lax.reduce_xor": (lambda x: lax.reduce(x, jnp.int32(0), lax.bitwise_xor, (0,)), J),
    "jax.lax.conv_general_dilated": (lambda x, k: lax.conv_general_dilated(
        x, k, (2, 1), ((1, 0), (0, 2)), (1, 2), (2, 1), dimension_numbers=("NHWC", "WHIO", "NHWC")), IMAGE, normal(3, 2, 2, 3)),
    "jax.lax.conv_transpose": (lambda x, k: lax.conv_transpose(x, k, (2, 2), "SAME"), IMAGE, normal(3, 3, 2, 3)),
    "jax.lax.dot_general": (lambda x, y: lax.dot_general(x, y, (((1,), (1,)), ((), ()))), M, N),
    "jax.lax.dynamic_slice": (lambda x, i: lax.dynamic_slice(x, (i[0], i[1]), (2, 2)), M, I),
    "jax.lax.dynamic_update_slice": (lambda x, y, i: lax.dynamic_update_slice(x, y[:2, :2], (i[0], i[1])), M, N, I),
    "jax.lax.rng_bit_generator": (lambda k: lax.rng_bit_generator(k, (7,)), jnp.asarray([1, 2, 3, 4], jnp.uint32)),
    "jax.lax.custom_root": (lambda x: lax.custom_root(lambda z: z ** 3 - x, x, lambda f, z: lax.fori_loop(
        0, 30, lambda _, z: z - f(z) / (3 * z * z), z), lambda g, y: y / g(jnp.ones_like(y))), P[0]),
    "jax.lax.custom_linear_solve": (lambda a, b: lax.custom_linear_solve(
        lambda v: a @ v, b, lambda _, b: jnp.linalg.solve(a, b), symmetric=True), D, X[:3]),
    "jax.lax.linalg.tridiagonal_solve": (lambda x: lax.linalg.tridiagonal_solve(x / 9, x + 3, x / 8, x[:, None]), P),
    "jax.lax.linalg.triangular_solve": (lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True), D, M),
    "jax.checkpoint": (jax.checkpoint(lambda x: jnp.sin(jnp.sin(x))), X),
    "jax.image.resize": (lambda x: jax.image.resize(x, (5, 6), "bilinear"), M),
    "jax.scipy.special.sph_harm_y": (lambda x: jsp.special.sph_harm_y(whole(1), whole(1), x[:1], x[1:2], n_max=2).real, U),
    "jax.scipy.stats.multivariate_normal.logpdf": (lambda x, m, c: jsp.stats.multivariate_normal.logpdf(x, m, c), X[:3], Y[:3], D),
    "jax.scipy.optimize.minimize": (lambda x: jsp.optimize.minimize(lambda z: jnp.sum((z - 1) ** 2), x, method="BFGS").x, X),
    "jax.scipy.sparse.linalg.cg": (lambda a, b: jsp.sparse.linalg.cg(a, b)[0], D, X[:3]),
    "jax.scipy.sparse.linalg.gmres": (lambda a, b: jsp.sparse.linalg.gmres(a, b)[0], D, X[:3]),
}


def line(name, f, *args):
    LINES[name] = (f, *args)


for kind, f in {
    "ball": lambda k: jax.random.ball(k, 3), "bernoulli": lambda k: jax.random.bernoulli(k, 0.3, (5,)),
    "beta": lambda k: jax.random.beta(k, 2.0, 3.0, (3,)), "binomial": lambda k: jax.random.binomial(k, 10, 0.3, (3,)),
    "bits": lambda k: jax.random.bits(k, (5,), "uint8"), "categorical": lambda k: jax.random.categorical(k, X), "cauchy": lambda k: jax.random.cauchy(k, (4,)),
    "choice": lambda k: jax.random.choice(k, 6, (3,), replace=False), "dirichlet": lambda k: jax.random.dirichlet(k, P), "exponential": lambda k: jax.random.exponential(k, (4,)),
    "gamma": lambda k: jax.random.gamma(k, P), "geometric": lambda k: jax.random.geometric(k, 0.3, (4,)), "gumbel": lambda k: jax.random.gumbel(k, (4,)),
    "laplace": lambda k: jax.random.laplace(k, (4,)), "logistic": lambda k: jax.random.logistic(k, (4,)),
    "multivariate_normal": lambda k: jax.random.multivariate_normal(k, X[:3], D), "normal": lambda k: jax.random.normal(k, (4,)),
    "orthogonal": lambda k: jax.random.orthogonal(k, 3), "pareto": lambda k: jax.random.pareto(k, 2.0, (4,)), "permutation": lambda k: jax.random.permutation(k, 6),
    "poisson": lambda k: jax.random.poisson(k, 3.0, (4,)), "rademacher": lambda k: jax.random.rademacher(k, (4,)), "randint": lambda k: jax.random.randint(k, (4,), 0, 9),
    "t": lambda k: jax.random.t(k, 3.0, (4,)), "triangular": lambda k: jax.random.triangular(k, 0.0, 0.3, 1.0, (4,)),
    "truncated_normal": lambda k: jax.random.truncated_normal(k, -1.0, 2.0, (4,)), "uniform": lambda k: jax.random.uniform(k, (4,)),
    "wald": lambda k: jax.random.wald(k, 1.0, (4,)), "weibull_min": lambda k: jax.random.weibull_min(k, 1.0, 2.0, (4,)),
}.items():
    line("jax.random." + kind, f, KEY)
for kind in ["rbg", "unsafe_rbg"]:
    line(f"jax.random.key({kind})", lambda k, kind=kind: jax.random.uniform(jax.random.split(jax.random.wrap_key_data(k, impl=kind))[1], (6,)),
         jnp.asarray([1, 2, 3, 4], jnp.uint32))

for name, module, args in [
    ("Dense", nn.Dense(3), (M,)), ("DenseGeneral", nn.DenseGeneral((2, 3)), (M,)), ("Einsum", nn.Einsum((4, 2), "ij,jk->ik"), (M,)),
    ("Conv", nn.Conv(3, (3, 2), strides=(2, 1)), (IMAGE,)), ("ConvTranspose", nn.ConvTranspose(3, (2, 2), strides=(2, 1)), (IMAGE,)),
    ("ConvLocal", nn.ConvLocal(2, (2, 2)), (IMAGE,)), ("BatchNorm", nn.BatchNorm(use_running_average=True), (M,)), ("LayerNorm", nn.LayerNorm(), (M,)),
    ("RMSNorm", nn.RMSNorm(), (M,)), ("GroupNorm", nn.GroupNorm(2), (M,)), ("InstanceNorm", nn.InstanceNorm(), (IMAGE,)), ("Embed", nn.Embed(4, 3), (I,)),
    ("PReLU", nn.PReLU(), (M,)), ("MultiHeadDotProductAttention", nn.MultiHeadDotProductAttention(2), (normal(1, 3, 4),)), ("RNN", nn.RNN(nn.LSTMCell(3)), (normal(2, 4, 3),)),
    ("Bidirectional", nn.Bidirectional(nn.RNN(nn.GRUCell(2)), nn.RNN(nn.GRUCell(2))), (normal(1, 3, 2),)), ("WeightNorm", nn.WeightNorm(nn.Dense(3)), (M,)),
]:
    params = module.init(jax.random.key(3), *args)
    line("flax.linen." + name, lambda p, *a, module=module: module.apply(p, *a), params, *args)
for name, cell in [("LSTMCell", nn.LSTMCell(3)), ("GRUCell", nn.GRUCell(3)), ("MGUCell", nn.MGUCell(3)), ("SimpleCell", nn.SimpleCell(3)),
                   ("OptimizedLSTMCell", nn.OptimizedLSTMCell(3))]:
    carry = cell.initialize_carry(jax.random.key(1), (4,))
    line("flax.linen." + name, cell.apply, cell.init(jax.random.key(2), carry, Z), carry, Z)
line("flax.linen.Dropout", lambda k, x: nn.Dropout(0.4, deterministic=False).apply({}, x, rngs={"dropout": k}), KEY, X)
line("flax.linen.max_pool", lambda x: nn.max_pool(x, (2, 2), (2, 1)), IMAGE)
line("flax.linen.avg_pool", lambda x: nn.avg_pool(x, (2, 2), (2, 1), "SAME"), IMAGE)
line("flax.linen.BatchNorm(train)", lambda x: nn.BatchNorm(use_running_average=False).init_with_output(jax.random.key(0), x)[0], M)

for name in ["adabelief", "adadelta", "adafactor", "adagrad", "adam", "adamax", "adamw", "adan", "amsgrad", "fromage", "lamb", "lars", "lion", "nadam",
             "noisy_sgd", "novograd", "optimistic_gradient_descent", "radam", "rmsprop", "rprop", "sgd", "sign_sgd", "sm3", "yogi", "lbfgs", "muon"]:
    f = getattr(optax, name, None) or getattr(optax.contrib, name)
    args = () if name in ("lbfgs",) else (0.1,)
    if name == "noisy_sgd":
        args = (0.1, 0.01, 0.55, 0)
    opt = f(*args)

    def steps(p, g, opt=opt, name=name):
        state = opt.init(p)
        for _ in range(2):
            extra = dict(value=jnp.sum(p["w"]), grad=g, value_fn=lambda q: jnp.sum(q["w"] ** 2) + jnp.sum(q["b"])) if name == "lbfgs" else {}
            u, state = opt.update(g, state, p, **extra)
            p = optax.apply_updates(p, u)
        return p

    line("optax." + name, steps, {"w": M, "b": X}, {"w": N, "b": Y})
for name, f in {
    "cosine_decay_schedule": optax.cosine_decay_schedule(0.1, 9), "exponential_decay": optax.exponential_decay(0.1, 3, 0.5),
    "piecewise_constant_schedule": optax.piecewise_constant_schedule(0.1, {2: 0.5}), "polynomial_schedule": optax.polynomial_schedule(1.0, 0.1, 2, 9),
    "warmup_cosine_decay_schedule": optax.warmup_cosine_decay_schedule(0.0, 1.0, 2, 9), "sgdr_schedule": optax.sgdr_schedule(
        [dict(init_value=0.0, peak_value=1.0, decay_steps=4, warmup_steps=1, end_value=0.1)] * 2),
    "linear_onecycle_schedule": optax.linear_onecycle_schedule(9, 1.0), "join_schedules": optax.join_schedules([lambda t: t * 0.1, lambda t: 1.0], [2]),
}.items():
    line("optax." + name, f, jnp.int32(3))
for name, f in {"clip_by_global_norm": optax.clip_by_global_norm(0.5), "adaptive_grad_clip": optax.adaptive_grad_clip(0.1), "centralize": optax.centralize(),
                "clip_by_block_rms": optax.clip_by_block_rms(0.3), "add_noise": optax.add_noise(0.1, 0.5, 3), "zero_nans": optax.zero_nans(),
                "normalize_by_update_norm": optax.normalize_by_update_norm(), "scale_by_trust_ratio": optax.scale_by_trust_ratio()}.items():
    line("optax." + name, lambda g, p, f=f: f.update(g, f.init(p), p)[0], {"w": M}, {"w": N})

for name, d in {
    "Normal": lambda: distrax.Normal(X, P), "LogStddevNormal": lambda: distrax.LogStddevNormal(X, Y), "MultivariateNormalDiag": lambda: distrax.MultivariateNormalDiag(X, P),
    "MultivariateNormalTri": lambda: distrax.MultivariateNormalTri(X[:3], jnp.tril(D)), "Laplace": lambda: distrax.Laplace(X, P), "Logistic": lambda: distrax.Logistic(X, P),
    "Gumbel": lambda: distrax.Gumbel(X, P), "Uniform": lambda: distrax.Uniform(X, X + P), "Gamma": lambda: distrax.Gamma(P, Q), "Beta": lambda: distrax.Beta(P, Q),
    "Dirichlet": lambda: distrax.Dirichlet(P), "VonMises": lambda: distrax.VonMises(X, P), "Bernoulli": lambda: distrax.Bernoulli(X), "Categorical": lambda: distrax.Categorical(M),
    "OneHotCategorical": lambda: distrax.OneHotCategorical(M), "Multinomial": lambda: distrax.Multinomial(logits=X, total_count=4), "EpsilonGreedy": lambda: distrax.EpsilonGreedy(X, 0.1),
    "Softmax": lambda: distrax.Softmax(X, 0.5), "Greedy": lambda: distrax.Greedy(X), "MixtureSameFamily": lambda: distrax.MixtureSameFamily(
        distrax.Categorical(X), distrax.Normal(X, P)), "Independent": lambda: distrax.Independent(distrax.Normal(M, 1 + M * M)),
}.items():
    line("distrax." + name, lambda k, d=d: (lambda s: (s, d().log_prob(s)))(d().sample(seed=k)), KEY)
for name, b in {"Tanh": lambda: distrax.Tanh(), "Sigmoid": lambda: distrax.Sigmoid(), "RationalQuadraticSpline": lambda: distrax.RationalQuadraticSpline(
        jnp.broadcast_to(jnp.linspace(-1, 1, 10), (5, 10)), -2.0, 2.0), "LowerUpperTriangularAffine": lambda: distrax.LowerUpperTriangularAffine(D, X[:3])}.items():
    line("distrax." + name, lambda x, b=b: b().forward_and_log_det(x), X[:3] if name.startswith("Lower") else X)

K = jax.random.key(5)
for name, module, args in [
    ("Linear", eqx.nn.Linear(4, 3, key=K), (Z,)), ("MLP", eqx.nn.MLP(4, 2, 5, 2, key=K), (Z,)), ("Conv1d", eqx.nn.Conv1d(3, 2, 2, key=K), (M,)),
    ("Conv2d", eqx.nn.Conv2d(2, 3, 2, stride=2, key=K), (normal(2, 5, 4),)), ("ConvTranspose2d", eqx.nn.ConvTranspose2d(2, 3, 2, stride=2, key=K), (normal(2, 3, 4),)),
    ("LayerNorm", eqx.nn.LayerNorm(4), (Z,)), ("GroupNorm", eqx.nn.GroupNorm(2, 4), (Z,)), ("RMSNorm", eqx.nn.RMSNorm(4), (Z,)), ("Embedding", eqx.nn.Embedding(4, 3, key=K), (I[0],)),
    ("MultiheadAttention", eqx.nn.MultiheadAttention(2, 4, key=K), (M, M, M)), ("RotaryPositionalEmbedding", eqx.nn.RotaryPositionalEmbedding(4), (M,)),
    ("MaxPool2d", eqx.nn.MaxPool2d(2, 2), (normal(2, 5, 4),)), ("AvgPool2d", eqx.nn.AvgPool2d(2, 2), (normal(2, 5, 4),)), ("AdaptiveAvgPool1d", eqx.nn.AdaptiveAvgPool1d(2), (M,)),
    ("AdaptiveMaxPool2d", eqx.nn.AdaptiveMaxPool2d(2), (normal(2, 5, 4),)), ("PReLU", eqx.nn.PReLU(), (X,)), ("LSTMCell", eqx.nn.LSTMCell(4, 3, key=K), (Z, (X[:3], Y[:3]))),
    ("GRUCell", eqx.nn.GRUCell(4, 3, key=K), (Z, X[:3])),
]:
    arrays, rest = eqx.partition(module, eqx.is_array)
    line("equinox.nn." + name, lambda p, *a, rest=rest: eqx.combine(p, rest)(*a), arrays, *args)


def functions():
    """All of them as (name, function, arguments); arguments that are no arrays are part of the function."""
    for room, module, names in PLAIN:
        for name, *args in names:
            f = module
            for part in name.split("."):
                f = getattr(f, part)
            leaves, tree = jax.tree.flatten(args)
            places = [i for i, x in enumerate(leaves) if isinstance(x, jax.Array)]

            def call(free, f=f, leaves=leaves, tree=tree, places=places):
                all = list(leaves)
                for i, x in zip(places, free):
                    all[i] = x
                return f(*jax.tree.unflatten(tree, all))

            yield f"{room}.{name}", call, ([leaves[i] for i in places],)
    for name, (f, *args) in LINES.items():
        yield name, f, args
