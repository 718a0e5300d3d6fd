package special

import (
	"math"

	"xlarun/graph"
)

// Ndtr is the probability that a standard normal variable is below x. Largest error: 2 ULP in float64, 1 in float32,
// 1 in 16-bit floats.
func Ndtr(x any) *graph.Array {
	return graph.Mul(.5, graph.Erfc(floatOf("Ndtr", x).Mul(-1/math.Sqrt2)))
}

// LogNdtr is the logarithm of Ndtr, accurate far below 0 too. 16-bit floats are computed as float32. Largest error: 2
// ULP in float64, 2 in float32, 1 in 16-bit floats.
func LogNdtr(x any) *graph.Array {
	a := floatOf("LogNdtr", x)
	return logNdtr(graph.Arguments.Float32(a)).Convert(a.DType())
}

// logNdtr has above 0 the logarithm of one minus the upper tail and, far below it, the asymptotic series of the tail
// (Abramowitz and Stegun 26.2.12).
func logNdtr(x *graph.Array) *graph.Array {
	least := -10.
	if x.DType() == graph.Float64 {
		least = -36
	}
	low, high := x.Lt(least), x.Gt(0)
	far := graph.Select(low, x, least)
	r := far.Square().Reciprocal()
	series := graph.OnesLike(x)
	for _, n := range []float64{9, 7, 5, 3, 1} { // 1 - 1/x² (1 - 3/x² (1 - …
		series = graph.Sub(1, graph.Mul(n, r).Mul(series))
	}
	tail := graph.Mul(-.5, far.Square()).Sub(far.Neg().Log().Add(halfLog2Pi)).Add(series.Log())
	middle := Ndtr(graph.Select(high, x.Neg(), graph.Select(low, least, x)))
	return graph.Select(low, tail, graph.Select(high, graph.Log1p(middle.Neg()), graph.Select(high, .5, middle).Log()))
}

// Ndtri is the number below which a standard normal variable lies with probability p: the inverse of Ndtr. It is -Inf
// at 0, +Inf at 1 and NaN outside. It is one of three rational functions (Moshier's Cephes library, 1989). 16-bit
// floats are computed as float32. Largest error: 3 ULP in float64, 2 in float32, 1 in 16-bit floats.
func Ndtri(p any) *graph.Array {
	a := floatOf("Ndtri", p)
	f := graph.CustomJvp(ndtri, func(p, t *graph.Array) (*graph.Array, *graph.Array) {
		x := ndtri(p)
		return x, t.Mul(graph.Mul(math.Sqrt(2*math.Pi), graph.Mul(.5, x.Square()).Exp()))
	})
	return f(graph.Arguments.Float32(a)).Convert(a.DType())
}

// quotient of two polynomials whose coefficients begin with that of the highest power.
type rational struct{ top, bottom []float64 }

func (r rational) at(x *graph.Array) *graph.Array {
	value := func(coefficients []float64) *graph.Array {
		y := graph.ZerosLike(x)
		for _, c := range coefficients {
			y = y.Mul(x).Add(c)
		}
		return y
	}
	return value(r.top).Div(value(r.bottom))
}

var (
	ndtriMiddle = rational{ // between exp(-2) and 1 - exp(-2)
		[]float64{-5.99633501014107895267e1, 9.80010754185999661536e1, -5.66762857469070293439e1,
			1.39312609387279679503e1, -1.23916583867381258016},
		[]float64{1, 1.95448858338141759834, 4.67627912898881538453, 8.63602421390890590575e1,
			-2.25462687854119370527e2, 2.00260212380060660359e2, -8.20372256168333339912e1, 1.59056225126211695515e1,
			-1.18331621121330003142}}
	ndtriTail = rational{ // down to exp(-32)
		[]float64{4.05544892305962419923, 3.15251094599893866154e1, 5.71628192246421288162e1, 4.40805073893200834700e1,
			1.46849561928858024014e1, 2.18663306850790267539, -1.40256079171354495875e-1, -3.50424626827848203418e-2,
			-8.57456785154685413611e-4},
		[]float64{1, 1.57799883256466749731e1, 4.53907635128879210584e1, 4.13172038254672030440e1,
			1.50425385692907503408e1, 2.50464946208309415979, -1.42182922854787788574e-1, -3.80806407691578277194e-2,
			-9.33259480895457427372e-4}}
	ndtriFarTail = rational{
		[]float64{3.23774891776946035970, 6.91522889068984211695, 3.93881025292474443415, 1.33303460815807542389,
			2.01485389549179081538e-1, 1.23716634817820021358e-2, 3.01581553508235416007e-4,
			2.65806974686737550832e-6, 6.23974539184983293730e-9},
		[]float64{1, 6.02427039364742014255, 3.67983563856160859403, 1.37702099489081330271, 2.16236993594496635890e-1,
			1.34204006088543189037e-2, 3.28014464682127739104e-4, 2.89247864745380683936e-6,
			6.79019408009981274425e-9}}
)

func ndtri(p *graph.Array) *graph.Array {
	upper := p.Gt(-math.Expm1(-2))
	tail := graph.Select(upper, graph.Sub(1, p), p) // the probability on the other side, in the upper tail
	safe := graph.Select(tail.Gt(0).And(tail.Lt(1)), tail, .5)
	w := safe.Sub(.5)
	middle := graph.Mul(-math.Sqrt(2*math.Pi), w.Add(w.Mul(w.Square()).Mul(ndtriMiddle.at(w.Square()))))
	z := graph.Mul(-2, graph.Select(safe.Lt(.5), safe, .5).Log()).Sqrt()
	r := z.Reciprocal()
	far := graph.Select(z.Lt(8), ndtriTail.at(r), ndtriFarTail.at(r))
	outer := z.Sub(z.Log().Mul(r)).Sub(r.Mul(far))
	x := graph.Select(safe.Gt(math.Exp(-2)), middle, outer)
	x = graph.Select(upper, x, x.Neg())
	x = graph.Select(p.Eq(0), math.Inf(-1), graph.Select(p.Eq(1), math.Inf(1), x))
	return graph.Select(p.Ge(0).And(p.Le(1)), x, math.NaN())
}
