package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun-bench/bench/bbob"
	"xlarun/cmd/xlarun/console"
	"xlarun/graph"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// bbobStart is how a strategy is set up for functions whose optimum lies within 4 of the middle in every coordinate, on
// both sides alike. All else is as it is by default.
type bbobStart struct {
	sigma, rate float64 // rate 0: it has none, or its own
	more        settings.Values
}

// bbobStarts are the strategies that evosax has too.
var bbobStarts = map[string]bbobStart{
	"openes": {sigma: .5, rate: .1}, "pgpe": {sigma: .5, rate: .1}, "ars": {sigma: .5, rate: .1},
	"nres": {sigma: .5, rate: .1}, "pes": {sigma: .5, rate: .1},
	"guidedes": {sigma: 2, rate: .1}, "asebo": {sigma: 2, rate: .1}, // the length of the noise
	"snes": {sigma: 2}, "xnes": {sigma: 2}, "cmaes": {sigma: 2}, "sepcmaes": {sigma: 2}, "crfmnes": {sigma: 2},
	"maes": {sigma: 2}, "lmmaes": {sigma: 2}, "rmes": {sigma: 2, more: settings.Values{"paths": 1}},
	"svcmaes": {sigma: 2, more: settings.Values{"searches": 4}}, "iamalgam": {sigma: 2}, "iamalgamu": {sigma: 2},
	"de": {sigma: 2}, "pso": {sigma: 2}, "simplega": {sigma: .3}, "samrga": {sigma: 1}, "mr15ga": {sigma: 1},
	"gesmrga":   {sigma: 1, more: settings.Values{"groups": 1}},
	"diffusion": {sigma: 2}, "randomsearch": {sigma: 2}, "hillclimbing": {sigma: .3}, "annealing": {sigma: .3},
	"gradientless": {sigma: 1},
}

func bbobNames() []string {
	return slices.DeleteFunc(slices.Clone(strategy.Names()), func(name string) bool {
		_, ok := bbobStarts[name]
		return !ok
	})
}

type bbobFlags struct {
	console.BackendFlags
	peers, json        bool
	python             string
	limit              time.Duration
	dims, populations  []int
	generations, seeds int
	seed               int64
	out, keep          string
}

func bbobDefaults() bbobFlags {
	return bbobFlags{dims: []int{10, 40}, populations: []int{32, 64},
		generations: 100, seeds: 15, seed: 1}
}

func bbobCommand(h *host) *cobra.Command {
	o := bbobDefaults()
	cmd := &cobra.Command{
		Use:   "bbob [STRATEGY...]",
		Short: "Compare strategies with evosax's on the 24 functions of BBOB",
		Long: "Bench bbob minimizes the 24 noiseless functions of black-box optimization benchmarking in several " +
			"dimensions: runs of a strategy on all functions, each with an instance (shift, rotation) and a start of " +
			"its own, are the lanes of one program. With --peers evosax's same strategy gets the same functions, " +
			"instances, starts, settings and evaluations; the best values of the runs are compared, function by " +
			"function, by the exact rank-sum test of Wilcoxon with Holm's correction over all comparisons of a " +
			"strategy.\n\n" +
			"Strategies: " + strings.Join(bbobNames(), ", "),
		Example: "  xlarun bench bbob --peers --out docs/reference/bbob.md\n" +
			"  xlarun bench bbob cmaes --dims 10 --populations 32",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = bbobNames()
			}
			if err := o.check(args); err != nil {
				return err
			}
			return (&bbobBench{host: h, flags: o}).run(cmd.Context(), args)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.AddBackend(f)
	f.IntSliceVar(&o.dims, "dims", o.dims, "dimensions of the functions")
	f.IntSliceVar(&o.populations, "populations", o.populations, "members for each of the dimensions")
	f.IntVar(&o.generations, "generations", o.generations, "generations of a run")
	f.IntVar(&o.seeds, "seeds", o.seeds, "runs on each function")
	f.Int64Var(&o.seed, "seed", o.seed, "seed of the strategies' draws; instances and starts are always the same")
	addPeers(f, &o.peers, &o.python, &o.limit)
	f.StringVar(&o.keep, "keep", "", "file with a line of JSON for each search that has ended; those that it has are "+
		"not run again")
	f.StringVar(&o.out, "out", "", "file for the tables, in Markdown")
	f.BoolVar(&o.json, "json", false, "end stdout with one line of JSON")
	return cmd
}

