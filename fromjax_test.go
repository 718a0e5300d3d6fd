package xlarun_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/distribution"
	"xlarun/graph/fft"
	"xlarun/graph/linalg"
	"xlarun/graph/nn"
	"xlarun/graph/optim"
	"xlarun/graph/random"
	"xlarun/graph/signal"
	"xlarun/graph/special"
	"xlarun/graph/stats"
	"xlarun/third_party/oracles"
	"xlarun/xlabridge"
)

var update = flag.Bool("update", false, "write the pages of docs/reference")

// counterpart is a line of docs/reference/from-jax.md. The compiler checks our names, a list of the packages' names
// theirs.
type counterpart struct {
	jax  string // names, divided by spaces; in the section's module unless they begin with one
	ours any    // a function, or a value of a type
	note string // what differs
}

type section struct {
	title, module string
	rows          []counterpart
}

type array = *graph.Array

// Functions of one type parameter stand with one that fits.
var fromJAX = []section{
	{"Transforms", "jax", []counterpart{
		{"jit", xlabridge.Jit[array, array],
			"Jit2 for two arguments, a struct for more; the first argument is the client, " +
				"donation an option"},
		{"vmap", graph.VMap[array, array],
			"VMap2 for two arguments, a struct for more; options InAxes, InAxesAt (single " +
				"leaves), OutAxis, AxisName, AxisSize, BatchLast"},
		{"grad", graph.Grad[array], "by the one argument, a tree; Grad2 by the first of two"},
		{"grad", graph.Grads2[array, array], "argnums: by two arguments, by more it is Grad of a struct; what is " +
			"dropped costs nothing"},
		{"grad", graph.GradWhere[array], "by some leaves only; ValueAndGradWhere too"},
		{"value_and_grad", graph.ValueAndGrad[array], "ValueAndGrad2; has_aux is ValueAndGradAux"},
		{"jvp", graph.Jvp[array, array], ""},
		{"vjp", graph.Vjp[array, array], ""},
		{"linearize", graph.Linearize[array, array], ""},
		{"jacfwd", graph.JacFwd, "of one array; JacFwdTree of trees"},
		{"jacrev", graph.JacRev, "of one array; JacRevTree of trees"},
		{"hessian", graph.Hessian, "of one array; HessianTree of trees"},
		{"checkpoint", graph.Checkpoint[array, array], ""},
		{"custom_jvp", graph.CustomJvp[array, array], ""},
		{"custom_vjp", graph.CustomVjp[array, array, array], ""},
		{"jax.lax.stop_gradient", graph.StopGradient[array], ""},
		{"shard_map", xlabridge.ShardMap[array, array], "graph.ShardMap is the same on one device, open to every " +
			"transform"},
		{"eval_shape", graph.EvalShape[array], "of a function without arguments, which takes them from around it"},
		{"jax.debug.print", graph.Debugf, "fmt's verbs; on the CPU and the interpreter; in a Cond that VMap maps, " +
			"for both branches"},
		{"jax.debug.callback", graph.Callback, "by the name given to RegisterCallback"},
		{"jax.pure_callback", graph.HostCall, "by the name given to RegisterHostFunction; one call for all " +
			"lanes of VMap; EachLane is vmap_method=\"sequential\""},
		{"linear_transpose", graph.LinearTranspose[array, array], ""},
		{"jax.tree.map", graph.MapTree[array], "MapTree2 for two trees"},
		{"jax.tree.flatten", graph.Flatten, "trees are Go structs, slices, maps"},
		{"jax.flatten_util.ravel_pytree", graph.Ravel[array], ""},
		{"jax.tree.leaves", graph.Leaves, ""},
		{"device_put", xlabridge.Put[array], ""},
		{"device_get", xlabridge.ToHost, ""},
	}},
	{"Control flow", "jax.lax", []counterpart{
		{"scan", graph.Scan[array, array, array], "options Length, ReverseScan, Unroll"},
		{"map", graph.Map[array, array], ""},
		{"associative_scan", graph.AssociativeScan[array], "f maps single elements, axis 0; Reversed"},
		{"fori_loop", graph.ForiLoop[array], ""},
		{"while_loop", graph.While[array], "forward mode only, as in JAX"},
		{"while_loop", graph.WhileBounded[array], "at most so many iterations, with reverse mode"},
		{"cond", graph.Cond[array], "branches are closures without arguments"},
		{"switch", graph.Switch[array], "a negative index takes the first branch"},
		{"optimization_barrier", graph.Barrier, ""},
	}},
	{"Collectives", "jax.lax", []counterpart{
		{"psum", graph.PSum, ""}, {"pmean", graph.PMean, ""}, {"pmax", graph.PMax, ""}, {"pmin", graph.PMin, ""},
		{"all_gather", graph.AllGather, ""}, {"all_gather", graph.AllGatherTiled, "tiled=True"},
		{"ppermute", graph.PPermute, ""},
		{"all_to_all", graph.AllToAll, ""}, {"all_to_all", graph.AllToAllTiled, "tiled=True"},
		{"psum_scatter", graph.PSumScatter, ""}, {"psum_scatter", graph.PSumScatterTiled, "tiled=True"},
		{"axis_index", graph.AxisIndex, ""},
	}},
	{"Making arrays", "jax.numpy", []counterpart{
		{"array asarray", graph.Of, "of Go values; Float32s, Int32s, Uint32s of slices"},
		{"zeros", graph.Zeros, "of a shape: graph.ShapeOf(graph.Float32, 2, 3)"}, {"ones", graph.Ones, ""},
		{"full", graph.Full, ""},
		{"zeros_like", graph.ZerosLike, ""}, {"ones_like", graph.OnesLike, ""}, {"full_like", graph.FullLike, ""},
		{"arange", graph.Iota, "int32"}, {"jax.lax.broadcasted_iota", graph.IotaAxis, ""},
		{"jax.lax.broadcast_in_dim", graph.BroadcastInDim, ""},
		{"arange", graph.Arange, "with start, stop and step: Go numbers"}, {"linspace", graph.Linspace, ""},
		{"logspace", graph.Logspace, ""}, {"geomspace", graph.Geomspace, ""}, {"vander", signal.Vander, ""},
		{"tril_indices", graph.TrilIndices, ""}, {"triu_indices", graph.TriuIndices, ""},
		{"jax.scipy.linalg.toeplitz", linalg.Toeplitz, "of vectors"},
		{"jax.scipy.linalg.block_diag", linalg.BlockDiag, ""}, {"eye identity", graph.Eye, ""},
		{"jax.nn.one_hot", graph.OneHot, ""}, {"tril", graph.Tril, ""}, {"triu", graph.Triu, ""},
		{"meshgrid", graph.Meshgrid, ""}, {"meshgrid", graph.MeshgridIJ, "indexing=\"ij\""},
	}},
	{"Elementwise", "jax.numpy", []counterpart{
		{"add", graph.Add, "operands of all functions of two are arrays or Go numbers"}, {"subtract", graph.Sub, ""},
		{"multiply", graph.Mul, ""},
		{"divide true_divide", graph.Div, "integers give float32"}, {"floor_divide", graph.FloorDiv, ""},
		{"jax.lax.div", graph.Quo, "of integers, toward zero"},
		{"remainder mod", graph.Mod, "an integer by 0 gives itself, not 0"},
		{"fmod", graph.Rem, "an integer by 0 gives itself, not 0"},
		{"power float_power", graph.Pow, "slope 0 at (0, 0), not NaN"},
		{"maximum", graph.Max, ""}, {"minimum", graph.Min, ""},
		{"logaddexp", graph.LogAddExp, ""}, {"arctan2", graph.Atan2, ""}, {"nextafter", graph.NextAfter, ""},
		{"hypot", graph.Hypot, ""}, {"copysign", graph.CopySign, ""}, {"signbit", graph.SignBit, ""},
		{"heaviside", graph.Heaviside, ""}, {"fmax", graph.FMax, ""}, {"fmin", graph.FMin, ""},
		{"logaddexp2", graph.LogAddExp2, ""}, {"divmod", graph.DivMod, ""}, {"modf", graph.Modf, ""},
		{"degrees", graph.Degrees, ""}, {"radians", graph.Radians, ""}, {"sinc", graph.Sinc, ""},
		{"bitwise_and", graph.And, ""}, {"bitwise_or", graph.Or, ""}, {"logical_and", graph.LogicalAnd, ""},
		{"logical_or", graph.LogicalOr, ""}, {"logical_xor", graph.LogicalXor, ""},
		{"logical_not", graph.LogicalNot, ""},
		{"bitwise_xor", graph.Xor, ""},
		{"bitwise_not invert", graph.Not, ""}, {"left_shift", graph.ShiftLeft, ""}, {"jax.lax.shift_right_logical",
			graph.ShiftRightLogical, ""},
		{"jax.lax.shift_right_arithmetic right_shift bitwise_right_shift", graph.ShiftRightArithmetic,
			"of unsigned numbers ShiftRightLogical"},
		{"exp", graph.Exp, ""}, {"exp2", graph.Exp2, ""}, {"expm1", graph.Expm1, ""}, {"log", graph.Log, ""},
		{"log1p", graph.Log1p, ""}, {"log2", graph.Log2, ""},
		{"log10", graph.Log10, ""}, {"sin", graph.Sin, ""}, {"cos", graph.Cos, ""}, {"tan", graph.Tan, ""},
		{"arcsin", graph.Asin, ""}, {"arccos", graph.Acos, ""},
		{"arctan", graph.Atan, ""}, {"sinh", graph.Sinh, ""}, {"cosh", graph.Cosh, ""}, {"tanh", graph.Tanh, ""},
		{"arcsinh", graph.Asinh, ""},
		{"arccosh", graph.Acosh, ""}, {"arctanh", graph.Atanh, ""}, {"sqrt", graph.Sqrt, ""},
		{"jax.lax.rsqrt", graph.Rsqrt, ""}, {"cbrt", graph.Cbrt, ""},
		{"square", graph.Square, ""}, {"reciprocal", graph.Reciprocal, ""}, {"negative", graph.Neg, ""},
		{"abs absolute", graph.Abs, "slope 0 at 0, not 1, and NaN at NaN, not -1"}, {"sign", graph.Sign, ""},
		{"floor", graph.Floor, "integers give float32"}, {"ceil", graph.Ceil, "integers give float32"},
		{"trunc", graph.Trunc, "integers give float32"},
		{"round rint", graph.Round, "halves to even; integers give float32"},
		{"jax.lax.round", graph.RoundAway, "halves away from zero, jax.lax's default"},
		{"isnan", graph.IsNaN, ""}, {"isinf", graph.IsInf, ""}, {"isfinite", graph.IsFinite, ""},
		{"nan_to_num", graph.NanToNum, ""},
		{"isclose", graph.IsClose, "tolerances are given"}, {"allclose", graph.AllClose, "tolerances are given"},
		{"equal", graph.Eq, ""}, {"not_equal", graph.Ne, ""}, {"less", graph.Lt, ""}, {"less_equal", graph.Le, ""},
		{"greater", graph.Gt, ""},
		{"greater_equal", graph.Ge, ""}, {"where", graph.Where, ""},
		{"clip", graph.Clamp, "(lo, x, hi); slope 1 at a bound and at NaN, not 0.5 and 0"},
		{"jax.Array.astype", graph.Convert, ""}, {"promote_types", graph.Promote, "with 64-bit types"},
		{"finfo", graph.Finfo, "eps, tiny, max and nmant"},
		{"jax.lax.bitcast_convert_type", graph.Bitcast, ""},
		{"jax.lax.population_count bitwise_count", graph.PopCount, ""}, {"jax.lax.clz", graph.CountLeadingZeros, ""},
		{"jax.scipy.special.erf", graph.Erf, ""}, {"jax.scipy.special.erfc", graph.Erfc, ""},
		{"jax.scipy.special.erfinv", graph.ErfInv, ""},
		{"jax.scipy.special.gammaln", graph.Lgamma, ""}, {"jax.scipy.special.digamma", graph.Digamma, ""},
		{"jax.scipy.special.expit", graph.Logistic, ""},
		{"jax.scipy.special.xlogy", special.XLogY, "at x = 0 the slopes are 0 where log(y) is not finite, not what " +
			"log(y) and 0/y give"}, {"jax.scipy.special.xlog1py", special.XLog1pY, "the same with log(1 + y)"},
		{"jax.scipy.special.ndtr", special.Ndtr, ""}, {"jax.scipy.special.log_ndtr", special.LogNdtr, ""},
		{"jax.scipy.special.ndtri", special.Ndtri, ""}, {"jax.scipy.special.logit", special.Logit, ""},
		{"jax.scipy.special.entr", special.Entr, ""},
		{"jax.scipy.special.rel_entr", special.RelEntr, "no number at NaN, not infinity"},
		{"jax.scipy.special.kl_div", special.KLDiv, "the same"}, {"jax.scipy.special.betaln", special.BetaLn, ""},
		{"jax.scipy.special.betainc", special.BetaInc, "with derivatives by all three"},
		{"jax.scipy.special.gammainc", special.GammaInc, ""}, {"jax.scipy.special.gammaincc", special.GammaIncC, ""},
		{"jax.lax.random_gamma_grad", special.RandomGammaGrad, ""},
		{"jax.scipy.special.zeta", special.Zeta, "of positive q; with derivatives"},
		{"jax.scipy.special.polygamma", special.Polygamma, "n is a Go int"},
	}},
	{"Reductions", "jax.numpy", []counterpart{
		{"sum", graph.Sum, "axes are the last arguments, none: all"}, {"prod", graph.Prod, ""},
		{"max amax", graph.ReduceMax, ""}, {"min amin", graph.ReduceMin, ""},
		{"mean", graph.Mean, ""}, {"var", graph.Variance, ""}, {"std", graph.Std, ""},
		{"sum", graph.Reduction{}, "keepdims, where and ddof are fields; methods for sum, mean, var and the others"},
		{"average", stats.Average, ""}, {"ptp", stats.Range, ""}, {"count_nonzero", stats.CountNonzero, ""},
		{"cov", stats.Cov, "ddof is given"}, {"corrcoef", stats.CorrCoef, ""}, {"trapezoid", signal.Trapezoid, ""},
		{"interp", signal.Interp, ""}, {"gradient", signal.Gradient, "along one axis"}, {"unwrap", signal.Unwrap, ""},
		{"polyval", signal.PolyVal, ""}, {"polyfit", signal.PolyFit, "coefficients only"},
		{"all", graph.All, ""},
		{"any", graph.Any, ""},
		{"argmax", graph.ArgMax, "int32"}, {"argmin", graph.ArgMin, "int32"}, {"median", stats.Median, ""},
		{"quantile", stats.Quantile, ""},
		{"percentile", stats.Percentile, ""}, {"jax.scipy.special.logsumexp", graph.LogSumExp, ""},
		{"nansum", stats.NanSum, ""}, {"nanprod", stats.NanProd, ""}, {"nanmax", stats.NanMax, ""},
		{"nanmin", stats.NanMin, ""}, {"nanmean", stats.NanMean, ""},
		{"nanvar", stats.NanVariance, ""}, {"nanstd", stats.NanStd, ""}, {"nanquantile", stats.NanQuantile, ""},
		{"nanmedian", stats.NanMedian, ""},
		{"nanargmax", stats.NanArgMax, "0 where all are NaN"}, {"nanargmin", stats.NanArgMin, "0 where all are NaN"},
		{"cumsum", graph.CumSum, "option Reversed"}, {"cumprod", graph.CumProd, ""}, {"jax.lax.cummax", graph.CumMax,
			"the latest of equal elements has the slope; JAX divides it"},
		{"jax.lax.cummin", graph.CumMin, "the same"},
		{"jax.lax.cumlogsumexp", graph.CumLogSumExp, ""}, {"diff", graph.Diff, ""},
		{"trace", linalg.Trace, "of the last two axes"},
		{"jax.ops.segment_sum", graph.SegmentSum, ""}, {"jax.ops.segment_max", graph.SegmentMax, ""},
		{"jax.ops.segment_min", graph.SegmentMin, ""},
		{"jax.ops.segment_prod", graph.SegmentProd, "with derivatives"},
		{"bincount", stats.Bincount, "negative numbers are dropped, not counted as 0"}, {"histogram", stats.Histogram,
			"int32; HistogramOf takes edges and weights"},
		{"digitize", stats.Digitize, "ascending edges"},
	}},
	{"Shapes and places", "jax.numpy", []counterpart{
		{"reshape", graph.Reshape, ""}, {"ravel", graph.Flatten1D, ""}, {"transpose permute_dims", graph.Transpose, ""},
		{"matrix_transpose", graph.MatrixTranspose, ""},
		{"moveaxis", graph.MoveAxis, ""}, {"expand_dims", graph.ExpandDims, ""}, {"squeeze", graph.Squeeze, ""},
		{"broadcast_to", graph.BroadcastTo, ""},
		{"concatenate", graph.Concatenate, "(axis, arrays…)"}, {"stack", graph.Stack, ""}, {"split", graph.Split, ""},
		{"unstack", graph.Unstack, ""},
		{"pad", graph.Pad, "by a value"}, {"jax.lax.pad", graph.PadConfig, ""}, {"tile", graph.Tile, ""},
		{"repeat", graph.Repeat, ""}, {"roll", graph.Roll, ""},
		{"flip", graph.Reverse, ""}, {"jax.lax.slice", graph.StridedSlice, "Slice without strides"},
		{"jax.lax.slice_in_dim", graph.SliceAxis, ""},
		{"jax.lax.index_in_dim", graph.IndexAxis, "Index along axis 0"}, {"jax.lax.dynamic_slice", graph.DynamicSlice,
			"negative starts move to 0"},
		{"jax.lax.dynamic_index_in_dim", graph.DynamicIndex, "a negative index moves to 0"},
		{"jax.lax.dynamic_update_slice", graph.DynamicUpdateSlice, "negative starts move to 0"},
		{"jax.lax.dynamic_update_index_in_dim", graph.DynamicUpdateIndex, "a negative index moves to 0"},
		{"take", graph.Take, "out of range: moved into it, as x[i] does; negative: from the end in every mode but " +
			"WrapIndex (mode=\"clip\" of JAX makes them 0); modes ClipIndex, FillOrDrop, WrapIndex"},
		{"take_along_axis", graph.TakeAlongAxis, ""},
		{"jax.lax.gather", graph.Gather, ""}, {"jax.lax.scatter", graph.Scatter, ""},
		{"jax.Array.at.set", graph.ScatterSet, "x.at[i].set(u) along axis 0"},
		{"jax.Array.at.add", graph.ScatterAdd, ""}, {"jax.Array.at.max", graph.ScatterMax, ""},
		{"jax.Array.at.min", graph.ScatterMin, ""},
		{"jax.Array.at.multiply", graph.ScatterMul, ""},
		{"diag", graph.Diag, "of a vector"}, {"diagonal", graph.Diagonal, ""}, {"sort", graph.Sort, ""},
		{"argsort", graph.ArgSort, "int32"},
		{"jax.lax.sort", graph.SortKV, ""},
		{"jax.lax.top_k", graph.TopK, "NaN of either sign comes first, -0 equals 0"},
		{"searchsorted", graph.SearchSorted, "int32"},
		{"unique", graph.Unique, "of a given size"}, {"nonzero", graph.Nonzero, "of a given size"},
		{"unravel_index", graph.UnravelIndex, ""}, {"ravel_multi_index", graph.RavelMultiIndex, "mode=\"clip\""},
		{"swapaxes", graph.SwapAxes, ""}, {"rot90", graph.Rot90, "of the first two axes"}, {"isin", graph.IsIn, ""},
	}},
	{"Products and linear algebra", "jax.numpy", []counterpart{
		{"dot", graph.Dot, ""}, {"matmul", graph.MatMul, ""}, {"jax.lax.dot_general", graph.DotGeneral, ""},
		{"einsum", graph.Einsum, ""},
		{"tensordot", graph.Tensordot, ""}, {"outer", graph.Outer, ""}, {"kron", graph.Kron, ""},
		{"convolve", signal.Convolve, ""}, {"correlate", signal.Correlate, ""},
		{"jax.lax.conv_general_dilated", graph.Conv, ""}, {"jax.lax.reduce_window", graph.ReduceWindow, ""},
		{"linalg.cholesky", linalg.Cholesky, "leading axes are matrices"}, {"linalg.eigh", linalg.Eigh, ""},
		{"linalg.eig", linalg.Eig, "real and imaginary parts, order and phases fixed"},
		{"linalg.eigvals", linalg.EigVals, "real and imaginary parts"},
		{"linalg.qr", linalg.QR, ""}, {"linalg.svd", linalg.SVD, ""},
		{"linalg.solve", linalg.Solve, ""}, {"linalg.inv", linalg.Inv, ""},
		{"linalg.pinv", linalg.Pinv, ""}, {"linalg.matrix_rank", linalg.MatrixRank, ""},
		{"linalg.cond", linalg.Cond, "2-norm"}, {"linalg.matrix_power", linalg.MatrixPower, ""},
		{"linalg.multi_dot", linalg.MultiDot, ""}, {"linalg.vector_norm", linalg.VectorNorm, "along an axis"},
		{"cross", linalg.Cross, "along the last axis"}, {"linalg.det", linalg.Det, ""},
		{"linalg.slogdet", linalg.SlogDet, ""},
		{"linalg.lstsq", linalg.Lstsq, ""}, {"linalg.norm", linalg.MatrixNorm, "of a matrix"},
		{"jax.lax.linalg.lu", linalg.LU, ""},
		{"jax.lax.linalg.triangular_solve", linalg.TriangularSolve, ""}, {"jax.scipy.linalg.cho_solve",
			linalg.CholeskySolve, ""}, {"jax.scipy.linalg.expm", linalg.Expm, ""},
	}},
	{"Complex numbers and Fourier transforms", "jax.numpy", []counterpart{
		{"jax.lax.complex", graph.Complex, "complex64; there is no complex128"},
		{"array asarray", graph.Complex64s, "of complex Go numbers; Complexes reads them"},
		{"real", graph.Real, ""}, {"imag", graph.Imag, ""}, {"conj conjugate", graph.Conj, ""},
		{"angle", graph.Angle, ""}, {"isreal", graph.IsReal, ""}, {"iscomplex", graph.IsComplex, ""},
		{"vdot", graph.Vdot, ""},
		{"jax.grad", graph.GradHolomorphic[array], "holomorphic=True; Grad is for real results"},
		{"fft.fft fft.fft2 fft.fftn jax.lax.fft", fft.FFT, "over the axes given, the last if none is; " +
			"Fourier has lengths and norms"},
		{"fft.ifft fft.ifft2 fft.ifftn", fft.IFFT, "likewise, as all of these"},
		{"fft.rfft fft.rfft2 fft.rfftn", fft.RFFT, ""}, {"fft.irfft fft.irfft2 fft.irfftn", fft.IRFFT, ""},
		{"fft.hfft", fft.HFFT, ""}, {"fft.ihfft", fft.IHFFT, ""},
		{"fft.fftfreq", fft.FFTFreq, ""}, {"fft.rfftfreq", fft.RFFTFreq, ""},
		{"fft.fftshift", fft.FFTShift, ""}, {"fft.ifftshift", fft.IFFTShift, ""},
		{"jax.scipy.signal.fftconvolve", signal.FFTConvolve, ""},
	}},
	{"Random numbers", "jax.random", []counterpart{
		{"key PRNGKey", random.New, ""}, {"split", random.Split, "Split2 and SplitN give separate keys"},
		{"fold_in", random.FoldIn, ""}, {"clone", random.Clone, ""},
		{"jax.debug_key_reuse", random.CheckKeys, "of what a function calls; its errors name both places"},
		{"bits", random.Bits, ""},
		{"uniform", random.Uniform, ""}, {"normal", random.Normal, ""}, {"truncated_normal", random.TruncatedNormal,
			"other draws far out, such as between 5 and 6, where those of JAX take few values and the bound"},
		{"randint", random.Randint, ""},
		{"bernoulli", random.Bernoulli, ""}, {"categorical", random.Categorical, "option Draws"},
		{"gumbel", random.Gumbel, ""}, {"exponential", random.Exponential, ""},
		{"laplace", random.Laplace, ""}, {"gamma", random.Gamma, ""}, {"loggamma", random.LogGamma, ""},
		{"beta", random.Beta, ""}, {"dirichlet", random.Dirichlet, ""},
		{"poisson", random.Poisson, ""}, {"multivariate_normal", random.MultivariateNormal, ""},
		{"permutation", random.Permutation, "PermutationOf an array; Shuffle: independent"},
		{"choice", random.Choice, "ChoiceOf an array"},
		{"binomial", random.Binomial, ""}, {"multinomial", random.Multinomial, ""},
		{"geometric", random.Geometric, ""}, {"rademacher", random.Rademacher, ""}, {"cauchy", random.Cauchy, ""},
		{"logistic", random.Logistic, ""}, {"lognormal", random.LogNormal, ""}, {"pareto", random.Pareto, ""},
		{"rayleigh", random.Rayleigh, ""}, {"weibull_min", random.WeibullMin, ""},
		{"triangular", random.Triangular, ""}, {"wald", random.Wald, ""},
		{"generalized_normal", random.GeneralizedNormal, "p is a Go number"}, {"ball", random.Ball, "the same"},
		{"maxwell", random.Maxwell, ""}, {"double_sided_maxwell", random.DoubleSidedMaxwell, ""},
		{"orthogonal", random.Orthogonal, ""}, {"chisquare", random.Chisquare, ""}, {"f", random.F, ""},
		{"t", random.T, "MultivariateT too"},
	}},
	{"Distributions", "distrax", []counterpart{
		{"Distribution", (*distribution.Distribution)(nil), ""}, {"Normal", distribution.NewNormal, ""},
		{"Laplace", distribution.NewLaplace, ""},
		{"Categorical", distribution.NewCategorical, "CategoricalOf probabilities"},
		{"Bernoulli", distribution.NewBernoulli, "BernoulliOf a probability"},
		{"Gamma", distribution.NewGamma, ""}, {"Beta", distribution.NewBeta, ""},
		{"Dirichlet", distribution.NewDirichlet, ""},
		{"MultivariateNormalFullCovariance", distribution.NewMultivariateNormal,
			"MultivariateNormalTri is the struct itself"},
		{"Transformed Tanh", distribution.NewSquashedNormal, "tanh of a normal variable"},
		{"Transformed", distribution.NewTransformed[distribution.Normal, distribution.Steps],
			"of elementwise functions"},
		{"Uniform", distribution.NewUniform, ""}, {"Gumbel", distribution.NewGumbel, ""},
		{"Logistic", distribution.NewLogistic, ""},
		{"MultivariateNormalDiag", distribution.NewMultivariateNormalDiag, ""},
		{"MultivariateNormalTri", distribution.MultivariateNormal{}, "the struct itself"},
		{"OneHotCategorical", distribution.NewOneHotCategorical, ""},
		{"MixtureSameFamily", distribution.NewMixture[distribution.Normal], "without entropy and divergence"},
		{"Independent", distribution.NewIndependent[distribution.Normal], ""},
		{"mc_estimate_kl", distribution.Divergence, "leaves out the last bijectors that both have"},
		{"Bijector", (*distribution.Bijector)(nil), "of single numbers"},
		{"ScalarAffine", distribution.NewAffine, ""}, {"Sigmoid", distribution.Sigmoid{}, ""},
		{"Tanh", distribution.Tanh{}, ""}, {"Lambda", distribution.Exp{}, "of jnp.exp"},
		{"Chain", distribution.Steps(nil), "the first one first"}, {"Inverse", distribution.Inverted{}, ""},
	}},
	{"Layers", "flax.linen", []counterpart{
		{"Module", (*nn.Layer)(nil), "a layer is a struct of its parameters; no function knows a batch axis"},
		{"Dense", nn.NewDense, ""}, {"Conv", nn.NewConv, ""}, {"ConvTranspose", nn.NewConvTranspose, ""},
		{"Embed", nn.NewEmbedding, ""}, {"LayerNorm", nn.NewLayerNorm, ""},
		{"RMSNorm", nn.NewRMSNorm, ""}, {"GroupNorm", nn.NewGroupNorm, ""}, {"BatchNorm", nn.NewBatchNorm,
			"running averages are a value of their own"},
		{"Dropout", nn.Dropout, ""}, {"GRUCell", nn.NewGRU, ""}, {"LSTMCell OptimizedLSTMCell", nn.NewLSTM, ""},
		{"SimpleCell", nn.NewRNN, ""},
		{"MultiHeadDotProductAttention", nn.NewMultiHeadAttention, ""},
		{"dot_product_attention", nn.DotProductAttention, ""}, {"make_causal_mask", nn.CausalMask, ""},
		{"max_pool", nn.MaxPool, ""}, {"avg_pool", nn.AvgPool, ""}, {"Sequential", nn.Sequential(nil), ""},
		{"tabulate", nn.Summary, ""},
		{"Bidirectional", nn.Bidirectional[array, nn.RNN]{}, ""}, {"ConvLSTMCell", nn.NewConvLSTM, ""},
		{"SpectralNorm", nn.SpectralNorm, "of weights; the vector is a value of its own"},
		{"WeightNorm", nn.WeightNorm, "of weights"},
		{"SelfAttention MultiHeadAttention", nn.NewMultiHeadAttention,
			"with rotary positions and a cache of steps too"},
		{"jax.nn.relu", nn.Relu, "slope 1 at NaN, not 0"}, {"jax.nn.relu6", nn.Relu6, ""},
		{"jax.nn.leaky_relu", nn.LeakyRelu, ""}, {"jax.nn.elu", nn.Elu, ""}, {"jax.nn.selu", nn.Selu, ""},
		{"jax.nn.gelu", nn.GeluTanh, "Gelu is approximate=False"}, {"jax.nn.silu jax.nn.swish", nn.Silu, ""},
		{"jax.nn.sigmoid", nn.Sigmoid, ""},
		{"jax.nn.log_sigmoid", nn.LogSigmoid, ""}, {"jax.nn.softplus", nn.Softplus, ""},
		{"jax.nn.soft_sign", nn.Softsign, ""}, {"jax.nn.hard_tanh", nn.HardTanh, ""},
		{"jax.nn.hard_sigmoid", nn.HardSigmoid, ""}, {"jax.nn.hard_swish jax.nn.hard_silu", nn.HardSwish, ""},
		{"jax.nn.mish", nn.Mish, ""}, {"jax.nn.glu", nn.GLU, ""},
		{"jax.nn.softmax", graph.Softmax, ""}, {"jax.nn.log_softmax", graph.LogSoftmax, ""},
		{"jax.nn.initializers.variance_scaling", nn.VarianceScaling, ""}, {"jax.nn.initializers.orthogonal",
			nn.Orthogonal, ""},
		{"jax.nn.initializers.lecun_uniform", nn.LecunUniform, ""},
		{"jax.nn.initializers.he_uniform", nn.HeUniform, ""},
		{"jax.nn.initializers.glorot_uniform", nn.XavierUniform, ""},
		{"jax.nn.initializers.constant", nn.Constant, ""}, {"jax.nn.initializers.normal", nn.Normal, ""},
		{"jax.nn.initializers.uniform", nn.Uniform, ""}, {"jax.nn.initializers.ones", nn.Ones, ""},
		{"jax.nn.initializers.zeros", nn.Zeros, ""}, {"jax.nn.initializers.truncated_normal", nn.TruncatedNormal, ""},
		{"jax.nn.initializers.lecun_normal", nn.LecunNormal, ""}, {"jax.nn.initializers.he_normal", nn.HeNormal, ""},
		{"jax.nn.initializers.glorot_normal", nn.XavierNormal, ""},
		{"optax.squared_error", nn.MSE, "the mean"}, {"optax.huber_loss", nn.Huber, "the mean"},
		{"optax.softmax_cross_entropy_with_integer_labels", nn.CrossEntropy, ""}, {"optax.softmax_cross_entropy",
			nn.CrossEntropyOneHot, ""},
		{"optax.sigmoid_binary_cross_entropy", nn.BinaryCrossEntropy, "the mean"},
		{"optax.cosine_distance", nn.CosineDistance, ""},
		{"optax.kl_divergence", nn.KLDivergence, ""}, {"optax.sigmoid_focal_loss", nn.Focal, "the mean"},
		{"optax.hinge_loss", nn.Hinge, "the mean"}, {"optax.log_cosh", nn.LogCosh, "the mean"},
		{"optax.smooth_labels", nn.SmoothLabels, ""}, {"optax.ctc_loss", nn.CTC, "of one example"},
		{"optax.losses.ntxent", nn.NTXent, ""}, {"optax.losses.triplet_margin_loss", nn.TripletMargin, ""},
	}},
	{"Optimizers", "optax", []counterpart{
		{"GradientTransformation", (*optim.Transform)(nil), ""}, {"sgd", optim.SGD, ""}, {"adam", optim.Adam, ""},
		{"adamw", optim.AdamW, ""}, {"radam", optim.RAdam, ""}, {"rmsprop", optim.RMSProp, ""},
		{"lion", optim.Lion, ""}, {"contrib.muon", optim.Muon, ""}, {"contrib.scale_by_muon", optim.ScaleByMuon, ""},
		{"adagrad", optim.Adagrad, ""}, {"scale_by_rss", optim.ScaleByRSS, ""}, {"adadelta", optim.Adadelta, ""},
		{"scale_by_adadelta", optim.ScaleByAdadelta, ""}, {"amsgrad", optim.AMSGrad, ""},
		{"scale_by_amsgrad", optim.ScaleByAMSGrad, ""}, {"nadam", optim.NAdam, ""}, {"nadamw", optim.NAdamW, ""},
		{"adamax adamaxw", optim.Adamax, "option WeightDecay"}, {"scale_by_adamax", optim.ScaleByAdamax, ""},
		{"adabelief", optim.AdaBelief, ""}, {"scale_by_belief", optim.ScaleByBelief, ""}, {"yogi", optim.Yogi, ""},
		{"scale_by_yogi", optim.ScaleByYogi, ""}, {"lamb", optim.LAMB, ""}, {"lars", optim.LARS, ""},
		{"scale_by_trust_ratio", optim.ScaleByTrustRatio, ""}, {"sign_sgd", optim.SignSGD, ""},
		{"signum", optim.Signum, ""}, {"scale_by_sign", optim.ScaleBySign, ""},
		{"lookahead", optim.Lookahead, "slow parameters are in the state"}, {"adafactor", optim.Adafactor, ""},
		{"scale_by_factored_rms", optim.ScaleByFactoredRMS, ""}, {"clip_by_block_rms", optim.ClipByBlockRMS, ""},
		{"scale_by_param_block_rms", optim.ScaleByParamBlockRMS, ""},
		{"adaptive_grad_clip", optim.AdaptiveGradClip, ""}, {"contrib.prodigy", optim.Prodigy, ""},
		{"contrib.schedule_free", optim.ScheduleFree, ""},
		{"contrib.schedule_free_eval_params", optim.ScheduleFreeParams[array], ""},
		{"contrib.reduce_on_plateau", optim.ReduceOnPlateau, "SetLoss gives it the loss"},
		{"partition", optim.Partition, ""}, {"scale_by_radam", optim.ScaleByRAdam, ""},
		{"chain", optim.Chain, ""}, {"masked", optim.Masked, ""},
		{"apply_updates", optim.ApplyUpdates[array], "Step does update and apply"}, {"scale", optim.Scale, ""},
		{"scale_by_adam", optim.ScaleByAdam, ""},
		{"scale_by_rms", optim.ScaleByRMS, ""}, {"scale_by_lion", optim.ScaleByLion, ""},
		{"scale_by_schedule", optim.ScaleBySchedule, ""},
		{"scale_by_learning_rate", optim.ScaleByLearningRate, ""}, {"trace", optim.Trace, ""},
		{"add_decayed_weights", optim.AddDecayedWeights, ""},
		{"clip", optim.Clip, ""}, {"clip_by_global_norm", optim.ClipByGlobalNorm, ""}, {"global_norm", optim.GlobalNorm,
			""}, {"zero_nans", optim.ZeroNaNs, ""}, {"flatten", optim.Flattened, ""},
		{"apply_if_finite", optim.ApplyIfFinite, ""}, {"MultiSteps", optim.MultiSteps, ""}, {"ema", optim.EMA, ""},
		{"incremental_update", optim.IncrementalUpdate[array], ""},
		{"inject_hyperparams", optim.InjectHyperparams[array], ""}, {"stateless", optim.Stateless, ""},
		{"constant_schedule", optim.Constant, ""}, {"linear_schedule", optim.Linear, ""},
		{"polynomial_schedule", optim.Polynomial, ""},
		{"cosine_decay_schedule", optim.Cosine, ""}, {"exponential_decay", optim.Exponential, ""},
		{"piecewise_constant_schedule", optim.PiecewiseConstant, ""},
		{"join_schedules", optim.Join, ""}, {"warmup_cosine_decay_schedule", optim.WarmupCosine, ""},
		{"cosine_onecycle_schedule", optim.CosineOneCycle, ""},
		{"linear_onecycle_schedule", optim.LinearOneCycle, ""},
	}},
}

