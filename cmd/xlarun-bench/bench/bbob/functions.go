package bbob

import (
	"math"
	"slices"

	"xlarun/graph"
)

// Function is one of the 24. Its smallest value is 0.
type Function struct {
	Name string // as evosax names it
	// value is the function at one place, f32[d]: an f32 scalar.
	value func(x *graph.Array, in Instance) *graph.Array
}

// Value is the function at x, f32[d] with d of 2 or more: an f32 scalar. NaN where x is not finite. It is traced, and
// of one place: map it over others.
func (f Function) Value(x *graph.Array, in Instance) *graph.Array {
	if x.Rank() != 1 || x.Dim(0) < 2 || !slices.Equal(x.Dims(), in.Optimum.Dims()) {
		graph.Throw("bbob."+f.Name,
			"got a place of %s for an instance of %s, want two vectors of one length, 2 or more", x.Shape(),
			in.Optimum.Shape())
	}
	// Beyond the corner the linear slope is flat: it would not see what is no place.
	return graph.Select(graph.All(graph.IsFinite(x)), f.value(x, in), math.NaN())
}

// Functions are the 24, in the paper's order: separable, of moderate and of high conditioning, multi-modal with and
// without a global structure.
func Functions() []Function {
	return []Function{
		{"sphere", func(x *graph.Array, in Instance) *graph.Array { return sumSquares(sub(x, in.Optimum)) }},
		{"ellipsoidal", func(x *graph.Array, in Instance) *graph.Array {
			return ellipsoid(oscillated(sub(x, in.Optimum)))
		}},
		{"rastrigin", func(x *graph.Array, in Instance) *graph.Array {
			z := skewed(oscillated(sub(x, in.Optimum)), .2)
			return waves(mul(stretch(10, dims(x)), z))
		}},
		{"bueche_rastrigin", buecheRastrigin},
		{"linear_slope", linearSlope},
		{"attractive_sector", attractiveSector},
		{"step_ellipsoidal", stepEllipsoidal},
		{"rosenbrock", func(x *graph.Array, in Instance) *graph.Array {
			return graph.Sum(valleys(add(mul(valleyScale(x), sub(x, in.Optimum)), 1)))
		}},
		{"rosenbrock_rotated", func(x *graph.Array, in Instance) *graph.Array {
			return graph.Sum(valleys(rotatedValley(x, in)))
		}},
		{"ellipsoidal_rotated", func(x *graph.Array, in Instance) *graph.Array {
			return ellipsoid(oscillated(in.turned(x)))
		}},
		{"discus", func(x *graph.Array, in Instance) *graph.Array {
			return graph.Sum(mul(oneOf(dims(x), 1e6, 1), graph.Square(oscillated(in.turned(x)))))
		}},
		{"bent_cigar", func(x *graph.Array, in Instance) *graph.Array {
			z := graph.Dot(in.R, skewed(in.turned(x), .5))
			return graph.Sum(mul(oneOf(dims(x), 1, 1e6), graph.Square(z)))
		}},
		{"sharp_ridge", func(x *graph.Array, in Instance) *graph.Array {
			squares := graph.Square(graph.Dot(in.Q, mul(stretch(10, dims(x)), in.turned(x))))
			return add(graph.Index(squares, 0), mul(100, graph.Sqrt(graph.Sum(tail(squares, 1)))))
		}},
		{"different_powers", func(x *graph.Array, in Instance) *graph.Array {
			return graph.Sqrt(
				graph.Sum(graph.Pow(graph.Abs(in.turned(x)),
					ramp(dims(x), func(t float64) float64 { return 2 + 4*t }))))
		}},
		{"rastrigin_rotated", func(x *graph.Array, in Instance) *graph.Array {
			z := graph.Dot(in.Q, skewed(oscillated(in.turned(x)), .2))
			return waves(graph.Dot(in.R, mul(stretch(10, dims(x)), z)))
		}},
		{"weierstrass", weierstrass},
		{"schaffers_f7", func(x *graph.Array, in Instance) *graph.Array { return schaffers(x, in, 10) }},
		{"schaffers_f7_ill_cond", func(x *graph.Array, in Instance) *graph.Array { return schaffers(x, in, 1000) }},
		{"griewank_rosenbrock", func(x *graph.Array, in Instance) *graph.Array {
			s := valleys(rotatedValley(x, in))
			return add(mul(float32(10/float64(dims(x)-1)), graph.Sum(sub(div(s, 4000), graph.Cos(s)))), 10)
		}},
		{"schwefel", schwefel},
		{"gallagher_101_me", func(x *graph.Array, in Instance) *graph.Array { return gallagher(x, in, in.Peaks101) }},
		{"gallagher_21_hi", func(x *graph.Array, in Instance) *graph.Array { return gallagher(x, in, in.Peaks21) }},
		{"katsuura", katsuura},
		{"lunacek", lunacek},
	}
}

var add, sub, mul, div = graph.Add, graph.Sub, graph.Mul, graph.Div

func dims(x *graph.Array) int { return x.Dim(0) }

// tail are the elements from the i-th on.
func tail(x *graph.Array, i int) *graph.Array { return graph.SliceAxis(x, 0, i, x.Dim(0)) }

