package episode

import (
	"cmp"
	"errors"
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
	// episodes that members have played, on average and in whole batches.
	OnProgress func(done, total int)

	backend  xlabridge.Backend
	program  *xlabridge.Compiled
	inputs   []*graph.Array // of the rollout
	devices  int            // each plays a batch in a call of the program
	episodes int
	batch    int  // episodes
	steps    int  // of an episode at most
	members  int  // of a batch
	single   bool // the program takes a member as it is, not a stack of members
}

// mostBatchSteps bounds the environment steps of one batch, so that a long validation can tell how far it is. Tests set
// it.
var mostBatchSteps = 1 << 24

// leastBatch is the number of episodes that a batch has all the same: fewer would leave vectors unused.
const leastBatch = 16

// coreBatch is the most episodes of a batch on a core.
const coreBatch = 64

// batchOf returns the number of episodes of a batch. Where batches are dealt to cores, the episodes of a member are an
// even number of them. It does not depend on the number of cores.
func batchOf(members, episodes, steps int, deals bool) int {
	batch := min(episodes, max(leastBatch, mostBatchSteps/(members*steps)))
	if deals && episodes >= 2*leastBatch {
		batches := 2 * ((episodes + 2*coreBatch - 1) / (2 * coreBatch))
		batch = min(batch, (episodes+batches-1)/batches)
	}
	return batch
}

// dealsBatches reports whether the members of an evaluation are played in small batches, which are dealt to the
// devices: on the cores of a CPU, unless the environment takes one batch at a time.
func dealsBatches(b xlabridge.Backend, r *Rollout) bool {
	return b.Backend() == "cpu" && !r.Env.Spec().Host
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

// NewEvaluator compiles the program that plays a number of members like example, each on a number of episodes, on the
// devices of r.Plan. Results do not depend on their number. purpose describes it.
func NewEvaluator(b xlabridge.Backend, r *Rollout, example any, members, episodes int, purpose string) (
	*Evaluator, error) {
	var stacked any
	if err := graph.Try(func() { stacked = stack(repeat(example, members)) }); err != nil {
		return nil, err
	}
	e := &Evaluator{backend: b, devices: 1, episodes: episodes, steps: r.Steps, members: members}
	if dealsBatches(b, r) {
		e.devices = max(1, r.Plan.Devices)
	}
	return e, e.compile(r, stacked, purpose)
}

// NewSingleEvaluator compiles the program that plays one member like example on a number of episodes. It is for large
// members: parameters that are on the devices are not copied.
func NewSingleEvaluator(b xlabridge.Backend, r *Rollout, example any, episodes int, purpose string) (
	*Evaluator, error) {
	e := &Evaluator{backend: b, devices: 1, episodes: episodes, steps: r.Steps, members: 1, single: true}
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
	e.batch = batchOf(e.members, e.episodes, e.steps, !e.single && dealsBatches(e.backend, r))
	args := []any{players, random.New(0), graph.Of(int32(0)), in}
	p, err := graph.TraceArgs("evaluate", args, graph.TraceOptions{Replicas: e.devices}, func(args []any) any {
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
	return e.play(members, key)
}

// play is Play for a multiple of the program's members.
func (e *Evaluator) play(members []any, key random.Key) ([]EvalResult, error) {
	var groups []any
	for group := range slices.Chunk(members, e.members) {
		players, err := e.players(group)
		if err != nil {
			return nil, err
		}
		groups = append(groups, players)
	}
	key, err := graph.Eval(key)
	if err != nil {
		return nil, err
	}
	progress := e.OnProgress
	if progress == nil {
		progress = func(int, int) {}
	}
	progress(0, e.episodes)
	var batches []batch
	for i, players := range groups { // group by group, as the next round then mostly has the players of this one
		for first := 0; first < e.episodes; first += e.batch {
			batches = append(batches, batch{graph.Leaves(players), i * e.members, first})
		}
	}
	rows := make([][][]float64, len(members)) // of each member: returns, lengths and each report, by episode
	done := 0
	var on onDevices
	defer func() { xlabridge.Free(on.players) }()
	for round := range slices.Chunk(batches, e.devices) {
		played, err := e.call(round, key, &on)
		if err != nil {
			return nil, err
		}
		for d, x := range round {
			n := min(e.batch, e.episodes-x.episode) // the last batch has some more, which do not count
			for i := range e.members {
				mine := played[d][i*len(played[d])/e.members : (i+1)*len(played[d])/e.members]
				for k := 0; k*e.batch < len(mine); k++ {
					if x.episode == 0 {
						rows[x.member+i] = append(rows[x.member+i], nil)
					}
					rows[x.member+i][k] = append(rows[x.member+i][k], mine[k*e.batch:k*e.batch+n]...)
				}
			}
		}
		done += len(round)
		progress(min(e.episodes, done/len(groups)*e.batch), e.episodes)
	}
	all := make([]EvalResult, len(members))
	for i, r := range rows {
		all[i] = resultOf(r[0], r[1], e.steps)
		for _, report := range r[2:] {
			all[i].Reports = append(all[i].Reports, MeanOfFinite(report))
		}
	}
	return all, nil
}

// batch is what one device plays in a call of the program: some members, each on Evaluator.batch episodes.
type batch struct {
	players []*graph.Array // leaves of what Evaluator.players returns
	member  int            // the number of the first one
	episode int            // the number of the first one
}

// onDevices is what the devices have of the last round.
type onDevices struct {
	members []int // of each device's batch
	players []*graph.Array
}

// call plays a batch on each device; the last one of fewer batches on those that are left.
func (e *Evaluator) call(round []batch, key random.Key, on *onDevices) (played [][]float64, err error) {
	players, episode := round[0].players, []*graph.Array{graph.Of(int32(round[0].episode))}
	if e.devices > 1 {
		members := make([]int, e.devices)
		parts, episodes := make([][]*graph.Array, e.devices), make([][]*graph.Array, e.devices)
		for d := range e.devices {
			x := round[min(d, len(round)-1)]
			members[d], parts[d], episodes[d] = x.member, x.players, []*graph.Array{graph.Of(int32(x.episode))}
		}
		if !slices.Equal(on.members, members) {
			xlabridge.Free(on.players)
			on.members = members
			if on.players, err = e.put(parts); err != nil {
				return nil, err
			}
		}
		if episode, err = e.put(episodes); err != nil {
			return nil, err
		}
		defer xlabridge.Free(episode)
		players = on.players
	}
	out, err := e.program.Call(slices.Concat(players, []*graph.Array{key.Data}, episode, e.inputs))
	if err != nil {
		return nil, err
	}
	defer xlabridge.Free(out)
	part := make([]byte, out[0].Shape().Bytes())
	for d := range round {
		err = errors.Join(err, xlabridge.PartToHost(out[0], d, part))
		numbers, wrong := graph.Floats(graph.FromBytes(out[0].Shape(), part))
		played, err = append(played, numbers), errors.Join(err, wrong)
	}
	return played, err
}

// put makes arrays whose values on each device are those of args.
func (e *Evaluator) put(args [][]*graph.Array) (all []*graph.Array, err error) {
	var part []byte
	for i, a := range args[0] {
		array, failed := xlabridge.PutParts(e.backend, e.devices, a.Shape(), func(d int) []byte {
			err = errors.Join(err, graph.View(args[d][i], func(b []byte) error {
				part = append(part[:0], b...)
				return nil
			}))
			return part
		})
		if failed == nil {
			all = append(all, array)
		}
		if err = errors.Join(err, failed); err != nil {
			xlabridge.Free(all)
			return nil, err
		}
	}
	return all, nil
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
