package study

import (
	"math"
	"math/rand/v2"
	"slices"
)

// CMAES samples by the evolution strategy with covariance matrix adaptation and negative weights for the worse half of
// a generation (Hansen, "The CMA Evolution Strategy: A Tutorial", arXiv 1604.00772). It searches the numbers that all
// trials have, each scaled to 0 … 1. Other parameters are random. The trials of a generation may finish in any order.
// It shares no code with the strategy cmaes of evolve: that one is a compiled program over arrays with a population of
// fixed size, this one takes results one at a time in float64.
type CMAES struct {
	Startup    int     // trials that are random at first; 0: 1
	Population int     // 0: 4 + 3 ln n
	Sigma      float64 // the first step size, of the range; 0: 1/6
	state      *cma
	done       map[int64]bool // trials that were looked at, by ID
	seed       int64
	at         cursor
}

// cmaAttr is the attribute of a trial with the generation whose distribution it was drawn from.
const cmaAttr = "xlarun:cmaes:generation"

// Name implements Sampler.
func (*CMAES) Name() string { return "cmaes" }

func (*CMAES) oneObjective() {}

// Independent implements Sampler.
func (*CMAES) Independent(v *View, name string, d Distribution) (float64, error) {
	return Random{}.Independent(v, name, d)
}

// Relative implements Sampler.
func (s *CMAES) Relative(v *View) (map[string]float64, error) {
	names, space := v.common()
	names = slices.DeleteFunc(names, func(name string) bool { return space[name].Kind == Categorical })
	if v.summary().complete < orDefault(s.Startup, 1) || len(names) == 0 {
		return nil, nil
	}
	if s.state == nil || !slices.Equal(s.state.names, names) || s.seed != v.Seed || !s.continues(v) {
		s.state, s.done, s.seed, s.at = newCMA(names, s.Population, s.Sigma), map[int64]bool{}, v.Seed, cursor{}
	}
	over, _ := v.newTrials(&s.at)
	for _, t := range over {
		if s.done[t.ID] {
			continue
		}
		s.done[t.ID] = true
		g, ok := System[int](t, cmaAttr)
		if ok && g == s.state.generation && (t.State == Complete || t.State == Pruned) && len(t.Values) > 0 {
			if point, fits := s.state.point(t, space); fits {
				s.state.tell(point, v.Directions[0].sign()*t.Values[0])
			}
		}
	}
	v.Attrs[cmaAttr] = s.state.generation
	point := s.state.ask(v.Rand("cmaes"))
	chosen := map[string]float64{}
	for i, name := range names {
		chosen[name] = space[name].fromUnit(point[i])
	}
	return chosen, nil
}

// continues reports whether the view has all trials that the state has used.
func (s *CMAES) continues(v *View) bool { return len(v.Finished) >= len(s.done) }

// cma is the state of the strategy, with the names of the tutorial.
type cma struct {
	names                  []string
	n, size, parents       int
	weights                []float64 // from the best on
	total                  float64   // of them
	mueff, cc, cs, c1, cmu float64
	damping, norm          float64
	mean, pathC, pathS     []float64
	sigma                  float64
	covariance, axes       [][]float64 // axes: eigenvectors as columns
	lengths                []float64   // roots of the eigenvalues
	generation             int
	points                 []scored
}

type scored struct {
	point []float64
	value float64
}

