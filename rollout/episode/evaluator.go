package episode

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/xlabridge"
)

// Evaluator plays members on new episodes, the same ones for all: a compiled program, which ends with the longest
// episode.
type Evaluator struct {
	// OnProgress, if not nil, is called when Play begins and after each call of the program. done is the number of
	// episodes that each member has played.
	OnProgress func(done, total int)

	backend  xlabridge.Backend
	program  *xlabridge.Compiled
	inputs   []*graph.Array // of the rollout
	episodes int
	batch    int // episodes of a call of the program
	steps    int // of an episode at most
	members  int
	single   bool // the program takes a member as it is, not a stack of members
}

// mostBatchSteps bounds the environment steps of one call of the program, so that a long validation can tell how far it
// is. Tests set it.
var mostBatchSteps = 1 << 24

// leastBatch is the number of episodes that a call plays all the same: fewer would leave vectors unused.
const leastBatch = 16

// batchOf returns the number of episodes of a call.
func batchOf(members, episodes, steps int) int {
	return min(episodes, max(leastBatch, mostBatchSteps/(members*steps)))
}

// EvalResult is the result of a member on a number of new episodes.
type EvalResult struct {
	Mean   float64   // of the returns
	Std    float64   // sample standard deviation of the returns; NaN, not known, of fewer than two
	Error  float64   // standard error of Mean: Std over the root of the number of episodes; NaN where Std is
	Length float64   // mean number of steps
	Full   int       // episodes that have all steps
	Return []float64 // of each episode; NaN if it is not finite
	// Failed counts the episodes whose return is not finite. They are left out of Mean, Std, Error and Length.
	Failed int
	// Reports are the means of the finite reports, in the order of Rollout.Reports; nil for none.
	Reports []float64
}

// Score returns the result without its episodes.
func (r EvalResult) Score() EvalScore { return EvalScore{r.Mean, r.Error, r.Failed, len(r.Return)} }

// String is that of the score.
func (r EvalResult) String() string { return r.Score().String() }

// Compare is that of the score.
func (r EvalResult) Compare(other EvalResult) int { return r.Score().Compare(other.Score()) }

// Names of one of several episodes, by their returns.
const (
	BestEpisode   = "best"
	MedianEpisode = "median"
	WorstEpisode  = "worst"
)

// Episode returns the number of the episode with the greatest, the median or the least return; of an even number of
// episodes the lower one of the two in the middle, of equal ones the first. An episode that failed is one only if all
// did.
func (r EvalResult) Episode(which string) int {
	order := make([]int, 0, len(r.Return))
	for i, x := range r.Return {
		if !math.IsNaN(x) {
			order = append(order, i)
		}
	}
	if len(order) == 0 {
		return 0
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(r.Return[a], r.Return[b]) })
	at := map[string]int{WorstEpisode: 0, MedianEpisode: (len(order) - 1) / 2, BestEpisode: len(order) - 1}[which]
	return slices.IndexFunc(r.Return, func(x float64) bool { return x == r.Return[order[at]] })
}

// NewEvaluator compiles the program that plays a number of members like example, each on a number of episodes. purpose
// describes it.
func NewEvaluator(b xlabridge.Backend, r *Rollout, example any, members, episodes int, purpose string) (
	*Evaluator, error) {
	var stacked any
	if err := graph.Try(func() { stacked = stack(repeat(example, members)) }); err != nil {
		return nil, err
	}
	e := &Evaluator{backend: b, episodes: episodes, steps: r.Steps, members: members}
	return e, e.compile(r, stacked, purpose)
}

// NewSingleEvaluator compiles the program that plays one member like example on a number of episodes. It is for large
// members: parameters that are on the devices are not copied.
func NewSingleEvaluator(b xlabridge.Backend, r *Rollout, example any, episodes int, purpose string) (
	*Evaluator, error) {
	e := &Evaluator{backend: b, episodes: episodes, steps: r.Steps, members: 1, single: true}
	return e, e.compile(r, example, purpose)
}

// compile compiles the program for players: a stack of members, or the single member.
func (e *Evaluator) compile(r *Rollout, players any, purpose string) error {
	one := *r
	one.Episodes = 1
	in, err := graph.Eval(one.Inputs())
	if err != nil {
		return err
	}
	e.batch = batchOf(e.members, e.episodes, e.steps)
	args := []any{players, random.New(0), graph.Of(int32(0)), in}
	p, err := graph.TraceArgs("evaluate", args, graph.TraceOptions{}, func(args []any) any {
		one := one.Bound(args[3].(map[string]*graph.Array))
		key, first := args[1].(random.Key), args[2].(*graph.Array)
		play := func(params any) any {
			s := graph.VMap(func(number *graph.Array) Summary {
				return one.EpisodeToEnd(params, random.FoldIn(key, number))
			})(graph.Iota(e.batch).Add(first))
			return graph.Concatenate(
				0, append([]*graph.Array{s.Return.ExpandDims(0), s.Length.ExpandDims(0)},
					rowsOf(s.Reports)...)...)
		}
		if e.single {
			return play(args[0])
		}
		return graph.VMap(play)(args[0])
	})
	if err != nil {
		return err
	}
	options := one.Plan.Compile()
	options.OneDevice = e.single
	options.Purpose = fmt.Sprintf("evaluation of %s, %d x %d episodes", purpose, e.members, e.episodes)
	e.program, err = e.backend.Compile(p, options)
	e.inputs = graph.Leaves(in)
	return err
}

