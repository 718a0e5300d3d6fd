package episode

import (
	"fmt"
	"math"
	"slices"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/xlabridge"
)

// Evaluator plays members on new episodes, the same ones for all: a compiled program.
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
	// Reports are the means of the policy's finite reports, in the order of policy.Reporter.Reports; nil for none.
	Reports []float64
}

// String returns the mean return with its standard error, if that is known: "9.2 ± 0.4".
func (j EvalResult) String() string {
	if math.IsNaN(j.Error) {
		return fmt.Sprintf("%.4g", j.Mean)
	}
	return fmt.Sprintf("%.4g ± %.2g", j.Mean, j.Error)
}

// NewEvaluator compiles the program that plays a number of members like example, each on a number of episodes. purpose
// describes it.
func NewEvaluator(b xlabridge.Backend, r *Rollout, example any, members, episodes int, purpose string) (*Evaluator,
	error) {
	var stacked any
	if err := graph.Try(func() { stacked = stack(repeat(example, members)) }); err != nil {
		return nil, err
	}
	j := &Evaluator{backend: b, episodes: episodes, steps: r.Steps, members: members}
	return j, j.compile(r, stacked, purpose)
}

// NewSingleEvaluator compiles the program that plays one member like example on a number of episodes. It is for large
// members: parameters that are on the devices are not copied.
func NewSingleEvaluator(b xlabridge.Backend, r *Rollout, example any, episodes int, purpose string) (*Evaluator,
	error) {
	j := &Evaluator{backend: b, episodes: episodes, steps: r.Steps, members: 1, single: true}
	return j, j.compile(r, example, purpose)
}

// compile compiles the program for players: a stack of members, or the single member.
func (j *Evaluator) compile(r *Rollout, players any, purpose string) error {
	one := *r
	one.Episodes = 1
	in, err := graph.Eval(one.Inputs())
	if err != nil {
		return err
	}
	j.batch = batchOf(j.members, j.episodes, j.steps)
	args := []any{players, random.New(0), graph.Of(int32(0)), in}
	p, err := graph.TraceArgs("judge", args, graph.TraceOptions{}, func(args []any) any {
		one := one.Bound(args[3].(map[string]*graph.Array))
		key, first := args[1].(random.Key), args[2].(*graph.Array)
		play := func(params any) any {
			s := graph.VMap(func(e *graph.Array) Summary {
				return one.Episode(params, random.FoldIn(key, e))
			})(graph.Iota(j.batch).Add(first))
			return graph.Concatenate(
				0, append([]*graph.Array{s.Return.ExpandDims(0), s.Length.ExpandDims(0)},
					rowsOf(s.Reports)...)...)
		}
		if j.single {
			return play(args[0])
		}
		return graph.VMap(play)(args[0])
	})
	if err != nil {
		return err
	}
	options := one.Plan.Compile()
	options.OneDevice = j.single
	options.Purpose = fmt.Sprintf("judge of %s, %d x %d episodes", purpose, j.members, j.episodes)
	j.program, err = j.backend.Compile(p, options)
	j.inputs = graph.Leaves(in)
	return err
}

// Program returns the compiled program.
func (j *Evaluator) Program() *xlabridge.Compiled { return j.program }

// Play plays the members: episode e of each has the key FoldIn(key, e).
func (j *Evaluator) Play(members []any, key random.Key) ([]EvalResult, error) {
	if len(members) != j.members {
		return nil, fmt.Errorf("episode: this judge plays %d members, got %d", j.members, len(members))
	}
	players, err := j.players(members)
	if err != nil {
		return nil, err
	}
	key, err = graph.Eval(key)
	if err != nil {
		return nil, err
	}
	progress := j.OnProgress
	if progress == nil {
		progress = func(int, int) {}
	}
	progress(0, j.episodes)
	rows := make([][][]float64, j.members) // of each member: returns, lengths and each report, by episode
	for first := 0; first < j.episodes; first += j.batch {
		n := min(j.batch, j.episodes-first) // the last call plays some more, which do not count
		played, err := j.call(players, key, first)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			mine := played[i*len(played)/j.members : (i+1)*len(played)/j.members]
			for k := 0; k*j.batch < len(mine); k++ {
				if first == 0 {
					rows[i] = append(rows[i], nil)
				}
				rows[i][k] = append(rows[i][k], mine[k*j.batch:k*j.batch+n]...)
			}
		}
		progress(first+n, j.episodes)
	}
	all := make([]EvalResult, j.members)
	for i, r := range rows {
		all[i] = judge(r[0], r[1], j.steps)
		for _, report := range r[2:] {
			all[i].Reports = append(all[i].Reports, MeanOfFinite(report))
		}
	}
	return all, nil
}

// call plays a batch of episodes from the number first on.
func (j *Evaluator) call(players any, key random.Key, first int) ([]float64, error) {
	out, err := j.program.Call(append(append(graph.Leaves(players), key.Data, graph.Of(int32(first))), j.inputs...))
	if err != nil {
		return nil, err
	}
	defer xlabridge.Free(out)
	return graph.Floats(out[0])
}

// players returns what the program takes for members: the only one, or their stack, on the host.
func (j *Evaluator) players(members []any) (any, error) {
	if j.single {
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

// judge summarizes episodes of so many steps at most.
func judge(returns, lengths []float64, steps int) (j EvalResult) {
	j.Return, j.Std, j.Error = slices.Clone(returns), math.NaN(), math.NaN()
	n := 0.
	for i, x := range returns {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			j.Return[i] = math.NaN()
			j.Failed++
			continue
		}
		n++
		j.Mean += x
		j.Length += lengths[i]
		if int(lengths[i]) == steps {
			j.Full++
		}
	}
	if n == 0 {
		j.Mean = math.Inf(-1)
		return j
	}
	j.Mean, j.Length = j.Mean/n, j.Length/n
	if n < 2 {
		return j
	}
	variance := 0.
	for _, x := range j.Return {
		if !math.IsNaN(x) {
			variance += (x - j.Mean) * (x - j.Mean) / (n - 1)
		}
	}
	j.Std = math.Sqrt(variance)
	j.Error = j.Std / math.Sqrt(n)
	return j
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
func (j *Evaluator) Close() error { return j.program.Close() }

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
