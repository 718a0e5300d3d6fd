package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/bench/bbob"
	"xlarun/cmd/xlarun/console"
	"xlarun/graph"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// bbobStart is how a strategy is set up for functions whose optimum lies within 4 of the middle in every coordinate, on both
// sides alike. All else is as it is by default.
type bbobStart struct {
	sigma, rate float64 // rate 0: it has none, or its own
}

// bbobStarts are the strategies that evosax has too.
var bbobStarts = map[string]bbobStart{
	"openes": {.5, .1}, "pgpe": {.5, .1}, "ars": {.5, .1}, "snes": {2, 0}, "xnes": {2, 0}, "cmaes": {2, 0}, "sepcmaes": {2, 0}, "crfmnes": {2, 0},
	"de": {2, 0}, "pso": {2, 0}, "simplega": {.3, 0}, "samrga": {1, 0}, "randomsearch": {2, 0},
}

func bbobNames() []string {
	var names []string
	for _, name := range strategy.Names() {
		if _, ok := bbobStarts[name]; ok {
			names = append(names, name)
		}
	}
	return names
}

type bbobFlags struct {
	commonFlags
	dims, populations  []int
	generations, seeds int
	seed               int64
	out, keep          string
}

// bbobAlpha is the probability of finding a difference anywhere in a strategy's comparisons where there is none.
const bbobAlpha = .05

func bbobDefaults() bbobFlags {
	return bbobFlags{commonFlags: commonFlags{repeats: 1}, dims: []int{10, 40}, populations: []int{32, 64}, generations: 100, seeds: 15, seed: 1}
}