// elsewhere is what no counterpart is meant for.
type elsewhere struct {
	counterpart
	module, instead string
}

var notHere = []elsewhere{
	{counterpart{jax: "array_repr array_str get_printoptions set_printoptions printoptions load save savez fromfile " +
		"fromiter fromstring frombuffer from_dlpack frompyfunc can_cast isdtype issubdtype result_type " +
		"iscomplexobj isrealobj isscalar iterable einsum_path ndim shape size copy"}, "jax.numpy",
		"fmt, package safetensors, and the methods of graph.Array"},
	{counterpart{jax: "append column_stack dstack hstack vstack block"}, "jax.numpy", "graph.Concatenate, graph.Stack"},
	{counterpart{jax: "array_split dsplit hsplit vsplit"}, "jax.numpy", "graph.SplitAxis, graph.SliceAxis"},
	{counterpart{jax: "atleast_1d atleast_2d atleast_3d rollaxis fliplr flipud empty empty_like broadcast_arrays " +
		"broadcast_shapes positive astype"}, "jax.numpy",
		"graph.ExpandDims, MoveAxis, Reverse, Zeros, BroadcastTo, Convert"},
	{counterpart{jax: "inner vecdot matvec vecmat"}, "jax.numpy",
		"graph.Dot, graph.Einsum; Conj where numbers are complex"},
	{counterpart{jax: "select piecewise choose isposinf isneginf array_equal array_equiv"}, "jax.numpy",
		"graph.Select, Switch, Eq, All"},
	{counterpart{jax: "vectorize apply_along_axis apply_over_axes"}, "jax.numpy", "graph.VMap"},
	{counterpart{jax: "convert_element_type dynamic_slice_in_dim dynamic_update_slice_in_dim select_n sort_key_val " +
		"collapse reduce_xor conv conv_with_general_padding scatter_add scatter_max scatter_min scatter_mul"},
		"jax.lax",
		"graph.Convert, DynamicSlice, Select, SortKV, MergeAxes, ReduceXor, Conv, Scatter"},
	{counterpart{jax: "key_data key_impl key_dtype wrap_key_data"}, "jax.random", "the field Data of random.Key"},
	{counterpart{jax: "all flatten_with_path leaves_with_path map_with_path reduce structure unflatten"}, "jax.tree",
		"graph.Flatten, and the methods of graph.Tree"},
	{counterpart{jax: "apply init init_with_output compact nowrap jit jvp vjp grad value_and_grad vmap scan cond " +
		"switch while_loop checkpoint custom_vjp map_variables named_call"}, "flax.linen",
		"layers are structs of their parameters: the functions of package graph"},
}

