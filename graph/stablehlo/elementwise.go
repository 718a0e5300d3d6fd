package stablehlo

import "xlarun/graph"

// elementwiseOp is an op whose results depend on its operands alone.
type elementwiseOp struct {
	operands int
	apply    func(x []*graph.Array) *graph.Array
}

func unary(f func(x any) *graph.Array) elementwiseOp {
	return elementwiseOp{1, func(x []*graph.Array) *graph.Array { return f(x[0]) }}
}

func pairwise(f func(x, y any) *graph.Array) elementwiseOp {
	return elementwiseOp{2, func(x []*graph.Array) *graph.Array { return f(x[0], x[1]) }}
}

// elementwise are the elementwise ops by name. chlo is the dialect of composed functions.
var elementwise = map[string]elementwiseOp{
	"stablehlo.abs": unary(graph.Abs), "stablehlo.cbrt": unary(graph.Cbrt), "stablehlo.ceil": unary(graph.Ceil),
	"stablehlo.count_leading_zeros": unary(graph.CountLeadingZeros), "stablehlo.cosine": unary(graph.Cos),
	"stablehlo.exponential": unary(graph.Exp), "stablehlo.exponential_minus_one": unary(graph.Expm1),
	"stablehlo.floor": unary(graph.Floor), "stablehlo.is_finite": unary(graph.IsFinite),
	"stablehlo.real": unary(graph.Real), "stablehlo.imag": unary(graph.Imag),
	"stablehlo.log": unary(graph.Log), "stablehlo.log_plus_one": unary(graph.Log1p),
	"stablehlo.logistic": unary(graph.Logistic), "stablehlo.negate": unary(graph.Neg),
	"stablehlo.not": unary(graph.Not), "stablehlo.popcnt": unary(graph.PopCount),
	"stablehlo.round_nearest_even": unary(graph.Round), "stablehlo.round_nearest_afz": unary(graph.RoundAway),
	"stablehlo.rsqrt": unary(graph.Rsqrt), "stablehlo.sign": unary(graph.Sign), "stablehlo.sine": unary(graph.Sin),
	"stablehlo.sqrt": unary(graph.Sqrt), "stablehlo.tan": unary(graph.Tan), "stablehlo.tanh": unary(graph.Tanh),

	"chlo.next_after":   pairwise(graph.NextAfter),
	"stablehlo.complex": pairwise(graph.Complex),
	"stablehlo.add":     pairwise(graph.Add), "stablehlo.and": pairwise(graph.And),
	"stablehlo.atan2":   pairwise(graph.Atan2),
	"stablehlo.maximum": pairwise(graph.Max), "stablehlo.minimum": pairwise(graph.Min),
	"stablehlo.multiply": pairwise(graph.Mul), "stablehlo.or": pairwise(graph.Or),
	"stablehlo.power": pairwise(graph.Pow), "stablehlo.remainder": pairwise(graph.Rem),
	"stablehlo.shift_left":             pairwise(graph.ShiftLeft),
	"stablehlo.shift_right_arithmetic": pairwise(graph.ShiftRightArithmetic),
	"stablehlo.shift_right_logical":    pairwise(graph.ShiftRightLogical),
	"stablehlo.subtract":               pairwise(graph.Sub), "stablehlo.xor": pairwise(graph.Xor),
	"stablehlo.divide": {2, func(x []*graph.Array) *graph.Array {
		if x[0].DType().IsFloat() || x[0].DType() == graph.Complex64 {
			return x[0].Div(x[1])
		}
		return graph.Quo(x[0], x[1])
	}},
	"stablehlo.clamp": {3, func(x []*graph.Array) *graph.Array { return graph.Clamp(x[0], x[1], x[2]) }},

	"chlo.acos": unary(graph.Acos), "chlo.acosh": unary(graph.Acosh), "chlo.asin": unary(graph.Asin),
	"chlo.asinh": unary(graph.Asinh), "chlo.atan": unary(graph.Atan), "chlo.atanh": unary(graph.Atanh),
	"chlo.cosh": unary(graph.Cosh), "chlo.digamma": unary(graph.Digamma), "chlo.erf": unary(graph.Erf),
	"chlo.erfc": unary(graph.Erfc), "chlo.erf_inv": unary(graph.ErfInv), "chlo.lgamma": unary(graph.Lgamma),
	"chlo.sinh": unary(graph.Sinh), "chlo.square": unary(graph.Square), "chlo.tan": unary(graph.Tan),
}
