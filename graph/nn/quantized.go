package nn

import (
	"math"

	"xlarun/graph"
)

// QuantizedDense is a Dense for inference that multiplies bytes and adds up in int32. The quantization is dynamic and
// symmetric, with one scale for each output feature and one for each row of the input. A result differs from Dense's
// by at most in · (mW·sx + mx·sW + sW·sx/2)/2. Here mW and mx are the largest magnitudes of the feature's weights and
// of the row. The scales sW and sx are these magnitudes divided by 127. A row with NaN or an infinity gives NaN. It
// has no gradient.
type QuantizedDense struct {
	W     *graph.Array // [in, out], int8
	Scale *graph.Array // [out], float32: a unit of W
	B     *graph.Array `tree:"optional"` // [out], float32; nil: no bias
}

// largestByte is the largest magnitude of a quantized number, so that both signs have as many.
const largestByte = math.MaxInt8

// quantize returns bytes and their units along an axis: x is close to bytes times units. A line of zeros has the unit
// 0.
func quantize(x *graph.Array, axis int) (bytes, units *graph.Array) {
	units = graph.Div(graph.ExpandDims(graph.ReduceMax(graph.Abs(x), axis), axis), largestByte)
	scaled := graph.Select(graph.BroadcastTo(graph.Eq(units, 0), x.Dims()...), 0., graph.Div(x, units))
	return graph.Convert(graph.Round(scaled), graph.Int8), units
}

// Quantize returns a layer's weights in bytes.
func (d Dense) Quantize() QuantizedDense {
	w, units := quantize(graph.Convert(d.W, graph.Float32), 0)
	q := QuantizedDense{W: w, Scale: graph.Squeeze(units, 0)}
	if d.B != nil {
		q.B = graph.Convert(d.B, graph.Float32)
	}
	return q
}

// Apply maps x [in] to [out] of float32; axes before the last one stay.
func (q QuantizedDense) Apply(x *graph.Array) *graph.Array {
	last := x.Rank() - 1
	if last < 0 || x.Dim(last) != q.W.Dim(0) {
		graph.Throw("nn.QuantizedDense", "got an input %s, want a last axis of %d", x.Shape(), q.W.Dim(0))
	}
	bytes, units := quantize(graph.Convert(x, graph.Float32), last)
	sums := graph.DotGeneral(bytes, q.W, nil, nil, []int{last}, []int{0}, graph.PreferredDType(graph.Int32))
	y := graph.Mul(graph.Mul(graph.Convert(sums, graph.Float32), units), q.Scale)
	if q.B != nil {
		y = graph.Add(y, q.B)
	}
	return y
}

// Quantize returns a network for inference whose layers are quantized. Activations are computed in float32.
func (m MLP) Quantize() Sequential {
	var s Sequential
	for i, l := range m.Layers {
		s = append(s, l.Quantize())
		if i < len(m.Layers)-1 {
			s = append(s, m.Hidden)
		}
	}
	return append(s, m.Final)
}