// jaxNames is docs/testdata/jax_names.json.gz; third_party/oracles/jax_names.py says what it holds.
type jaxNames struct {
	Versions  map[string]string
	Names     []string
	Functions []string // each the names of one function, divided by spaces
}

// theirs are the full names of a row's functions.
func (r counterpart) theirs(module string) []string {
	out := strings.Fields(r.jax)
	for i, n := range out {
		if !slices.ContainsFunc([]string{"jax.", "flax.", "optax.", "distrax."}, func(p string) bool {
			return strings.HasPrefix(n, p)
		}) {
			out[i] = module + "." + n
		}
	}
	return out
}

// missing returns the functions that have no row: by module, the first name of each in the module's order. It
// removes those that the table notHere names, and requires that each name there is one of a function without a row.
func (names jaxNames) missing(t *testing.T) (modules []string, functions map[string][]string) {
	here := map[string]bool{}
	for _, s := range fromJAX {
		for _, r := range s.rows {
			for _, n := range r.theirs(s.module) {
				here[n] = true
			}
		}
	}
	left := map[string]bool{}
	for _, why := range notHere {
		for _, n := range why.theirs(why.module) {
			left[n] = true
		}
	}
	functions = map[string][]string{}
	for _, f := range names.Functions {
		spellings := strings.Fields(f)
		if slices.ContainsFunc(spellings, func(n string) bool { return here[n] }) {
			continue
		}
		skip := false
		for _, n := range spellings {
			skip = skip || left[n]
			delete(left, n)
		}
		if skip {
			continue
		}
		dot := strings.LastIndexByte(spellings[0], '.')
		module := spellings[0][:dot]
		if functions[module] == nil {
			modules = append(modules, module)
		}
		functions[module] = append(functions[module], spellings[0][dot+1:])
	}
	require.Empty(t, left, "notHere names functions that have a row, or that their packages do not have")
	return modules, functions
}

