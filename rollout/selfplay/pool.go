package selfplay

import (
	"fmt"
	"math"
	"slices"

	"xlarun/graph"
)

// pool has older checkpoints as opponents, the untrained network first. A random player has the rating 0.
type pool struct {
	checkpoints []checkpoint
	search      float64 // rating of the search without a network; NaN before it is measured
}

// checkpoint is a network with its rating, NaN before it is measured.
type checkpoint struct {
	weights   []float32
	iteration int
	rating    float64
}

func newPool(untrained *graph.Array) pool {
	p := pool{search: math.NaN()}
	if w, err := floats(untrained); err == nil {
		p.checkpoints = []checkpoint{{w, 0, math.NaN()}}
	}
	return p
}

// newest returns the newest rating.
func (p pool) newest() float64 {
	if len(p.checkpoints) == 0 {
		return math.NaN()
	}
	return p.checkpoints[len(p.checkpoints)-1].rating
}

// with adds the learner. The untrained network and the newest checkpoints stay: limit of them, and the learner.
func (p pool) with(learner checkpoint, limit int) pool {
	p.checkpoints = append(slices.Clone(p.checkpoints), learner)
	if n := len(p.checkpoints) - max(1, limit) - 1; n > 0 {
		p.checkpoints = slices.Delete(p.checkpoints, 1, 1+n)
	}
	return p
}

// before returns the pool without a learner of an iteration, and without ratings that were measured with it.
func (p pool) before(iteration int) pool {
	n := len(p.checkpoints) - 1
	if n < 1 || p.checkpoints[n].iteration != iteration {
		return p
	}
	p.checkpoints = slices.Clone(p.checkpoints[:n])
	if n == 1 {
		p.search, p.checkpoints[0].rating = math.NaN(), math.NaN()
	}
	return p
}

// Names of the pool's arrays in a snapshot.
const (
	poolWeights    = "pool.weights"    // f32[n, parameters]
	poolIterations = "pool.iterations" // i32[n]
	poolRatings    = "pool.ratings"    // f64[n + 1]: of the checkpoints, then of the search
)

func (p pool) save(arrays map[string]*graph.Array) {
	var weights []float32
	var iterations []int32
	var ratings []float64
	for _, c := range p.checkpoints {
		weights, iterations = append(weights, c.weights...), append(iterations, int32(c.iteration))
		ratings = append(ratings, c.rating)
	}
	n := len(p.checkpoints)
	arrays[poolWeights] = graph.Float32s(weights, n, len(weights)/max(1, n))
	arrays[poolIterations] = graph.Int32s(iterations)
	arrays[poolRatings] = graph.Float64s(append(ratings, p.search))
}

func loadPool(arrays map[string]*graph.Array, parameters int) (p pool, err error) {
	w, trainedFor, ratings := arrays[poolWeights], arrays[poolIterations], arrays[poolRatings]
	if w == nil || trainedFor == nil || ratings == nil || w.DType() != graph.Float32 || w.Rank() != 2 ||
		w.Dim(1) != parameters || trainedFor.Size() != w.Dim(0) || ratings.Size() != w.Dim(0)+1 {
		return p, fmt.Errorf("the state has no pool of older checkpoints of %d parameters, as these settings want: "+
			"restore what the same settings made", parameters)
	}
	var read hostReader
	weights, iterations, rating := read.float32s(w), read.ints(trainedFor), read.float64s(ratings)
	if read.err != nil {
		return p, read.err
	}
	for i, n := range iterations {
		p.checkpoints = append(p.checkpoints, checkpoint{weights[i*parameters : (i+1)*parameters], n, rating[i]})
	}
	p.search = rating[len(iterations)]
	return p, nil
}