func butLast(x *graph.Array) *graph.Array { return graph.SliceAxis(x, 0, 0, x.Dim(0)-1) }

func sumSquares(z *graph.Array) *graph.Array { return graph.Sum(graph.Square(z)) }

// ramp is f of i/(d-1) for i from 0 to d-1, f32[d].
func ramp(d int, f func(t float64) float64) *graph.Array {
	v := make([]float32, d)
	for i := range v {
		v[i] = float32(f(float64(i) / float64(d-1)))
	}
	return graph.Float32s(v)
}

// stretch is the diagonal of the paper's Λ^alpha.
func stretch(alpha float64, d int) *graph.Array {
	return ramp(d, func(t float64) float64 { return math.Pow(alpha, t/2) })
}

// oneOf has first at 0 and rest elsewhere.
func oneOf(d int, first, rest float64) *graph.Array {
	return ramp(d, func(t float64) float64 {
		if t == 0 {
			return first
		}
		return rest
	})
}

// oscillated is the paper's T_osz, element by element.
func oscillated(x *graph.Array) *graph.Array {
	size := graph.Log(graph.Select(graph.Eq(x, 0), 1, graph.Abs(x)))
	up := graph.Gt(x, 0)
	c1, c2 := graph.Select(up, float32(10), float32(5.5)), graph.Select(up, float32(7.9), float32(3.1))
	bent := add(size, mul(float32(.049), add(graph.Sin(mul(c1, size)), graph.Sin(mul(c2, size)))))
	return mul(graph.Sign(x), graph.Exp(bent))
}

// skewed is the paper's T_asy^beta of a vector.
func skewed(x *graph.Array, beta float64) *graph.Array {
	up := graph.Gt(x, 0)
	positive := graph.Select(up, x, 1)
	exponent := add(1, mul(ramp(dims(x), func(t float64) float64 { return beta * t }), graph.Sqrt(positive)))
	return graph.Select(up, graph.Pow(positive, exponent), x)
}

// penalty is the paper's f_pen: the square of how far x lies outside of [-5, 5].
func penalty(x *graph.Array) *graph.Array {
	return sumSquares(graph.Max(0, sub(graph.Abs(x), 5)))
}

// ellipsoid is Σ 10^(6t)·z².
func ellipsoid(z *graph.Array) *graph.Array {
	return graph.Sum(mul(ramp(dims(z), func(t float64) float64 { return math.Pow(10, 6*t) }), graph.Square(z)))
}

// waves is Rastrigin's 10·(d - Σ cos 2πz) + Σ z².
func waves(z *graph.Array) *graph.Array {
	return add(mul(10, sub(float32(dims(z)), graph.Sum(graph.Cos(mul(float32(2*math.Pi), z))))), sumSquares(z))
}

func buecheRastrigin(x *graph.Array, in Instance) *graph.Array {
	d := dims(x)
	z := oscillated(sub(x, in.Optimum))
	place := 0
	up := ramp(d, func(t float64) float64 {
		s := math.Pow(10, t/2)
		if place++; place%2 == 0 {
			s *= 10
		}
		return s
	})
	z = mul(graph.Select(graph.Gt(z, 0), up, stretch(10, d)), z)
	return add(waves(z), mul(100, penalty(x)))
}

func linearSlope(x *graph.Array, in Instance) *graph.Array {
	corner := graph.Select(graph.Gt(in.Optimum, 0), float32(5), float32(-5))
	z := graph.Select(graph.Lt(mul(x, corner), 25), x, corner)
	steep := ramp(dims(x), func(t float64) float64 { return math.Pow(10, t) })
	return graph.Sum(sub(mul(5, steep), mul(mul(graph.Sign(corner), steep), z)))
}

func attractiveSector(x *graph.Array, in Instance) *graph.Array {
	z := graph.Dot(in.Q, mul(stretch(10, dims(x)), in.turned(x)))
	s := graph.Select(graph.Gt(mul(z, in.Optimum), 0), float32(100), float32(1))
	return graph.Pow(oscillated(sumSquares(mul(s, z))), float32(.9))
}

func stepEllipsoidal(x *graph.Array, in Instance) *graph.Array {
	fine := mul(stretch(10, dims(x)), in.turned(x))
	steps := graph.Select(graph.Gt(graph.Abs(fine), float32(.5)), graph.Floor(add(float32(.5), fine)),
		div(graph.Floor(add(float32(.5), mul(10, fine))), 10))
	z := graph.Dot(in.Q, steps)
	sum := graph.Sum(mul(ramp(dims(x), func(t float64) float64 { return 100 * math.Pow(10, 2*t) }), graph.Square(z)))
	first := div(graph.Abs(graph.Index(fine, 0)), float32(1e4))
	return add(mul(float32(.1), graph.Max(first, sum)), penalty(x))
}

// valleyScale is Rosenbrock's max(1, √d/8).
func valleyScale(x *graph.Array) float32 { return float32(math.Max(1, math.Sqrt(float64(dims(x)))/8)) }