func (o *bbobFlags) check(names []string) error {
	if err := o.BackendFlags.Check(); err != nil {
		return err
	}
	for _, name := range names {
		if _, ok := bbobStarts[name]; !ok {
			return console.BadInput("there is no strategy %q to compare with evosax's%s; there are %s", name,
				console.DidYouMean(name, bbobNames()), strings.Join(bbobNames(), ", "))
		}
	}
	if len(o.dims) == 0 || len(o.dims) != len(o.populations) {
		return console.BadInput("--populations got %d numbers, wants %d: one for each of --dims", len(o.populations),
			len(o.dims))
	}
	for i, d := range o.dims {
		if d < 2 || d > 1000 {
			return console.BadInput("--dims got %d, wants 2 to 1000", d)
		}
		if p := o.populations[i]; p < 4 || p%2 != 0 {
			return console.BadInput("--populations got %d, wants an even number of 4 or more, as antithetic "+
				"strategies and de need it", p)
		}
	}
	for _, name := range names {
		s, err := strategy.Make(name, bbobStarts[name].more)
		if err != nil {
			return err
		}
		for _, p := range o.populations {
			if size := s.GroupSize; p%size != 0 || p < 2*size {
				return console.BadInput("--populations got %d, wants a multiple of %d, at least %d: %s has groups "+
					"of %d", p, size, 2*size, name, size)
			}
		}
	}
	if o.generations < 1 {
		return console.BadInput("--generations got %d, wants 1 or more", o.generations)
	}
	if o.seeds < 1 || o.seeds > 50 {
		return console.BadInput("--seeds got %d, wants 1 to 50", o.seeds)
	}
	if o.out != "" && !o.peers {
		return console.BadInput("--out got %q, but there is nothing to compare: add --peers", o.out)
	}
	return nil
}

// bbobRuns are the runs of one side: the best value of each function and seed, and the seconds that they took.
type bbobRuns struct {
	Best    [][]float64 `json:"best"`
	Compile float64     `json:"compile"`
	Run     float64     `json:"run"`
}

type bbobBench struct {
	*host
	flags bbobFlags
}

func (b *bbobBench) run(ctx context.Context, names []string) (err error) {
	o := b.flags.BackendFlags
	o.Devices = 1
	backend, err := b.open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { _ = backend.Close() }()
	var peer *process
	if b.flags.peers {
		var end func()
		if peer, end, err = startPeer(ctx, b.host, b.flags.python, "evosax_bbob.py", b.flags.limit); err != nil {
			return err
		}
		defer end()
	}
	kept, err := readKept[bbobPair](b.flags.keep)
	if err != nil {
		return err
	}
	var table []row
	ours, theirs := map[string][]bbobRuns{}, map[string][]bbobRuns{}
	for i, d := range b.flags.dims { // dimension by dimension: the peer compiles its functions once for each
		for _, name := range names {
			fmt.Fprintf(b.Err, "%s, %d dimensions\n", name, d)
			found, err := b.pair(backend, peer, kept, b.question(name, d, b.flags.populations[i]))
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			ours[name] = append(ours[name], found.Ours)
			w := Workload{Name: fmt.Sprintf("bbob-%s-%d", name, d)}
			our, peers := &side{seconds: []float64{found.Ours.Run}, compile: []float64{found.Ours.Compile}}, []*side{}
			if found.Peer != nil {
				theirs[name] = append(theirs[name], *found.Peer)
				peers = append(peers, &side{peer: &Peer{Name: "evosax"}, seconds: []float64{found.Peer.Run},
					compile: []float64{found.Peer.Compile}})
			}
			table = append(table, rows(w, our, peers)...)
		}
	}
	result := bbobResult{Workloads: table}
	for _, name := range names {
		result.Comparisons = append(result.Comparisons, b.compare(name, ours[name], theirs[name]))
	}
	if err := printComparisons(b.Out, result.Comparisons, "EVOSAX", b.flags.peers); err != nil {
		return err
	}
	if b.flags.out != "" {
		if err := os.WriteFile(b.flags.out, []byte(b.markdown(result)), 0o644); err != nil {
			return err
		}
	}
	if b.flags.json {
		return b.PrintJSON(result)
	}
	return nil
}

// bbobPair is a search of both sides, as --keep keeps it.
type bbobPair struct {
	Search bbobQuestion `json:"search"`
	Ours   bbobRuns     `json:"ours"`
	Peer   *bbobRuns    `json:"peer,omitempty"`
}

// pair finds a search among those that are kept, or runs it.
func (b *bbobBench) pair(backend xlabridge.Backend, peer *process, kept []bbobPair,
	q bbobQuestion) (p bbobPair, err error) {
	i := slices.IndexFunc(kept, func(p bbobPair) bool {
		return reflect.DeepEqual(p.Search, q) && (p.Peer != nil || peer == nil)
	})
	if i >= 0 {
		return kept[i], nil
	}
	p.Search = q
	if p.Ours, err = b.ours(backend, q); err != nil {
		return p, err
	}
	if peer != nil {
		other, err := searchBy(peer, q)
		if err != nil {
			return p, err
		}
		p.Peer = &other
	}
	return p, keep(b.flags.keep, p)
}

