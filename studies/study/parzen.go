package study

import (
	"math"
	"math/rand/v2"
	"slices"
)

// parzen is a density over parameters: a mixture of one product kernel per observation and a prior (Bergstra et al.,
// 2011; Falkner et al., 2018), with the weights and widths of Optuna. Kernels of numbers are truncated normals, on the
// log scale if the distribution is. For numbers with steps, a value has the mass around it.
type parzen struct {
	weights []float64 // of the kernels, sum 1
	tops    []float64 // logarithms of what each adds at its middle
	dims    []parzenDim
}

type parzenDim struct {
	d         Distribution
	low, high float64 // of the scale
	mu, sigma []float64
	kinds     []kernel // of one with steps: its kernels, each once
	kind      []int    // of each kernel, in kinds
	// of a categorical one: logarithms of the probabilities of choices, by the choice observed; last those of the prior
	choice [][]float64
	chosen []int // by each kernel
}

type kernel struct{ mu, sigma float64 }

// flat is the number of the newest observations with full weight.
const flat = 25

// newParzen estimates the density from observations: one row per observation, the oldest first, one column per
// distribution.
func newParzen(space []Distribution, rows [][]float64) *parzen {
	n := len(rows)
	p := &parzen{weights: make([]float64, 0, n+1), tops: make([]float64, 0, n+1)}
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
		p.tops = append(p.tops, math.Log(p.weights[i]))
	}
	for k, d := range space {
		column := make([]float64, n)
		for i, row := range rows {
			column[i] = row[k]
		}
		p.dims = append(p.dims, newDim(d, column, p.tops))
	}
	return p
}

// newDim returns the kernels of one parameter. It adds to tops the log densities of the kernels at their centers.
func newDim(d Distribution, at, tops []float64) parzenDim {
	x := parzenDim{d: d}
	if d.Kind == Categorical {
		x.choose(at)
		return x
	}
	x.low, x.high = d.scaledBounds()
	x.mu = make([]float64, len(at), len(at)+1)
	for i, v := range at {
		x.mu[i] = x.d.scaled(v)
	}
	x.sigma = widths(x.mu, x.low, x.high)
	x.mu, x.sigma = append(x.mu, (x.low+x.high)/2), append(x.sigma, x.high-x.low)
	if d.Step > 0 {
		numbers := map[kernel]int{}
		for i, mu := range x.mu {
			k := kernel{mu, x.sigma[i]}
			n, ok := numbers[k]
			if !ok {
				n = len(x.kinds)
				numbers[k], x.kinds = n, append(x.kinds, k)
			}
			x.kind = append(x.kind, n)
		}
	}
	last, logarithm := 0., 0. // most have the width of the one before
	for i, mu := range x.mu {
		sigma := x.sigma[i]
		tops[i] -= logMass((x.low-mu)/sigma, (x.high-mu)/sigma)
		if d.Step == 0 {
			if sigma != last {
				last, logarithm = sigma, math.Log(sigma*math.Sqrt(2*math.Pi))
			}
			tops[i] -= logarithm
		}
	}
	return x
}

// choose computes the probabilities of choices: an observed choice has 1 added to the prior weight that each has.
func (x *parzenDim) choose(points []float64) {
	each, choices := 1/float64(len(points)+1), len(x.d.Choices)
	for observed := range choices + 1 {
		row := make([]float64, choices)
		total := 0.
		for c := range row {
			row[c] = each
			if c == observed {
				row[c]++
			}
			total += row[c]
		}
		for c := range row {
			row[c] = math.Log(row[c] / total)
		}
		x.choice = append(x.choice, row)
	}
	for _, v := range points {
		x.chosen = append(x.chosen, int(v))
	}
	x.chosen = append(x.chosen, choices)
}