func bbobCommand(h *host) *cobra.Command {
	o := bbobDefaults()
	cmd := &cobra.Command{
		Use:   "bbob [STRATEGY...]",
		Short: "Compare strategies with evosax's on the 24 functions of BBOB",
		Long: "Bench bbob minimises the 24 noiseless functions of black-box optimisation benchmarking in several dimensions: runs of a strategy\n" +
			"on all functions, each with an instance (shift, rotation) and a start of its own, are the lanes of one program. With --peers evosax's\n" +
			"same strategy gets the same functions, instances, starts, settings and evaluations; the best values of the runs are compared,\n" +
			"function by function, by the exact rank-sum test of Wilcoxon with Holm's correction over all comparisons of a strategy.\n\n" +
			"Strategies: " + strings.Join(bbobNames(), ", "),
		Example: "  xlarun bench bbob --peers --out docs/bbob.md\n  xlarun bench bbob cmaes --dims 10 --populations 32",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(args); err != nil {
				return err
			}
			if len(args) == 0 {
				args = bbobNames()
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
	f.BoolVar(&o.peers, "peers", false, "run evosax too, and compare")
	o.addPython(f)
	f.StringVar(&o.keep, "keep", "", "file with a line of JSON for each search that has ended; those that it has are not run again")
	f.StringVar(&o.out, "out", "", "file for the tables, in Markdown")
	o.addJSON(f)
	return cmd
}

func (o *bbobFlags) check(names []string) error {
	if err := o.commonFlags.check(); err != nil {
		return err
	}
	for _, name := range names {
		if _, ok := bbobStarts[name]; !ok {
			return console.BadInput("there is no strategy %q to compare with evosax's%s; there are %s", name, console.DidYouMean(name, bbobNames()), strings.Join(bbobNames(), ", "))
		}
	}
	if len(o.dims) == 0 || len(o.dims) != len(o.populations) {
		return console.BadInput("--populations got %d numbers, wants %d: one for each of --dims", len(o.populations), len(o.dims))
	}
	for i, d := range o.dims {
		if d < 2 || d > 1000 {
			return console.BadInput("--dims got %d, wants 2 to 1000", d)
		}
		if p := o.populations[i]; p < 4 || p%2 != 0 {
			return console.BadInput("--populations got %d, wants an even number of 4 or more, as antithetic strategies and de need it", p)
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

// bbobLine is a strategy on a function in some dimension.
type bbobLine struct {
	Function string  `json:"function"`
	Dims     int     `json:"dims"`
	Ours     float64 `json:"ours"` // median of the best values, which are what is left to the optimum
	Peer     float64 `json:"peer"`
	P        float64 `json:"p"`         // of the rank-sum test
	Holm     float64 `json:"corrected"` // over all lines of the strategy
	Sign     int     `json:"sign"`      // -1: ours are lower
}

// verdict is better, worse, or "" where the difference may be chance.
func (l bbobLine) verdict() string {
	switch {
	case l.Holm > bbobAlpha || l.Sign == 0:
		return ""
	case l.Sign < 0:
		return "better"
	}
	return "worse"
}

// bbobComparison is a strategy on all functions.
type bbobComparison struct {
	Strategy string     `json:"strategy"`
	Better   int        `json:"better"`
	Equal    int        `json:"equal"`
	Worse    int        `json:"worse"`
	Lines    []bbobLine `json:"lines"`
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
	var peer *linePeer
	if b.flags.peers {
		runner, err := newPeerRunner(ctx, b.host, b.flags.python)
		if err != nil {
			return err
		}
		defer runner.close()
		if peer, err = startLinePeer(ctx, runner, "evosax_bbob.py", "JAX_PLATFORMS=cpu"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, peer.stop()) }()
	}
	kept, err := b.kept()
	if err != nil {
		return err
	}
	var rows []row
	ours, theirs := map[string][]bbobRuns{}, map[string][]bbobRuns{}
	for i, d := range b.flags.dims { // dimension by dimension: the peer compiles its functions once for each
		for _, name := range names {
			fmt.Fprintf(b.Err, "%s, %d dimensions\n", name, d)
			found, err := b.pair(backend, peer, kept, b.question(name, d, b.flags.populations[i]))
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			ours[name] = append(ours[name], found.Ours)
			line := row{Name: fmt.Sprintf("bbob-%s-%d", name, d), Ours: found.Ours.Run}
			if found.Peer != nil {
				theirs[name] = append(theirs[name], *found.Peer)
				line = line.against("evosax", found.Peer.Run)
			}
			rows = append(rows, line)
		}
	}
	result := bbobResult{Workloads: rows}
	for _, name := range names {
		result.Comparisons = append(result.Comparisons, b.compare(name, ours[name], theirs[name]))
	}
	if err := b.print(b.Out, result); err != nil {
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
func (b *bbobBench) pair(backend xlabridge.Backend, peer *linePeer, kept []bbobPair, q bbobQuestion) (p bbobPair, err error) {
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
	return p, b.keep(p)
}

// kept reads what --keep names; a file that is not there holds nothing.
func (b *bbobBench) kept() (all []bbobPair, err error) {
	if b.flags.keep == "" || !console.Exists(b.flags.keep) {
		return nil, nil
	}
	text, err := os.ReadFile(b.flags.keep)
	if err != nil {
		return nil, err
	}
	for i, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		var p bbobPair
		if err := json.Unmarshal(line, &p); err != nil {
			return nil, console.BadInput("--keep %s: line %d is no search that was kept (%w): give another file, or mend it", b.flags.keep, i+1, err)
		}
		all = append(all, p)
	}
	return all, nil
}

func (b *bbobBench) keep(p bbobPair) error {
	if b.flags.keep == "" {
		return nil
	}
	line, err := json.Marshal(p)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(b.flags.keep, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// bbobResult is the line that --json ends with.
type bbobResult struct {
	Comparisons []bbobComparison `json:"comparisons"`
	Workloads   []row            `json:"workloads"`
}

// ours runs a strategy of ours.
func (b *bbobBench) ours(backend xlabridge.Backend, q bbobQuestion) (r bbobRuns, err error) {
	own := settings.Values{"sigma": q.Sigma}
	if q.LearningRate > 0 {
		own = own.With("learning-rate", q.LearningRate)
	}
	s, err := strategy.Make(q.Strategy, own)
	if err != nil {
		return r, err
	}
	search := bbob.Search{Strategy: s, Functions: bbob.Functions(), Dims: q.Dims, Population: q.Population, Generations: q.Generations, Seeds: q.Seeds}
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
	options := xlabridge.CompileOptions{Purpose: fmt.Sprintf("bench bbob: %s, %d dimensions", q.Strategy, q.Dims)}.ForJit(backend, program)
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
		r.Best = append(r.Best, each(runs, func(x float64) float64 { return min(x, bbobMost) }))
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
	q := bbobQuestion{Strategy: name, Dims: d, Population: population, Generations: b.flags.generations, Seeds: b.flags.seeds, Seed: b.flags.seed,
		Sigma: bbobStarts[name].sigma, LearningRate: bbobStarts[name].rate}
	for _, f := range bbob.Functions() {
		q.Functions = append(q.Functions, f.Name)
	}
	return q
}

// searchBy asks evosax_bbob.py for a search.
func searchBy(p *linePeer, q bbobQuestion) (r bbobRuns, err error) {
	line, err := p.ask(q)
	if err != nil {
		return r, err
	}
	return readBBOB(line, q)
}

// readBBOB reads an answer. Of a run that found no value Python writes a word.
func readBBOB(line []byte, q bbobQuestion) (r bbobRuns, err error) {
	line = bytes.ReplaceAll(line, []byte("Infinity"), fmt.Append(nil, bbobMost))
	if err := json.Unmarshal(line, &r); err != nil {
		return r, fmt.Errorf("the peer evosax_bbob.py answered %.80q, not with a line of JSON (%w)", line, err)
	}
	if len(r.Best) != len(q.Functions) || slices.ContainsFunc(r.Best, func(v []float64) bool { return len(v) != q.Seeds }) {
		return r, fmt.Errorf("the peer evosax_bbob.py answered with %d functions, want %d of %d runs each", len(r.Best), len(q.Functions), q.Seeds)
	}
	return r, nil
}

// bbobMost is written where a run found no value at all, since JSON has no infinity.
const bbobMost = 1e300

// bbobResolution is the value up to which an optimum counts as found: less is the rounding of float32, which differs from side to
// side.
const bbobResolution = 1e-5

// compare compares the runs of a strategy in all dimensions; without a peer's, nothing is better or worse.
func (b *bbobBench) compare(name string, ours, theirs []bbobRuns) bbobComparison {
	c := bbobComparison{Strategy: name}
	var p []float64
	for i, d := range b.flags.dims {
		for j, f := range bbob.Functions() {
			l := bbobLine{Function: f.Name, Dims: d, Ours: median(ours[i].Best[j]), P: 1}
			if theirs != nil {
				l.Peer = median(theirs[i].Best[j])
				l.P, l.Sign = bbob.RankSum(resolved(ours[i].Best[j]), resolved(theirs[i].Best[j]))
			}
			c.Lines, p = append(c.Lines, l), append(p, l.P)
		}
	}
	for i, corrected := range bbob.Holm(p) {
		c.Lines[i].Holm = corrected
		switch c.Lines[i].verdict() {
		case "better":
			c.Better++
		case "worse":
			c.Worse++
		default:
			c.Equal++
		}
	}
	return c
}

func resolved(values []float64) []float64 {
	return each(values, func(v float64) float64 { return max(v, bbobResolution) })
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return sorted[(n-1)/2]/2 + sorted[n/2]/2
}

func (b *bbobBench) print(out io.Writer, r bbobResult) error {
	t := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "STRATEGY\tFUNCTION\tDIMENSIONS\tOURS\tEVOSAX\tCORRECTED P\t")
	for _, c := range r.Comparisons {
		for _, l := range c.Lines {
			if b.flags.peers && l.verdict() == "" {
				continue // equal
			}
			fmt.Fprintf(t, "%s\t%s\t%d\t%.3g\t%.3g\t%.2g\t%s\n", c.Strategy, l.Function, l.Dims, l.Ours, l.Peer, l.Holm, l.verdict())
		}
	}
	if err := t.Flush(); err != nil || !b.flags.peers {
		return err
	}
	fmt.Fprintln(out)
	fmt.Fprintln(t, "STRATEGY\tBETTER\tEQUAL\tWORSE\tCOMPARISONS")
	for _, c := range r.Comparisons {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\n", c.Strategy, c.Better, c.Equal, c.Worse, len(c.Lines))
	}
	return t.Flush()
}
