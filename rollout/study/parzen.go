package study

import (
	"math"
	"math/rand/v2"
	"slices"
)

// parzen is a density over some parameters: a mixture of one product kernel an observation and a prior (Bergstra et al., 2011;
// Falkner et al., 2018), with the weights and widths of Optuna's. Numbers are truncated normals, on the log scale where the
// distribution is; those with steps have the mass around each value.
type parzen struct {
	weights []float64 // of the kernels, sum 1
	logs    []float64 // their logarithms
	dims    []parzenDim
}

type parzenDim struct {
	d         Distribution
	low, high float64 // of the scale
	mu, sigma []float64
	logMass   []float64   // of the kernels within the bounds
	logWidth  []float64   // of a kernel's density at its top
	choice    [][]float64 // of a categorical one: probabilities by kernel
}

// flat is the number of newest observations that count in full.
const flat = 25

// newParzen makes it of observations, oldest first: a row an observation, a column a distribution.
func newParzen(space []Distribution, rows [][]float64) *parzen {
	n := len(rows)
	p := &parzen{}
	for i := range n {
		w := 1.
		if old := n - flat; i < old { // they fade in a line from 1/n
			w = 1
			if old > 1 {
				w = 1/float64(n) + (1-1/float64(n))*float64(i)/float64(old-1)
			} else {
				w = 1 / float64(n)
			}
		}
		p.weights = append(p.weights, w)
	}
	p.weights = append(p.weights, 1)
	sum := 0.
	for _, w := range p.weights {
		sum += w
	}
	for i := range p.weights {
		p.weights[i] /= sum
		p.logs = append(p.logs, math.Log(p.weights[i]))
	}
	for k, d := range space {
		column := make([]float64, n)
		for i, row := range rows {
			column[i] = row[k]
		}
		p.dims = append(p.dims, newDim(d, column))
	}
	return p
}

func newDim(d Distribution, at []float64) parzenDim {
	x := parzenDim{d: d}
	kernels := len(at) + 1
	if d.Kind == Categorical {
		for i := range kernels {
			row := make([]float64, len(d.Choices))
			total := 0.
			for c := range row {
				row[c] = 1 / float64(kernels)
				if i < len(at) && int(at[i]) == c {
					row[c]++
				}
				total += row[c]
			}
			for c := range row {
				row[c] /= total
			}
			x.choice = append(x.choice, row)
		}
		return x
	}
	x.low, x.high = x.scale(d.Low-d.Step/2), x.scale(d.top()+d.Step/2)
	for _, v := range at {
		x.mu = append(x.mu, x.scale(v))
	}
	x.sigma = widths(x.mu, x.low, x.high)
	x.mu, x.sigma = append(x.mu, (x.low+x.high)/2), append(x.sigma, x.high-x.low)
	for i := range x.mu {
		x.logMass = append(x.logMass, logMass((x.low-x.mu[i])/x.sigma[i], (x.high-x.mu[i])/x.sigma[i]))
		x.logWidth = append(x.logWidth, math.Log(x.sigma[i]*math.Sqrt(2*math.Pi)))
	}
	return x
}

func (x *parzenDim) scale(v float64) float64 {
	if x.d.Log {
		return math.Log(v)
	}
	return v
}

// widths of kernels: the larger of the distances to the neighbours; at the ends that to the only neighbour.
func widths(mu []float64, low, high float64) []float64 {
	order := make([]int, len(mu))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return byValue(mu[a], mu[b]) })
	sigma := make([]float64, len(mu))
	at := func(i int) float64 {
		switch {
		case i < 0:
			return low
		case i >= len(mu):
			return high
		}
		return mu[order[i]]
	}
	least := (high - low) / min(100, float64(len(mu)+2))
	for i, o := range order {
		left, right := at(i)-at(i-1), at(i+1)-at(i)
		w := max(left, right)
		if len(mu) > 1 && i == 0 {
			w = right
		} else if len(mu) > 1 && i == len(mu)-1 {
			w = left
		}
		sigma[o] = min(max(w, least), high-low)
	}
	return sigma
}

// sample draws a point.
func (p *parzen) sample(r *rand.Rand) []float64 {
	u, k := r.Float64(), 0
	for ; k < len(p.weights)-1 && u >= p.weights[k]; k++ {
		u -= p.weights[k]
	}
	point := make([]float64, len(p.dims))
	for i := range p.dims {
		x := &p.dims[i]
		u := r.Float64()
		if x.choice != nil {
			c := 0
			for ; c < len(x.choice[k])-1 && u >= x.choice[k][c]; c++ {
				u -= x.choice[k][c]
			}
			point[i] = float64(c)
			continue
		}
		a, b := (x.low-x.mu[k])/x.sigma[k], (x.high-x.mu[k])/x.sigma[k]
		z := min(max(normalQuantile(normalCDF(a)+u*(normalCDF(b)-normalCDF(a))), a), b)
		v := x.mu[k] + z*x.sigma[k]
		if x.d.Log {
			v = math.Exp(v)
		}
		point[i] = x.d.Round(v)
	}
	return point
}

// logDensity of a point; terms is room for a number a kernel.
func (p *parzen) logDensity(point, terms []float64) float64 {
	copy(terms, p.logs)
	for i := range p.dims {
		p.dims[i].addLogs(point[i], terms)
	}
	most := math.Inf(-1)
	for k := range p.weights {
		most = max(most, terms[k])
	}
	if math.IsInf(most, -1) {
		return most
	}
	sum := 0.
	for k := range p.weights {
		sum += math.Exp(terms[k] - most)
	}
	return most + math.Log(sum)
}

// addLogs adds the logarithms of the kernels' densities of a value.
func (x *parzenDim) addLogs(v float64, terms []float64) {
	switch {
	case x.choice != nil:
		for k, probabilities := range x.choice {
			terms[k] += math.Log(probabilities[int(v)])
		}
	case x.d.Step > 0:
		low, high := max(x.scale(v-x.d.Step/2), x.low), min(x.scale(v+x.d.Step/2), x.high)
		for k, mu := range x.mu {
			terms[k] += logMass((low-mu)/x.sigma[k], (high-mu)/x.sigma[k]) - x.logMass[k]
		}
	default:
		at := x.scale(v)
		for k, mu := range x.mu {
			z := (at - mu) / x.sigma[k]
			terms[k] += -z*z/2 - x.logWidth[k] - x.logMass[k]
		}
	}
}

func normalCDF(x float64) float64      { return math.Erfc(-x/math.Sqrt2) / 2 }
func normalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// logMass is the logarithm of the normal distribution's mass from a to b.
func logMass(a, b float64) float64 {
	if a > 0 { // the other side, where the tail is not lost beside 1
		a, b = -b, -a
	}
	return math.Log(max(normalCDF(b)-normalCDF(a), 1e-300))
}