func rotatedValley(x *graph.Array, in Instance) *graph.Array {
	return add(mul(valleyScale(x), graph.Dot(in.R, x)), float32(.5))
}

// valleys are Rosenbrock's terms, f32[d-1].
func valleys(z *graph.Array) *graph.Array {
	here, next := butLast(z), tail(z, 1)
	return add(mul(100, graph.Square(sub(graph.Square(here), next))), graph.Square(sub(here, 1)))
}

func weierstrass(x *graph.Array, in Instance) *graph.Array {
	d := float64(dims(x))
	z := graph.Dot(in.Q, oscillated(in.turned(x)))
	z = graph.Dot(in.R, mul(stretch(.01, dims(x)), z))
	const terms = 12
	sum, least := graph.ZerosLike(z), 0.
	// the turns of the last terms are thousands: another rounding of 2π·3^k is another function
	half, three := 1., float32(1)
	for range terms {
		sum = add(sum, mul(float32(half), graph.Cos(mul(float32(2*math.Pi)*three, add(z, float32(.5))))))
		least += half * math.Cos(math.Pi*float64(three))
		half, three = half/2, three*3
	}
	rough := sub(div(graph.Sum(sum), float32(d)), float32(least))
	return add(mul(10, mul(graph.Square(rough), rough)), mul(float32(10/d), penalty(x)))
}

func schaffers(x *graph.Array, in Instance, condition float64) *graph.Array {
	z := mul(stretch(condition, dims(x)), graph.Dot(in.Q, skewed(in.turned(x), .5)))
	s := graph.Sqrt(add(graph.Square(butLast(z)), graph.Square(tail(z, 1))))
	wave := graph.Square(graph.Sin(mul(50, graph.Pow(s, float32(.2)))))
	mean := div(graph.Sum(mul(graph.Sqrt(s), add(1, wave))), float32(dims(x)-1))
	return add(graph.Square(mean), mul(10, penalty(x)))
}

func schwefel(x *graph.Array, in Instance) *graph.Array {
	const at = 4.2096874633
	d := dims(x)
	sign := graph.Select(graph.Gt(in.Optimum, 0), float32(1), float32(-1))
	hat := mul(2, mul(sign, x))
	// Each place is pulled along by the one before it; the first by none.
	before := graph.Pad(sub(butLast(hat), float32(at)), 0, []int{1}, []int{0})
	z := add(hat, mul(float32(.25), before))
	z = mul(100, add(mul(stretch(10, d), sub(z, float32(at))), float32(at)))
	sum := graph.Sum(mul(z, graph.Sin(graph.Sqrt(graph.Abs(z)))))
	return add(sub(float32(4.189828872724339), div(sum, float32(100*d))), mul(100, penalty(div(z, 100))))
}

// gallagher is the highest of bell-shaped peaks. The squares of R·(x - peak) are weighed by the peak's axes, which is
// the paper's product of matrices in d steps.
func gallagher(x *graph.Array, in Instance, p Peaks) *graph.Array {
	away := sub(graph.ExpandDims(graph.Dot(in.R, x), 0), p.turned(in))
	far := graph.Sum(mul(p.Axes, graph.Square(away)), 1)
	height := mul(p.Height, graph.Exp(mul(float32(-.5/float64(dims(x))), far)))
	return add(graph.Square(oscillated(sub(10, graph.ReduceMax(height)))), penalty(x))
}

func katsuura(x *graph.Array, in Instance) *graph.Array {
	d := float64(dims(x))
	z := graph.Dot(in.Q, mul(stretch(100, dims(x)), in.turned(x)))
	const terms = 30 // the paper has 32; evosax 30, as far as its whole numbers go
	sum := graph.ZerosLike(z)
	for j := 1; j <= terms; j++ {
		power := float32(math.Exp2(float64(j)))
		fine := mul(power, z)
		sum = add(sum, div(graph.Abs(sub(fine, graph.Round(fine))), power))
	}
	place := ramp(dims(x), func(t float64) float64 { return 1 + math.Round(t*(d-1)) })
	product := graph.Prod(add(1, mul(place, sum)))
	return add(mul(float32(10/(d*d)), sub(graph.Pow(product, float32(10/math.Pow(d, 1.2))), 1)), penalty(x))
}

func lunacek(x *graph.Array, in Instance) *graph.Array {
	const mu0, depth = 2.5, 1.
	d := float64(dims(x))
	s := 1 - 1/(2*math.Sqrt(d+20)-8.2)
	mu1 := -math.Sqrt((mu0*mu0 - depth) / s)
	hat := mul(2, mul(graph.Sign(graph.Select(graph.Gt(in.Optimum, 0), float32(1), float32(-1))), x))
	near := sub(hat, float32(mu0))
	z := graph.Dot(in.Q, mul(stretch(100, dims(x)), graph.Dot(in.R, near)))
	first, second := sumSquares(near), add(float32(depth*d), mul(float32(s), sumSquares(sub(hat, float32(mu1)))))
	wave := mul(10, sub(float32(d), graph.Sum(graph.Cos(mul(float32(2*math.Pi), z)))))
	return add(add(graph.Min(first, second), wave), mul(float32(1e4), penalty(x)))
}