// declared is an exported function or type: its package's folder, its name, how it is written.
type declared struct{ folder, name, text string }

// declarations reads what a folder's package declares.
func declarations(t *testing.T, folder string) map[string]declared {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	require.NoError(t, err)
	out := map[string]declared{}
	set := token.NewFileSet()
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, f, nil, 0)
		require.NoError(t, err)
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil && d.Name.IsExported() {
					out[d.Name.Name] = declared{folder, d.Name.Name, signature(t, set, d)}
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if ts, ok := s.(*ast.TypeSpec); ok && ts.Name.IsExported() {
						out[ts.Name.Name] = declared{folder, ts.Name.Name, "type " + ts.Name.Name}
					}
					if vs, ok := s.(*ast.ValueSpec); ok {
						for _, n := range vs.Names {
							out[n.Name] = declared{folder, n.Name, n.Name}
						}
					}
				}
			}
		}
	}
	return out
}

func signature(t *testing.T, set *token.FileSet, d *ast.FuncDecl) string {
	var b bytes.Buffer
	require.NoError(t, printer.Fprint(&b, set, &ast.FuncDecl{Name: d.Name, Type: d.Type}))
	return strings.Join(strings.Fields(strings.TrimPrefix(b.String(), "func ")), " ")
}

// symbol gives the folder and the name of a function, or of a value's type.
func symbol(t *testing.T, ours any) (folder, name string) {
	typ := reflect.TypeOf(ours)
	full := typ.String()
	path := typ.PkgPath()
	switch {
	case typ.Kind() == reflect.Func && typ.Name() == "":
		full, _, _ = strings.Cut(runtime.FuncForPC(reflect.ValueOf(ours).Pointer()).Name(), "[")
		dot := strings.LastIndexByte(full, '.')
		path = full[:dot]
	case typ.Kind() == reflect.Pointer:
		path, full = typ.Elem().PkgPath(), typ.Elem().String()
	}
	full, _, _ = strings.Cut(full, "[") // type parameters
	folder, ok := strings.CutPrefix(path, "xlarun/")
	require.True(t, ok, "%s is not of this module", full)
	return folder, full[strings.LastIndexByte(full, '.')+1:]
}

