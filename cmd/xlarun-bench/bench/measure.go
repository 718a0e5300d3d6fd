package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os/exec"
	"slices"
	"strings"
	"time"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/machine"
)

// turnsOfRepeat is the number of turns that every side has in a repeat.
const turnsOfRepeat = 3

// mostRuns is the most runs of a turn.
const mostRuns = 1000

// starter starts one side of a workload. cache is the folder with the programs of an earlier start; "" for a new one.
type starter func(ctx context.Context, cache string) (*process, func(), error)

// side is one side of a workload: ours, or a peer.
type side struct {
	peer  *Peer // nil: ours
	start starter
	limit time.Duration // of an answer, where it is less than --limit; 0: none
	cache string        // of warm starts

	process *process
	stop    func()
	ready   ready
	took    time.Duration // by the first run
	runs    int           // of a turn
	last    answer
	seconds, processor,
	compile []float64 // of each turn
	all []float64 // seconds of each run of all turns
	err error     // the side failed
}

// measure times a workload within the time of its row, all sides in turn, and returns a row for each peer. A peer that
// fails costs its row.
func (b *bench) measure(ctx context.Context, j *job) ([]row, error) {
	if j.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, j.timeout)
		defer cancel()
	}
	sides := []*side{{start: b.ours(j.suite, j.workload)}}
	if b.flags.peers {
		for _, p := range j.workload.Peers {
			start, err := b.peer(ctx, j.suite, p)
			sides = append(sides, &side{peer: &p, start: start, err: err,
				limit: j.timeout / 2}) // ours needs time after a peer that hangs
		}
	}
	return b.time(ctx, j, sides)
}

// time times the sides of a workload in turn. The first is ours.
func (b *bench) time(ctx context.Context, j *job, sides []*side) ([]row, error) {
	w := j.workload
	defer func() {
		for _, s := range sides {
			s.end()
		}
	}()
	from := b.now()
	for _, s := range sides {
		if s.err == nil {
			s.fail(j.inTime(ctx, b.prepare(ctx, w, s)))
		}
		if s.peer != nil && s.err == nil {
			s.fail(agree(w, *s.peer, sides[0], s))
		}
		if sides[0].err != nil {
			return nil, sides[0].err
		}
		if s.err != nil {
			fmt.Fprintf(b.Out, "%s: without %s: %v\n", w.Name, s.peer.Name, s.err)
		}
	}
	turns, length, end := b.flags.repeats*turnsOfRepeat, j.suite.Turn, time.Time{}
	if w.Start != steady {
		turns, length = b.flags.repeats, 0 // a turn is a start
	}
	whole := length
	if j.share > 0 {
		now := b.now()
		left := max(j.share-now.Sub(from), leastTurns)
		length, end = min(length, left/time.Duration(turns*len(sides))), now.Add(left)
	}
	n, short := 0, false
	for _, s := range sides {
		s.runs = runsOf(length, s.took)
		short = short || s.runs < runsOf(whole, s.took)
	}
	for ; n < turns && (n == 0 || end.IsZero() || b.now().Before(end)); n++ {
		for _, s := range sides {
			if s.err != nil {
				continue
			}
			if err := j.inTime(ctx, b.turn(ctx, w, s)); err != nil {
				s.fail(err)
				if s.peer == nil {
					return nil, err
				}
				fmt.Fprintf(b.Out, "%s: without %s: %v\n", w.Name, s.peer.Name, err)
			}
		}
	}
	all := rows(w, sides[0], sides[1:])
	for i := range all {
		r := &all[i]
		r.Short = short || n < turns
		if r.Limit == "" && w.Flops > 0 && b.peak > 0 {
			r.Limit, r.Share = "peak", w.Flops/r.Ours/b.peak
		}
	}
	return all, nil
}

// inTime says of an error whether it came of the end of the row's time.
func (j *job) inTime(ctx context.Context, err error) error {
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return overrun{j.timeout}
	}
	return err
}

// prepare starts a side for the first time and finds out how long a run takes.
func (b *bench) prepare(ctx context.Context, w Workload, s *side) error {
	if w.Start == warmStart {
		dir, remove, err := scratchCache()
		if err != nil {
			return err
		}
		b.cleanup = append(b.cleanup, remove)
		s.cache = dir
	}
	if err := s.begin(ctx); err != nil {
		return err
	}
	from := b.now() // a run may give the time of a part or of many units
	if err := s.process.ask(1, &s.last); err != nil {
		return err
	}
	if len(s.last.Seconds) == 0 {
		return s.process.failed("ran once and gave no time")
	}
	s.took = b.now().Sub(from)
	if w.Start != steady {
		s.end()
	}
	return nil
}

// runsOf returns how many runs of this length fill a turn.
func runsOf(turn, run time.Duration) int { return int(min(max(turn/max(run, 1), 1), mostRuns)) }