func newCMA(names []string, size int, sigma float64) *cma {
	n := len(names)
	N := float64(n)
	c := &cma{names: names, n: n, size: orDefault(size, 4+int(3*math.Log(N))), sigma: sigma}
	if sigma == 0 {
		c.sigma = 1. / 6
	}
	c.parents = max(c.size/2, 1)
	var sum, squares, below, belowSquares float64
	for i := range c.size {
		w := math.Log(float64(c.size+1)/2) - math.Log(float64(i+1))
		if i < c.parents {
			w = max(w, 1e-12)
			sum, squares = sum+w, squares+w*w
		} else {
			below, belowSquares = below-w, belowSquares+w*w
		}
		c.weights = append(c.weights, w)
	}
	c.mueff = sum * sum / squares
	c.cc = (4 + c.mueff/N) / (N + 4 + 2*c.mueff/N)
	c.cs = (c.mueff + 2) / (N + c.mueff + 5)
	c.c1 = 2 / ((N+1.3)*(N+1.3) + c.mueff)
	c.cmu = min(1-c.c1, 2*(c.mueff-2+1/c.mueff)/((N+2)*(N+2)+c.mueff))
	// The weights of the worse half are negative (active adaptation), and bounded so that the covariance stays positive
	// definite.
	least := min(1+c.c1/c.cmu, 1+2*below*below/belowSquares/(c.mueff+2), (1-c.c1-c.cmu)/(N*c.cmu))
	for i, w := range c.weights {
		if i < c.parents {
			c.weights[i] = w / sum
		} else {
			c.weights[i] = w * least / below
		}
		c.total += c.weights[i]
	}
	c.damping = 1 + 2*max(0, math.Sqrt((c.mueff-1)/(N+1))-1) + c.cs
	c.norm = math.Sqrt(N) * (1 - 1/(4*N) + 1/(21*N*N))
	c.mean, c.pathC, c.pathS = make([]float64, n), make([]float64, n), make([]float64, n)
	c.lengths = make([]float64, n)
	for i := range n {
		c.mean[i], c.lengths[i] = .5, 1
		c.covariance, c.axes = append(c.covariance, make([]float64, n)), append(c.axes, make([]float64, n))
		c.covariance[i][i], c.axes[i][i] = 1, 1
	}
	return c
}

// point returns the parameters of a trial, scaled. ok is false if one is missing.
func (c *cma) point(t *FrozenTrial, space map[string]Distribution) ([]float64, bool) {
	p := make([]float64, c.n)
	for i, name := range c.names {
		x, ok := t.Params[name]
		if !ok {
			return nil, false
		}
		p[i] = space[name].unit(x)
	}
	return p, true
}

// ask draws a point within 0 … 1. After 100 points that lie outside it clips the last one.
func (c *cma) ask(r *rand.Rand) []float64 {
	point := make([]float64, c.n)
	for range 100 {
		z := make([]float64, c.n)
		for i := range z {
			z[i] = r.NormFloat64() * c.lengths[i]
		}
		inside := true
		for i := range point {
			point[i] = c.mean[i]
			for j := range z {
				point[i] += c.sigma * c.axes[i][j] * z[j]
			}
			inside = inside && point[i] >= 0 && point[i] <= 1
		}
		if inside {
			return point
		}
	}
	for i := range point {
		point[i] = min(max(point[i], 0), 1)
	}
	return point
}

// tell takes the value of a point. The last point of a generation updates the distribution.
func (c *cma) tell(point []float64, value float64) {
	c.points = append(c.points, scored{point, value})
	if len(c.points) < c.size {
		return
	}
	slices.SortStableFunc(c.points, func(a, b scored) int { return byValue(a.value, b.value) })
	old := slices.Clone(c.mean)
	step := c.updateMean(old)
	length, h := c.updatePaths(step)
	c.updateCovariance(old, h)
	c.sigma *= math.Exp(min(1, c.cs/c.damping*(length/c.norm-1)))
	c.sigma = min(max(c.sigma, 1e-12), 1e3)
	c.decompose()
	c.generation++
	c.points = nil
}

// updateMean moves the mean to the weighted mean of the better half. It returns the step in units of sigma.
func (c *cma) updateMean(old []float64) (step []float64) {
	step = make([]float64, c.n)
	for i := range c.n {
		for k, w := range c.weights[:c.parents] {
			step[i] += w * (c.points[k].point[i] - old[i]) / c.sigma
		}
		c.mean[i] = old[i] + c.sigma*step[i]
	}
	return step
}

