package gomlx

import (
	"fmt"

	"github.com/gomlx/compute"

	"xlarun/graph"
)

func (f *Function) Abs(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeAbs, graph.Abs, x)
}

func (f *Function) BitCount(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeBitCount, graph.PopCount, x)
}

func (f *Function) BitwiseNot(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeBitwiseNot, graph.Not, x)
}

func (f *Function) Ceil(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeCeil, graph.Ceil, x)
}

func (f *Function) Clz(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeClz, graph.CountLeadingZeros, x)
}

func (f *Function) Cos(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeCos, graph.Cos, x)
}

func (f *Function) Erf(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeErf, graph.Erf, x)
}

func (f *Function) Exp(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeExp, graph.Exp, x)
}

func (f *Function) Expm1(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeExpm1, graph.Expm1, x)
}

func (f *Function) Floor(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeFloor, graph.Floor, x)
}

func (f *Function) IsFinite(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeIsFinite, graph.IsFinite, x)
}

func (f *Function) IsNaN(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeIsNaN, graph.IsNaN, x)
}

func (f *Function) Log(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeLog, graph.Log, x)
}

func (f *Function) Log1p(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeLog1p, graph.Log1p, x)
}

func (f *Function) LogicalNot(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeLogicalNot, graph.LogicalNot, x)
}

func (f *Function) Logistic(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeLogistic, graph.Logistic, x)
}

func (f *Function) Neg(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeNeg, graph.Neg, x)
}

func (f *Function) Round(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeRound, graph.Round, x)
}

func (f *Function) Rsqrt(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeRsqrt, graph.Rsqrt, x)
}

func (f *Function) Sign(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeSign, graph.Sign, x)
}

func (f *Function) Sin(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeSin, graph.Sin, x)
}

func (f *Function) Sqrt(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeSqrt, graph.Sqrt, x)
}

func (f *Function) Tanh(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeTanh, graph.Tanh, x)
}

func (f *Function) Add(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeAdd, graph.Add, x, y)
}

func (f *Function) Atan2(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeAtan2, graph.Atan2, x, y)
}

func (f *Function) BitwiseAnd(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeBitwiseAnd, graph.And, x, y)
}

func (f *Function) BitwiseOr(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeBitwiseOr, graph.Or, x, y)
}

func (f *Function) BitwiseXor(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeBitwiseXor, graph.Xor, x, y)
}

func (f *Function) Div(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeDiv, div, x, y)
}

func (f *Function) LogicalAnd(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeLogicalAnd, graph.LogicalAnd, x, y)
}

func (f *Function) LogicalOr(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeLogicalOr, graph.LogicalOr, x, y)
}

func (f *Function) LogicalXor(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeLogicalXor, graph.LogicalXor, x, y)
}

func (f *Function) Max(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeMax, graph.Max, x, y)
}

func (f *Function) Min(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeMin, graph.Min, x, y)
}

func (f *Function) Mul(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeMul, graph.Mul, x, y)
}

func (f *Function) Pow(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypePow, graph.Pow, x, y)
}

func (f *Function) Rem(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeRem, graph.Rem, x, y)
}

func (f *Function) ShiftLeft(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeShiftLeft, graph.ShiftLeft, x, y)
}

func (f *Function) ShiftRightArithmetic(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeShiftRightArithmetic, graph.ShiftRightArithmetic, x, y)
}

func (f *Function) ShiftRightLogical(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeShiftRightLogical, graph.ShiftRightLogical, x, y)
}

func (f *Function) Sub(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeSub, graph.Sub, x, y)
}

func (f *Function) Equal(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeEqual, graph.Eq, x, y)
}

func (f *Function) NotEqual(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeNotEqual, graph.Ne, x, y)
}

func (f *Function) GreaterOrEqual(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeGreaterOrEqual, graph.Ge, x, y)
}

func (f *Function) GreaterThan(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeGreaterThan, graph.Gt, x, y)
}

func (f *Function) LessOrEqual(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeLessOrEqual, graph.Le, x, y)
}

func (f *Function) LessThan(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeLessThan, graph.Lt, x, y)
}

func (f *Function) EqualTotalOrder(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeEqualTotalOrder, ordered(graph.Eq), x, y)
}