// turn is one turn of a side: some runs, or a start.
func (b *bench) turn(ctx context.Context, w Workload, s *side) error {
	if w.Start != steady {
		start := time.Now()
		if err := s.begin(ctx); err != nil {
			return err
		}
		seconds := time.Since(start).Seconds()
		s.end()
		s.seconds, s.compile = append(s.seconds, seconds), append(s.compile, s.ready.Compile)
		return nil
	}
	var a answer
	if err := s.process.ask(s.runs, &a); err != nil {
		return err
	}
	if len(a.Seconds) == 0 {
		return s.process.failed(fmt.Sprintf("ran %d times and gave no time", s.runs))
	}
	s.last = a
	s.seconds, s.processor = append(s.seconds, machine.Median(a.Seconds)), append(s.processor, a.Processor)
	s.compile, s.all = []float64{s.ready.Compile}, append(s.all, a.Seconds...)
	return nil
}

// begin starts the side's process and waits until it is ready.
func (s *side) begin(ctx context.Context) (err error) {
	if s.process, s.stop, err = s.start(ctx, s.cache); err != nil {
		return err
	}
	if p := s.process; s.limit > 0 && s.limit < p.limit {
		p.limit, p.note = s.limit, ", half of the time of its row"
	}
	return s.process.read(&s.ready)
}

// end ends the side's process.
func (s *side) end() {
	if s.process != nil {
		s.process.close()
		s.stop()
		s.process = nil
	}
}

// fail keeps the first error of a side and ends it.
func (s *side) fail(err error) {
	if err != nil && s.err == nil {
		s.err = err
		s.end()
	}
}

// agree returns an error where two sides that should compute the same do not.
func agree(w Workload, p Peer, ours, theirs *side) error {
	if w.Same == 0 || p.Other {
		return nil
	}
	if len(ours.ready.Checks) != len(theirs.ready.Checks) {
		return fmt.Errorf("ours gives %d numbers to check, %s gives %d", len(ours.ready.Checks), p.Name,
			len(theirs.ready.Checks))
	}
	for i, x := range ours.ready.Checks {
		y := theirs.ready.Checks[i]
		if !(math.Abs(x-y) <= w.Same*max(math.Abs(x), math.Abs(y))) {
			return fmt.Errorf("check %d is %v for ours and %v for %s: the two do not compute the same", i, x, y, p.Name)
		}
	}
	return nil
}

// ours starts a process of ours for a workload, with an empty cache of programs where none is given.
func (b *bench) ours(s Suite, w Workload) starter {
	return func(ctx context.Context, cache string) (*process, func(), error) {
		if w.Script.Script != "" {
			start, err := b.peer(ctx, s, w.Script)
			if err != nil {
				return nil, nil, err
			}
			return start(ctx, cache)
		}
		remove := func() {}
		if cache == "" {
			var err error
			if cache, remove, err = scratchCache(); err != nil {
				return nil, nil, err
			}
		}
		cmd, err := b.command(ctx, cache, b.workerArgs(s, w.Name)...)
		if err != nil {
			remove()
			return nil, nil, err
		}
		p, err := startProcess(cmd, "our process", b.flags.limit)
		if err != nil {
			remove()
			return nil, nil, err
		}
		return p, remove, nil
	}
}

// peer returns how a peer of a suite is started. Its error says why it can't be.
func (b *bench) peer(ctx context.Context, s Suite, p Peer) (starter, error) {
	if p.Workload != "" {
		all := s.Workloads(b.options)
		i := slices.IndexFunc(all, func(w Workload) bool { return w.Name == p.Workload })
		if i < 0 {
			return nil, fmt.Errorf("the suite has no workload %s", p.Workload)
		}
		return b.ours(s, all[i]), nil
	}
	if p.Source != "" {
		program, err := compileC(ctx, p.Source, p.Defines...)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, _ string) (*process, func(), error) {
			x, err := startProcess(exec.CommandContext(ctx, program, p.Args...), "the peer "+p.Source,
				b.flags.limit)
			return x, func() {}, err
		}, nil
	}
	if b.findPython(ctx); b.pythonErr != nil {
		return nil, b.pythonErr
	}
	return func(ctx context.Context, cache string) (*process, func(), error) {
		x, err := startScript(ctx, b.python, b.flags.Backend, p.Script, cache, b.flags.limit, p.Args...)
		return x, func() {}, err
	}, nil
}

// findPython finds or makes the peers' Python, once.
func (b *bench) findPython(ctx context.Context) {
	if b.python == nil && b.pythonErr == nil {
		b.python, b.pythonErr = newPython(ctx, b.host, b.flags.python, requirementsOf(b.flags.Backend))
	}
}