// TestFromJAX compares docs/reference/from-jax.md with the table above: `go test . -run FromJAX -update` writes it. Our
// functions are shown as they are declared. Theirs must be names that their packages have.
func TestFromJAX(t *testing.T) {
	var names jaxNames
	require.NoError(t, oracles.Read("docs/testdata/jax_names.json.gz", &names))
	known := map[string]bool{}
	for _, n := range names.Names {
		known[n] = true
	}
	packages := map[string]map[string]declared{}
	var page strings.Builder
	fmt.Fprintf(&page, `# From JAX

What of JAX %s, flax %s, optax %s and distrax %s has a counterpart here.
`+"`go test . -run FromJAX -update` writes this page from the table in `fromjax_test.go`."+`
Signatures come from the code. Names on the left are checked against the packages.

- Functions see one member: there is no batch axis but the one that VMap adds.
- Shapes are values: `+"`graph.ShapeOf(graph.Float32, 2, 3)`"+`.
- int32 and float32 are the defaults. 64-bit types are always there.
- Axes and other numbers that JAX takes by keyword are arguments, or options: functions that end in Option.
- Outside of compiled programs, graph.Eval computes with the interpreter, op by op. On CPUs compiled programs
  treat denormals as 0, as JAX's do. The interpreter does not.
- A value that is compared with copies of itself is computed once: `+"`p[None] == p[:, None]`"+` is true on its
  diagonal, and ranks, ties and the best so far are right. In JAX the compiler may round the copies differently.
- Errors name the line of the program that made the mistake. What JAX would refuse to convert or broadcast is refused
  here too.
`, names.Versions["jax"], names.Versions["flax"], names.Versions["optax"], names.Versions["distrax"])
	seen := map[string]bool{}
	for _, s := range fromJAX {
		fmt.Fprintf(&page, "\n## %s\n\n| JAX | xlarun | differences |\n| --- | --- | --- |\n", s.title)
		for _, r := range s.rows {
			var theirs []string
			for _, n := range r.theirs(s.module) {
				require.True(t, known[n], "%s: no such name", n)
				theirs = append(theirs, "`"+n+"`")
			}
			folder, name := symbol(t, r.ours)
			if packages[folder] == nil {
				packages[folder] = declarations(t, folder)
			}
			d, ok := packages[folder][name]
			require.True(t, ok, "%s.%s is not declared in %s", folder, name, folder)
			line := strings.Join(theirs, ", ") + folder + name
			require.False(t, seen[line], "%s stands twice", line)
			seen[line] = true
			for _, word := range strings.FieldsFunc(r.note, func(c rune) bool {
				return strings.ContainsRune(" ,;:.()", c)
			}) {
				if len(word) > 3 && word[0] >= 'A' && word[0] <= 'Z' && word != "MultivariateNormalTri" {
					_, exists := packages[folder][word]
					require.True(t, exists, "the note of %s names %s, which %s does not have", line, word, folder)
				}
			}
			text := filepath.Base(folder) + "." + strings.ReplaceAll(d.text, "|", "\\|")
			if strings.HasPrefix(d.text, "type ") {
				text = "type " + filepath.Base(folder) + "." + name
			}
			fmt.Fprintf(&page, "| %s | `%s` | %s |\n", strings.Join(theirs, ", "), text, r.note)
		}
	}
	page.WriteString("\n## What is missing\n\nThese functions have no counterpart yet. A function that has " +
		"several names stands under one.\n\n| module | functions |\n| --- | --- |\n")
	modules, functions := names.missing(t)
	for _, m := range modules {
		fmt.Fprintf(&page, "| `%s` | %s |\n", m, strings.Join(functions[m], ", "))
	}
	page.WriteString("\n## What a Go program does not need\n\n| functions | instead |\n| --- | --- |\n")
	for _, why := range notHere {
		fmt.Fprintf(&page, "| %s of `%s` | %s |\n", strings.Join(strings.Fields(why.jax), ", "), why.module,
			why.instead)
	}
	const file = "docs/reference/from-jax.md"
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(page.String()), 0o644))
	}
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, page.String(), string(got), "run `go test . -run FromJAX -update`")
}