func (f *Function) NotEqualTotalOrder(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeNotEqualTotalOrder, ordered(graph.Ne), x, y)
}

func (f *Function) GreaterOrEqualTotalOrder(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeGreaterOrEqualTotalOrder, ordered(graph.Ge), x, y)
}

func (f *Function) GreaterThanTotalOrder(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeGreaterThanTotalOrder, ordered(graph.Gt), x, y)
}

func (f *Function) LessOrEqualTotalOrder(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeLessOrEqualTotalOrder, ordered(graph.Le), x, y)
}

func (f *Function) LessThanTotalOrder(x, y compute.Value) (compute.Value, error) {
	return f.binary(compute.OpTypeLessThanTotalOrder, ordered(graph.Lt), x, y)
}

func (f *Function) Clamp(low, x, high compute.Value) (compute.Value, error) {
	return f.one(compute.OpTypeClamp, func(x []*graph.Array) *graph.Array { return graph.Clamp(x[0], x[1], x[2]) }, low,
		x, high)
}

func (f *Function) Where(condition, yes, no compute.Value) (compute.Value, error) {
	return f.one(compute.OpTypeWhere, func(x []*graph.Array) *graph.Array { return graph.Where(x[0], x[1], x[2]) },
		condition, yes, no)
}

func (f *Function) Identity(x compute.Value) (compute.Value, error) {
	return f.one(compute.OpTypeIdentity, func(x []*graph.Array) *graph.Array { return x[0] }, x)
}

func (f *Function) OptimizationBarrier(operands ...compute.Value) ([]compute.Value, error) {
	return f.record(compute.OpTypeOptimizationBarrier, operands, func(x []*graph.Array) []*graph.Array {
		return graph.Barrier(x...)
	})
}

func (f *Function) SchedulingBarrier(operand compute.Value, dependencies ...compute.Value) (compute.Value, error) {
	return f.one(compute.OpTypeSchedulingBarrier, func(x []*graph.Array) *graph.Array { return graph.Barrier(x...)[0] },
		append([]compute.Value{operand}, dependencies...)...)
}

func (f *Function) unary(op compute.OpType, apply func(x any) *graph.Array, x compute.Value) (compute.Value, error) {
	return f.one(op, func(x []*graph.Array) *graph.Array { return apply(x[0]) }, x)
}

// binary records an op of two arrays of one dtype. A scalar, and an axis of one element, broadcast.
func (f *Function) binary(op compute.OpType, apply func(x, y any) *graph.Array, x, y compute.Value) (
	compute.Value, error) {
	in, err := f.values(op.String(), []compute.Value{x, y})
	if err != nil {
		return nil, err
	}
	if a, b := in[0].shape, in[1].shape; a.DType != b.DType || a.Rank() != b.Rank() && a.Rank() > 0 && b.Rank() > 0 {
		return nil, fmt.Errorf("GoMLX's op %s: got %s and %s, want one dtype and equal ranks, or a scalar", op, a, b)
	}
	return f.one(op, func(x []*graph.Array) *graph.Array { return apply(x[0], x[1]) }, x, y)
}

// div of integers rounds toward zero.
func div(x, y any) *graph.Array {
	if x.(*graph.Array).DType().IsFloat() {
		return graph.Div(x, y)
	}
	return graph.Quo(x, y)
}

// signed are the integers with the bits of a float.
var signed = map[graph.DType]graph.DType{graph.Float16: graph.Int16, graph.BFloat16: graph.Int16,
	graph.Float32: graph.Int32, graph.Float64: graph.Int64}

// ordered compares floats in the order -NaN, -Inf, ..., -0, 0, ..., Inf, NaN of IEEE 754 (section 5.10): that of their
// bits as integers of sign and magnitude.
func ordered(compare func(x, y any) *graph.Array) func(x, y any) *graph.Array {
	place := func(v any) *graph.Array {
		x := v.(*graph.Array)
		d, ok := signed[x.DType()]
		if !ok {
			return x
		}
		bits := graph.Bitcast(x, d)
		magnitude := graph.Not(graph.ShiftLeft(graph.OnesLike(bits), 8*graph.ItemSize(d)-1))
		return graph.Select(bits.Lt(0), graph.Xor(bits, magnitude), bits)
	}
	return func(x, y any) *graph.Array { return compare(place(x), place(y)) }
}