// widths returns the kernel widths: the larger distance to a neighbor. None is less than the range divided by 100, or
// by two more than the number of points. Points share cells that are narrower than that, so that nothing is sorted:
// only the first and the last point of a cell may have a neighbor that is farther away.
func widths(mu []float64, low, high float64) []float64 {
	parts := min(100, len(mu)+2)
	least := (high - low) / float64(parts)
	sigma := make([]float64, len(mu))
	type cell struct{ first, last int } // the points that are; of equal ones the first and the last observed
	cells := make([]cell, 2*parts)
	for i := range cells {
		cells[i] = cell{-1, -1}
	}
	for i, m := range mu {
		sigma[i] = least
		c := &cells[min(max(int((m-low)/(high-low)*float64(len(cells))), 0), len(cells)-1)]
		if c.first < 0 || m < mu[c.first] {
			c.first = i
		}
		if c.last < 0 || m >= mu[c.last] {
			c.last = i
		}
	}
	cells = slices.DeleteFunc(cells, func(c cell) bool { return c.first < 0 })
	for k, c := range cells {
		left, right := mu[c.first]-low, high-mu[c.last]
		if k > 0 {
			left = mu[c.first] - mu[cells[k-1].last]
		} else if len(mu) > 1 {
			left = 0
		}
		if k < len(cells)-1 {
			right = mu[cells[k+1].first] - mu[c.last]
		} else if len(mu) > 1 {
			right = 0
		}
		sigma[c.first] = min(max(left, sigma[c.first]), high-low)
		sigma[c.last] = min(max(right, sigma[c.last]), high-low)
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
			c, row := 0, x.choice[x.chosen[k]]
			for ; c < len(row)-1 && u >= math.Exp(row[c]); c++ {
				u -= math.Exp(row[c])
			}
			point[i] = float64(c)
			continue
		}
		a, b := (x.low-x.mu[k])/x.sigma[k], (x.high-x.mu[k])/x.sigma[k]
		z := min(max(normalQuantile(normalCDF(a)+u*(normalCDF(b)-normalCDF(a))), a), b)
		switch {
		case z == a:
			point[i] = x.d.Low
		case z == b:
			point[i] = x.d.top()
		default:
			point[i] = x.d.unscaled(x.mu[k] + z*x.sigma[k])
		}
	}
	return point
}

// beneath is how far below the largest term, as a logarithm, a term is too small to change the sum.
const beneath = 60

// logDensity returns the log density of a point. terms has space for one number per kernel.
func (p *parzen) logDensity(point, terms []float64) float64 {
	terms = terms[:copy(terms, p.tops)]
	for i := range p.dims {
		p.dims[i].addLogs(point[i], terms)
	}
	most := slices.Max(terms)
	if math.IsInf(most, -1) {
		return most
	}
	sum := 0.
	for _, x := range terms {
		if x -= most; x > -beneath {
			sum += math.Exp(x)
		}
	}
	return most + math.Log(sum)
}

// addLogs adds the log densities of the kernels at a value, without their values at the centers.
func (x *parzenDim) addLogs(v float64, terms []float64) {
	switch {
	case x.choice != nil:
		for k, c := range x.chosen {
			terms[k] += x.choice[c][int(v)]
		}
	case x.d.Step > 0:
		low, high := max(x.d.scaled(v-x.d.Step/2), x.low), min(x.d.scaled(v+x.d.Step/2), x.high)
		masses := make([]float64, len(x.kinds))
		for i, k := range x.kinds {
			masses[i] = logMass((low-k.mu)/k.sigma, (high-k.mu)/k.sigma)
		}
		for k, i := range x.kind {
			terms[k] += masses[i]
		}
	default:
		scaled := x.d.scaled(v)
		for k, mu := range x.mu {
			z := (scaled - mu) / x.sigma[k]
			terms[k] -= z * z / 2
		}
	}
}

func normalCDF(x float64) float64      { return math.Erfc(-x/math.Sqrt2) / 2 }
func normalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// logMass returns the logarithm of the mass of the standard normal distribution from a to b.
func logMass(a, b float64) float64 {
	if a < -9 && b > 9 { // all of it, to the last bit
		return 0
	}
	if a > 0 { // the other side, where the tail is not lost beside 1
		a, b = -b, -a
	}
	return math.Log(max(normalCDF(b)-normalCDF(a), 1e-300))
}