// Program returns the compiled program.
func (e *Evaluator) Program() *xlabridge.Compiled { return e.program }

// Play plays the members: episode e of each has the key FoldIn(key, e).
func (e *Evaluator) Play(members []any, key random.Key) ([]EvalResult, error) {
	if len(members) != e.members {
		return nil, fmt.Errorf("episode: this evaluator plays %d members, got %d", e.members, len(members))
	}
	players, err := e.players(members)
	if err != nil {
		return nil, err
	}
	key, err = graph.Eval(key)
	if err != nil {
		return nil, err
	}
	progress := e.OnProgress
	if progress == nil {
		progress = func(int, int) {}
	}
	progress(0, e.episodes)
	rows := make([][][]float64, e.members) // of each member: returns, lengths and each report, by episode
	for first := 0; first < e.episodes; first += e.batch {
		n := min(e.batch, e.episodes-first) // the last call plays some more, which do not count
		played, err := e.call(players, key, first)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			mine := played[i*len(played)/e.members : (i+1)*len(played)/e.members]
			for k := 0; k*e.batch < len(mine); k++ {
				if first == 0 {
					rows[i] = append(rows[i], nil)
				}
				rows[i][k] = append(rows[i][k], mine[k*e.batch:k*e.batch+n]...)
			}
		}
		progress(first+n, e.episodes)
	}
	all := make([]EvalResult, e.members)
	for i, r := range rows {
		all[i] = resultOf(r[0], r[1], e.steps)
		for _, report := range r[2:] {
			all[i].Reports = append(all[i].Reports, MeanOfFinite(report))
		}
	}
	return all, nil
}

// call plays a batch of episodes from the number first on.
func (e *Evaluator) call(players any, key random.Key, first int) ([]float64, error) {
	out, err := e.program.Call(append(append(graph.Leaves(players), key.Data, graph.Of(int32(first))), e.inputs...))
	if err != nil {
		return nil, err
	}
	defer xlabridge.Free(out)
	return graph.Floats(out[0])
}

// players returns what the program takes for members: the only one, or their stack, on the host.
func (e *Evaluator) players(members []any) (any, error) {
	if e.single {
		return graph.Eval(members[0])
	}
	first, tree := graph.Flatten(members[0])
	stacks := make([][]byte, len(first))
	for _, m := range members {
		for i, leaf := range graph.Leaves(m) {
			if stacks[i] == nil {
				stacks[i] = make([]byte, 0, len(members)*leaf.Shape().Bytes())
			}
			err := graph.View(leaf, func(b []byte) error {
				stacks[i] = append(stacks[i], b...)
				return nil
			})
			if err != nil {
				return nil, err
			}
		}
	}
	for i, a := range first {
		first[i] = graph.FromBytes(graph.ShapeOf(a.DType(), append([]int{len(members)}, a.Dims()...)...), stacks[i])
	}
	return tree.Unflatten(first), nil
}

// resultOf returns the result of episodes of so many steps at most.
func resultOf(returns, lengths []float64, steps int) (r EvalResult) {
	r.Return, r.Std, r.Error = slices.Clone(returns), math.NaN(), math.NaN()
	n := 0.
	for i, x := range returns {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			r.Return[i] = math.NaN()
			r.Failed++
			continue
		}
		n++
		r.Mean += x
		r.Length += lengths[i]
		if int(lengths[i]) == steps {
			r.Full++
		}
	}
	if n == 0 {
		r.Mean = math.Inf(-1)
		return r
	}
	r.Mean, r.Length = r.Mean/n, r.Length/n
	if n < 2 {
		return r
	}
	variance := 0.
	for _, x := range r.Return {
		if !math.IsNaN(x) {
			variance += (x - r.Mean) * (x - r.Mean) / (n - 1)
		}
	}
	r.Std = math.Sqrt(variance)
	r.Error = r.Std / math.Sqrt(n)
	return r
}

// Caption says which episode is drawn, for its picture: "median of 100".
func (r EvalResult) Caption(which string) string {
	text := fmt.Sprintf("%s of %d", which, len(r.Return))
	if r.Failed > 0 {
		text += fmt.Sprintf(", %d failed", r.Failed)
	}
	return text
}

// rowsOf returns the reports of many episodes, [episodes, r], with a row for each number, or none for nil.
func rowsOf(reports *graph.Array) []*graph.Array {
	if reports == nil {
		return nil
	}
	return []*graph.Array{reports.Transpose(1, 0)}
}

// MeanOfFinite returns the mean of the finite numbers, or NaN.
func MeanOfFinite(numbers []float64) float64 {
	sum, n := 0., 0.
	for _, x := range numbers {
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			sum, n = sum+x, n+1
		}
	}
	return sum / n
}

// Close frees the program.
func (e *Evaluator) Close() error { return e.program.Close() }

func repeat(x any, n int) []any {
	all := make([]any, n)
	for i := range all {
		all[i] = x
	}
	return all
}

// stack stacks trees of one structure along a new axis 0 of every leaf.
func stack(trees []any) any {
	first, tree := graph.Flatten(trees[0])
	columns := make([][]*graph.Array, len(first))
	for _, t := range trees {
		for i, leaf := range graph.Leaves(t) {
			columns[i] = append(columns[i], leaf)
		}
	}
	leaves := make([]*graph.Array, len(columns))
	for i, c := range columns {
		leaves[i] = graph.Stack(c, 0)
	}
	return tree.Unflatten(leaves)
}
