package selfplay

import (
	"fmt"
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// pool are older checkpoints, the untrained network first, with their ratings. A random player has the rating 0.
type pool struct {
	weights   [][]float32
	iteration []int
	rating    []float64
	search    float64 // rating of the search alone; NaN before it was measured
}

func newPool(untrained *graph.Array) pool {
	p := pool{search: math.NaN()}
	w, err := floats(untrained)
	if err == nil {
		p.weights, p.iteration, p.rating = [][]float32{w}, []int{0}, []float64{math.NaN()}
	}
	return p
}

func floats(a *graph.Array) ([]float32, error) {
	words, err := wordsOf(a)
	out := make([]float32, len(words))
	for i, w := range words {
		out[i] = math.Float32frombits(w)
	}
	return out, err
}

// newest is the rating that was measured last.
func (p pool) newest() float64 {
	if len(p.rating) == 0 {
		return math.NaN()
	}
	return p.rating[len(p.rating)-1]
}

// with is the pool with one more; the untrained network stays, and of the others the newest.
func (p pool) with(weights []float32, iteration int, rating float64, most int) pool {
	p.weights, p.iteration, p.rating = append(p.weights[:len(p.weights):len(p.weights)], weights),
		append(p.iteration[:len(p.iteration):len(p.iteration)], iteration),
		append(p.rating[:len(p.rating):len(p.rating)], rating)
	for len(p.weights) > max(1, most)+1 { // the newest is the learner itself
		p.weights = append(p.weights[:1:1], p.weights[2:]...)
		p.iteration = append(p.iteration[:1:1], p.iteration[2:]...)
		p.rating = append(p.rating[:1:1], p.rating[2:]...)
	}
	return p
}

// Names of the pool's arrays in a snapshot.
const (
	poolWeights = "pool.weights"
	poolRatings = "pool.ratings" // f64[n + 1]: those of the checkpoints, then the search's
	poolAt      = "pool.iterations"
)

func (p pool) save(arrays map[string]*graph.Array) {
	var flat []float32
	var at []int32
	for i, w := range p.weights {
		flat, at = append(flat, w...), append(at, int32(p.iteration[i]))
	}
	arrays[poolWeights] = graph.Float32s(flat, len(p.weights), len(flat)/max(1, len(p.weights)))
	arrays[poolAt] = graph.Int32s(at)
	arrays[poolRatings] = graph.Float64s(append(p.rating[:len(p.rating):len(p.rating)], p.search))
}

func loadPool(arrays map[string]*graph.Array, parameters int) (p pool, err error) {
	w, at, ratings := arrays[poolWeights], arrays[poolAt], arrays[poolRatings]
	if w == nil || at == nil || ratings == nil || w.DType() != graph.Float32 || w.Rank() != 2 || w.Dim(1) !=
		parameters || at.Size() != w.Dim(0) || ratings.Size() != w.Dim(0)+1 {
		return p, fmt.Errorf("the state has no pool of older checkpoints of %d parameters, as these settings want: "+
			"restore what the same settings made", parameters)
	}
	flat, err := floats(w)
	if err != nil {
		return p, err
	}
	numbers, err := graph.Floats(at)
	if err != nil {
		return p, err
	}
	if p.rating, err = graph.Floats(ratings); err != nil {
		return p, err
	}
	p.rating, p.search = p.rating[:len(numbers):len(numbers)], p.rating[len(numbers)]
	for i, n := range numbers {
		p.iteration = append(p.iteration, int(n))
		p.weights = append(p.weights, flat[i*parameters:(i+1)*parameters])
	}
	return p, nil
}

// foundName is the name of the whole colourings in a snapshot: u32[n, words].
const foundName = "found"

func saveFound(arrays map[string]*graph.Array, found [][]uint32, words int) {
	var flat []uint32
	for _, f := range found {
		flat = append(flat, f...)
	}
	arrays[foundName] = graph.Uint32s(flat, len(found), words)
}

func loadFound(arrays map[string]*graph.Array, words int) (found [][]uint32, err error) {
	a := arrays[foundName]
	if a == nil || a.DType() != graph.Uint32 || a.Rank() != 2 || a.Dim(1) != words {
		return nil, fmt.Errorf("the state has no array %q of rows of %d words, as these settings want: restore what "+
			"the same settings made", foundName, words)
	}
	flat, err := wordsOf(a)
	for i := 0; i+words <= len(flat); i += words {
		found = append(found, flat[i:i+words])
	}
	return found, err
}

// evaluates tells whether the newest iteration is evaluated.
func (t *Training) evaluates() bool {
	if t.config.ArenaEvery == 0 {
		return false
	}
	return t.program.game.players == 2 && (t.step%int64(t.config.ArenaEvery) == 0 || t.step >=
		int64(t.config.NumIterations))
}

// against plays a match and gives a's score, from 0 to 1.
func (t *Training) playMatch(a, b player, key random.Key) (float64, error) {
	tiles := graph.Of(int32((sides + t.devices - 1) / t.devices))
	out, err := t.arena.call(a, b, key, tiles)
	if err != nil {
		return 0, err
	}
	all, err := graph.Floats(out)
	xlabridge.Free(out)
	score := 0.
	for _, x := range all {
		score += (1 + max(-1, min(1, x))) / 2 / float64(len(all))
	}
	return score, err
}

// evaluate plays the newest network against others, and rates it.
func (t *Training) evaluate(key random.Key) (values []run.Value, err error) {
	n := t.config.ArenaGames
	weights, err := floats(t.learner.Weights)
	if err != nil {
		return nil, err
	}
	host := func(w []float32) *graph.Array { return graph.Float32s(w) }
	untrained := networkPlayer(host(t.pool.weights[0]))
	lone, chance := untrained, untrained
	lone.Scale, chance.Random = graph.Scalar(0), graph.Of(true)
	now := networkPlayer(host(weights))
	// Each pair of players has its own draws, whichever matches are played at the time.
	score := func(pair int, a, b player) (x float64) {
		if err == nil {
			x, err = t.playMatch(a, b, random.FoldIn(random.FoldIn(key, graph.Of(int32(t.step))),
				graph.Of(int32(pair))))
		}
		return x
	}
	if math.IsNaN(t.pool.search) {
		x := score(4, lone, chance)
		t.pool.search = elo([]result{{0, x * float64(n), n}})
	}
	if math.IsNaN(t.pool.rating[0]) {
		x, y := score(5, untrained, chance), score(6, untrained, lone)
		t.pool.rating[0] = elo([]result{{0, x * float64(n), n}, {t.pool.search, y * float64(n), n}})
	}
	results := []result{{0, score(0, now, chance) * float64(n), n}, {t.pool.search, score(1, now, lone) * float64(n),
		n}, {t.pool.rating[0], score(2, now, untrained) * float64(n), n}}
	names := []string{"score_random", "score_search", "score_untrained"}
	if last := len(t.pool.weights) - 1; last > 0 { // one of the others, in turn
		i := 1 + int(t.step/int64(max(1, t.config.ArenaEvery)))%last
		results = append(results, result{t.pool.rating[i], score(3, now, networkPlayer(host(t.pool.weights[i]))) *
			float64(n),
			n})
		names = append(names, "score_older")
	}
	if err != nil {
		return nil, err
	}
	rating := elo(results)
	t.pool = t.pool.with(weights, int(t.step), rating, t.config.Pool)
	values = append(values, run.Value{Name: "elo", Number: rating})
	for i, r := range results {
		values = append(values, run.Value{Name: names[i], Number: r.score / float64(n)})
	}
	kept, ok, err := t.winsKept(n)
	if err == nil && ok {
		values = append(values, run.Value{Name: "wins_kept", Number: kept})
	}
	return values, err
}