// bbobResult is the line that --json ends with.
type bbobResult struct {
	Comparisons []comparison `json:"comparisons"`
	Workloads   []row        `json:"workloads"`
}

// ours runs a strategy of ours.
func (b *bbobBench) ours(backend xlabridge.Backend, q bbobQuestion) (r bbobRuns, err error) {
	given := settings.Values{"sigma": q.Sigma}
	if q.LearningRate > 0 {
		given = given.With("learning-rate", q.LearningRate)
	}
	maps.Copy(given, bbobStarts[q.Strategy].more)
	s, err := strategy.Make(q.Strategy, given)
	if err != nil {
		return r, err
	}
	search := bbob.Search{Strategy: s, Functions: bbob.Functions(), Dims: q.Dims, Population: q.Population,
		Generations: q.Generations, Seeds: q.Seeds}
	var in bbob.Inputs
	if err := graph.Try(func() { in = search.NewInputs(q.Seed) }); err != nil {
		return r, err
	}
	if in, err = xlabridge.Put(backend, 1, in); err != nil {
		return r, err
	}
	defer xlabridge.Free(in)
	begin := time.Now()
	program, err := graph.Trace("bbob", search.Run, in)
	if err != nil {
		return r, err
	}
	options := xlabridge.CompileOptions{Purpose: fmt.Sprintf("bench bbob: %s, %d dimensions", q.Strategy,
		q.Dims)}.ForJit(backend)
	compiled, err := backend.Compile(program, options)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, compiled.Close()) }()
	r.Compile = time.Since(begin).Seconds()
	begin = time.Now()
	out, err := compiled.Call(graph.Leaves(in))
	if err != nil {
		return r, err
	}
	defer xlabridge.Free(out)
	all, err := graph.Floats(out[0])
	r.Run = time.Since(begin).Seconds()
	for runs := range slices.Chunk(all, q.Seeds) {
		r.Best = append(r.Best, each(runs, func(x float64) float64 { return min(x, infinite) }))
	}
	return r, err
}

// bbobQuestion is what the peer is asked; evosax_bbob.py says what its parts are.
type bbobQuestion struct {
	Strategy     string   `json:"strategy"`
	Functions    []string `json:"functions"`
	Dims         int      `json:"dims"`
	Population   int      `json:"population"`
	Generations  int      `json:"generations"`
	Seeds        int      `json:"seeds"`
	Seed         int64    `json:"seed"`
	Sigma        float64  `json:"sigma"`
	LearningRate float64  `json:"learning_rate"`
}

func (b *bbobBench) question(name string, d, population int) bbobQuestion {
	q := bbobQuestion{Strategy: name, Dims: d, Population: population, Generations: b.flags.generations,
		Seeds: b.flags.seeds, Seed: b.flags.seed,
		Sigma: bbobStarts[name].sigma, LearningRate: bbobStarts[name].rate}
	for _, f := range bbob.Functions() {
		q.Functions = append(q.Functions, f.Name)
	}
	return q
}

// searchBy asks evosax_bbob.py for a search.
func searchBy(p *process, q bbobQuestion) (r bbobRuns, err error) {
	if err := p.ask(q, &r); err != nil {
		return r, err
	}
	if len(r.Best) != len(q.Functions) || slices.ContainsFunc(r.Best, func(v []float64) bool {
		return len(v) != q.Seeds
	}) {
		return r, fmt.Errorf("the peer evosax_bbob.py answered with %d functions, want %d of %d runs each", len(r.Best),
			len(q.Functions), q.Seeds)
	}
	return r, nil
}

// bbobResolution is the value up to which an optimum counts as found: less is the rounding of float32, which differs
// from side to side.
const bbobResolution = 1e-5

// compare compares the runs of a strategy in all dimensions; without a peer's, nothing is better or worse.
func (b *bbobBench) compare(name string, ours, theirs []bbobRuns) comparison {
	c := comparison{Strategy: name}
	for i, d := range b.flags.dims {
		for j, f := range bbob.Functions() {
			var peers []float64
			if theirs != nil {
				peers = theirs[i].Best[j]
			}
			l := problemLine{Function: f.Name, Dims: d}
			c.Lines = append(c.Lines, l.fill(bbob.RankSum, bbobResolution, ours[i].Best[j], peers))
		}
	}
	return c.count()
}