// updatePaths updates both evolution paths. It returns the length of pathS, and 0 if that is so long that pathC stalls,
// else 1.
func (c *cma) updatePaths(step []float64) (length, h float64) {
	white := c.whiten(step)
	for i := range c.n {
		c.pathS[i] = (1-c.cs)*c.pathS[i] + math.Sqrt(c.cs*(2-c.cs)*c.mueff)*white[i]
		length += c.pathS[i] * c.pathS[i]
	}
	length = math.Sqrt(length)
	if length/math.Sqrt(1-math.Pow(1-c.cs, 2*float64(c.generation+1))) < (1.4+2/(float64(c.n)+1))*c.norm {
		h = 1
	}
	for i := range c.n {
		c.pathC[i] = (1-c.cc)*c.pathC[i] + h*math.Sqrt(c.cc*(2-c.cc)*c.mueff)*step[i]
	}
	return length, h
}

// updateCovariance adapts the covariance: pathC is the rank-one update, the points are the rank-mu update. A negative
// weight is scaled as for a step of unit length.
func (c *cma) updateCovariance(old []float64, h float64) {
	N := float64(c.n)
	weights := slices.Clone(c.weights)
	for k := c.parents; k < c.size; k++ {
		away := make([]float64, c.n)
		for i := range away {
			away[i] = (c.points[k].point[i] - old[i]) / c.sigma
		}
		far := 0.
		for _, x := range c.whiten(away) {
			far += x * x
		}
		weights[k] *= N / (far + 1e-8)
	}
	for i := range c.n {
		for j := range c.n {
			rank := 0.
			for k, w := range weights {
				rank += w * (c.points[k].point[i] - old[i]) * (c.points[k].point[j] - old[j]) / (c.sigma * c.sigma)
			}
			c.covariance[i][j] = (1-c.c1-c.cmu*c.total+(1-h)*c.c1*c.cc*(2-c.cc))*c.covariance[i][j] + c.c1*c.pathC[i]*
				c.pathC[j] + c.cmu*rank
		}
	}
}

// whiten multiplies by the inverse root of the covariance.
func (c *cma) whiten(x []float64) []float64 {
	y := make([]float64, c.n)
	for k := range c.n {
		dot := 0.
		for i := range c.n {
			dot += c.axes[i][k] * x[i]
		}
		for i := range c.n {
			y[i] += c.axes[i][k] * dot / c.lengths[k]
		}
	}
	return y
}

// decompose updates axes and lengths from the covariance.
func (c *cma) decompose() {
	values, vectors := jacobi(c.covariance)
	c.axes = vectors
	for i, x := range values {
		c.lengths[i] = math.Sqrt(max(x, 1e-20))
	}
}

// jacobi returns the eigenvalues of a symmetric matrix, and the eigenvectors as columns, by Jacobi rotations.
func jacobi(m [][]float64) (values []float64, vectors [][]float64) {
	n := len(m)
	a, v := make([][]float64, n), make([][]float64, n)
	for i := range n {
		a[i], v[i] = slices.Clone(m[i]), make([]float64, n)
		v[i][i] = 1
	}
	for range 60 {
		off, on := 0., 0.
		for i := range n {
			on += a[i][i] * a[i][i]
			for j := range i {
				off += a[i][j] * a[i][j]
			}
		}
		if off <= 1e-30*on {
			break
		}
		for p := range n {
			for q := p + 1; q < n; q++ {
				if a[p][q] == 0 {
					continue
				}
				theta := (a[q][q] - a[p][p]) / (2 * a[p][q])
				t := 1 / (math.Abs(theta) + math.Sqrt(theta*theta+1))
				if theta < 0 {
					t = -t
				}
				co := 1 / math.Sqrt(t*t+1)
				si := t * co
				for k := range n {
					a[k][p], a[k][q] = co*a[k][p]-si*a[k][q], si*a[k][p]+co*a[k][q]
				}
				for k := range n {
					a[p][k], a[q][k] = co*a[p][k]-si*a[q][k], si*a[p][k]+co*a[q][k]
				}
				for k := range n {
					v[k][p], v[k][q] = co*v[k][p]-si*v[k][q], si*v[k][p]+co*v[k][q]
				}
			}
		}
	}
	for i := range n {
		values = append(values, a[i][i])
	}
	return values, v
}
