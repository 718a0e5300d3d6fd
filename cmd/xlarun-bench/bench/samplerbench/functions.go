package samplerbench

import "math"

// functions are the functions of the report minus their minimum. The numbers in comments are from the report.
var functions = map[string]func(x []float64, in Instance) float64{
	"sphere": func(x []float64, in Instance) float64 { z := minus(x, in.Optimum); return dot(z, z) }, // f1
	"ellipsoid": func(x []float64, in Instance) float64 { // f2
		return ellipsoid(each(minus(x, in.Optimum), oscillated))
	},
	"rastrigin": func(x []float64, in Instance) float64 { // f3
		return waves(stretched(10, skewed(.2, each(minus(x, in.Optimum), oscillated))))
	},
	"bueche_rastrigin": func(x []float64, in Instance) float64 { // f4
		z := each(minus(x, in.Optimum), oscillated)
		for i := range z {
			steep := math.Pow(10, ramp(i, len(z))/2)
			if z[i] > 0 && i%2 == 0 {
				steep *= 10
			}
			z[i] *= steep
		}
		return waves(z)
	},
	"linear_slope": func(x []float64, in Instance) (sum float64) { // f5
		for i, opt := range in.Optimum {
			steep := math.Copysign(math.Pow(10, ramp(i, len(x))), opt)
			sum += Bound*math.Abs(steep) - steep*x[i]
		}
		return sum
	},
	"attractive_sector": func(x []float64, in Instance) (sum float64) { // f6
		for i, z := range times(in.Q, stretched(10, times(in.R, minus(x, in.Optimum)))) {
			if z*in.Optimum[i] > 0 {
				z *= 100
			}
			sum += z * z
		}
		return math.Pow(oscillated(sum), .9)
	},
	"step_ellipsoid": func(x []float64, in Instance) (sum float64) { // f7
		fine := stretched(10, times(in.R, minus(x, in.Optimum)))
		steps := each(fine, func(z float64) float64 {
			if math.Abs(z) > .5 {
				return math.Floor(.5 + z)
			}
			return math.Floor(.5+10*z) / 10
		})
		for i, z := range times(in.Q, steps) {
			sum += math.Pow(10, 2*ramp(i, len(x))) * z * z
		}
		return .1 * max(math.Abs(fine[0])/1e4, sum)
	},
	"rosenbrock": func(x []float64, in Instance) (sum float64) { // f8
		wide := max(1, math.Sqrt(float64(len(x)))/8)
		z := each(minus(x, in.Optimum), func(v float64) float64 { return wide*v + 1 })
		for i := range z[1:] {
			valley, along := z[i]*z[i]-z[i+1], z[i]-1
			sum += 100*valley*valley + along*along
		}
		return sum
	},
	"different_powers": func(x []float64, in Instance) (sum float64) { // f14
		for i, z := range times(in.R, minus(x, in.Optimum)) {
			sum += math.Pow(math.Abs(z), 2+4*ramp(i, len(x)))
		}
		return math.Sqrt(sum)
	},
	"ellipsoid_rotated": func(x []float64, in Instance) float64 { // f10
		return ellipsoid(each(times(in.R, minus(x, in.Optimum)), oscillated))
	},
}

// ramp goes from 0 to 1 along the dimensions.
func ramp(i, n int) float64 { return float64(i) / float64(n-1) }

func minus(x, y []float64) []float64 {
	z := make([]float64, len(x))
	for i := range x {
		z[i] = x[i] - y[i]
	}
	return z
}

func dot(x, y []float64) (sum float64) {
	for i := range x {
		sum += x[i] * y[i]
	}
	return sum
}

func times(m [][]float64, x []float64) []float64 {
	y := make([]float64, len(m))
	for i, row := range m {
		y[i] = dot(row, x)
	}
	return y
}

func each(x []float64, f func(float64) float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = f(v)
	}
	return y
}

// stretched multiplies by the report's Λ^alpha.
func stretched(alpha float64, x []float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = math.Pow(alpha, ramp(i, len(x))/2) * v
	}
	return y
}

// oscillated is the report's T_osz of one number.
func oscillated(x float64) float64 {
	if x == 0 {
		return 0
	}
	c1, c2 := 5.5, 3.1
	if x > 0 {
		c1, c2 = 10, 7.9
	}
	size := math.Log(math.Abs(x))
	return math.Copysign(math.Exp(size+.049*(math.Sin(c1*size)+math.Sin(c2*size))), x)
}

// skewed is the report's T_asy^beta.
func skewed(beta float64, x []float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		if y[i] = v; v > 0 {
			y[i] = math.Pow(v, 1+beta*ramp(i, len(x))*math.Sqrt(v))
		}
	}
	return y
}

func ellipsoid(z []float64) (sum float64) {
	for i, v := range z {
		sum += math.Pow(10, 6*ramp(i, len(z))) * v * v
	}
	return sum
}

// waves is Rastrigin's sum.
func waves(z []float64) float64 {
	sum := 10 * float64(len(z))
	for _, v := range z {
		sum += v*v - 10*math.Cos(2*math.Pi*v)
	}
	return sum
}