// run times workloads and prints their table. Its error names the workloads of ours that failed; the others are timed.
// An interrupt keeps the rows that are whole.
func (b *bench) run(ctx context.Context, jobs []*job) (err error) {
	defer func() {
		for _, f := range b.cleanup {
			f()
		}
		if b.python != nil {
			b.python.Close()
		}
	}()
	if b.flags.Backend == console.Reference {
		return console.BadInput("bench got the backend %s, which compiles nothing: use another backend",
			console.Reference)
	}
	commit, history := "", ""
	if b.flags.figures != "" {
		for _, j := range jobs {
			if len(j.workload.Peers) > 0 && !b.flags.peers {
				return console.BadInput("--figures got %s without --peers: its row would have no ratio",
					j.workload.Name)
			}
		}
		if commit, err = commitOf("--figures", b.flags.figures); err != nil {
			return err
		}
	}
	if b.flags.record {
		if commit, err = commitOf("--record", "."); err != nil {
			return err
		}
		if history, err = b.historyFile(b.flags.history); err != nil {
			return err
		}
	}
	inPython := func(p Peer) bool { return p.Script != "" }
	if b.flags.peers && slices.ContainsFunc(jobs, func(j *job) bool {
		return slices.ContainsFunc(j.workload.Peers, inPython)
	}) {
		b.findPython(ctx) // its installation is no time of a row
	}
	if b.flags.peers && slices.ContainsFunc(jobs, func(j *job) bool { return j.workload.Flops > 0 }) {
		if b.peak, err = b.flops(ctx); err != nil {
			fmt.Fprintf(b.Out, "without shares of the cores' peak: %v\n", err)
		}
	}
	var failed []error
	// A script of ours needs the peers' Python.
	ordered := slices.DeleteFunc(slices.Clone(jobs), func(j *job) bool {
		if j.workload.Script.Script != "" && !b.flags.peers {
			j.reason = "it needs --peers"
		}
		return j.reason != ""
	})
	if b.budget.all > 0 {
		rank(ordered)
		slices.SortStableFunc(ordered, func(x, y *job) int { return cmp.Compare(x.rank, y.rank) })
	}
	const interrupted = "the run was interrupted"
	for i, j := range ordered {
		if ctx.Err() != nil {
			j.reason = interrupted
			continue
		}
		if j.share, j.timeout, j.reason = b.budget.share(ordered[i:]); j.reason != "" {
			continue
		}
		fmt.Fprintf(b.Out, "%s%s: %s\n", j.prefix, j.workload.Name, j.workload.What)
		start := b.now()
		j.rows, err = b.measure(ctx, j)
		b.budget.spend(j, b.now().Sub(start))
		switch {
		case ctx.Err() != nil:
			j.rows, j.reason = nil, interrupted
		case errors.As(err, new(overrun)):
			j.reason = err.Error()
		case err != nil:
			failed = append(failed, fmt.Errorf("%s: %w", j.workload.Name, err))
			fmt.Fprintf(b.Out, "%s failed: %v\n", j.workload.Name, err)
		}
	}
	failed = append(failed, ctx.Err())
	ctx = context.WithoutCancel(ctx)               // to record what was measured
	table, means, short := []row{}, "", []string{} // not null in JSON
	for _, suite := range b.suites {
		rows, prefix := tableOf(suite, jobs)
		if len(rows) == 0 {
			continue
		}
		whole := slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return r.Short })
		if history != "" {
			failed = append(failed, appendHistory(ctx, history, suite.Name, commit, whole))
		}
		if b.flags.figures != "" {
			failed = append(failed, record(b.flags.figures, suite.Name, commit, b.flags.repeats, whole))
		}
		means += meansOf(suite.Name, rows)
		for i := range rows {
			rows[i].Name = prefix + rows[i].Name
			if rows[i].Short {
				short = append(short, rows[i].Name)
			}
		}
		table = append(table, rows...)
	}
	if err := printRows(b.Out, table); err != nil {
		return err
	}
	fmt.Fprint(b.Out, means)
	if commit != "" && len(short) > 0 {
		fmt.Fprintf(b.Out, "cut short, so not recorded: %s: name them to measure all turns\n",
			strings.Join(short, ", "))
	}
	result := map[string]any{"workloads": table}
	if left := notMeasured(jobs); len(left) > 0 {
		result["not_measured"] = left
		for _, why := range slices.Sorted(maps.Keys(left)) {
			fmt.Fprintf(b.Out, "not measured: %s: %s\n", strings.Join(left[why], ", "), why)
		}
	}
	if err = errors.Join(failed...); err == nil && len(table) == 0 {
		err = errors.New("no row was measured: name a row, or give --budget more time, or --peers")
	}
	if b.flags.json {
		return b.EndJSON(result, err)
	}
	return err
}

// tableOf returns the rows of a suite, with their goals, and what is before their names in the table of all. Where
// numbers follow from several rows, of which one was cut short, all count as cut short.
func tableOf(s Suite, jobs []*job) (table []row, prefix string) {
	for _, j := range jobs {
		if j.suite.Name == s.Name {
			table, prefix = append(table, j.rows...), j.prefix
		}
	}
	short := false
	if s.Summary != nil && len(table) > 0 {
		short = slices.ContainsFunc(table, func(r row) bool { return r.Short })
		table = s.Summary(table)
	}
	for i := range table {
		table[i].Short = table[i].Short || short
		table[i].Goal = goalOf(s.Name, table[i].Name)
		ratio := 0.
		if table[i].Ratio != nil {
			ratio = *table[i].Ratio
		}
		table[i].Below = table[i].Goal.below(ratio, table[i].ProcessorRatio, table[i].CompileRatio, table[i].Ours)
	}
	return table, prefix
}
