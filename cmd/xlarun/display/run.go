package display

import (
	"fmt"
	"io"
	"math"
	"time"
)

// Run is what a display shows of a run.
type Run struct {
	Command     string // "evolve CartPole-v1"
	Setup       string // "256 x mlp:16,16, openes, seed 0"
	Generations int    // at most
	// Target is the mean at which the run ends, NaN for none.
	Target float64
	Start  time.Time
}

// Generation is the news after a generation.
type Generation struct {
	Number         int
	Best, Mean     float64
	StepsPerSecond float64
	Devices        string // "2 cpu devices"
	Cache          string // "hit", "miss", "off"
	Trace, Compile time.Duration
	Memory         int64 // bytes in use by the process
}

// Reporter shows a run from its start to its end. Its methods may be called from many goroutines.
type Reporter interface {
	// Phase says what the run is busy with before its first generation, in a few words.
	Phase(text string)
	// Download shows how much of a download is there, in bytes.
	Download(done, total int64)
	// Generation shows the news.
	Generation(g Generation)
	// Close shows the last state and the lines that sum it up.
	Close(summary ...string)
}

// NewReporter gives a live screen where out is a terminal, plain lines otherwise.
func NewReporter(out io.Writer, env func(string) string, run Run) Reporter {
	if fd, ok := Terminal(out, env); ok {
		l := newLiveRun(newScreen(out, fd, StyleOf(env)), run)
		go l.redraw()
		return l
	}
	p := &plainRun{log: log{out: out, command: run.Command, setup: run.Setup, start: run.Start}}
	p.print = p.printLast
	return p
}

// liveRun is a run on a live screen.
type liveRun struct {
	*board
	run     Run
	last    Generation
	history []float64
}

func newLiveRun(s *screen, run Run) *liveRun {
	l := &liveRun{run: run}
	l.board = newBoard(s, run.Command, run.Setup, run.Start, l.rows)
	return l
}

func (l *liveRun) Generation(g Generation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = g
	l.history = append(l.history, g.Mean)
}

// rows are the news.
func (l *liveRun) rows(width int) []line {
	g := l.last
	if g.Number == 0 {
		return nil
	}
	mean := line{{fmt.Sprintf("%-5s", Fitness(g.Mean)), green}}
	if !math.IsNaN(l.run.Target) {
		mean = append(mean, span{" of " + Fitness(l.run.Target), dim})
	}
	return append([]line{
		row(width, "generation", line{{fmt.Sprintf("%d of %d", g.Number, l.run.Generations), plain}}, l.progress(g.Number, l.run.Generations)),
		{label("best"), {Fitness(g.Best), plain}},
		row(width, "mean", mean, l.curve(l.history, cyan)),
	}, effort{g.StepsPerSecond, g.Devices, g.Cache, g.Trace, g.Compile, g.Memory}.rows(width)...)
}

// plainRun writes one line a generation, and fewer the longer the run: generations 1 to 10, then every tenth, then
// every hundredth, and at least one in ten seconds.
type plainRun struct {
	log
	last Generation
}

func (p *plainRun) Generation(g Generation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begin()
	if g.Number == 1 {
		fmt.Fprintf(p.out, "program: cache %s, trace %.2f s, compile %.2f s; %s\n", g.Cache, g.Trace.Seconds(), g.Compile.Seconds(), g.Devices)
	}
	p.last = g
	every := 1
	for 10*every < g.Number && every < 1000 {
		every *= 10
	}
	p.news(g.Number, g.Number%every == 0 || time.Since(p.at) > 10*time.Second)
}

func (p *plainRun) printLast() {
	g := p.last
	fmt.Fprintf(p.out, "generation %d: best %s, mean %s, %s steps/s, %s\n", g.Number, Fitness(g.Best), Fitness(g.Mean),
		Count(g.StepsPerSecond), Clock(time.Since(p.start)))
}
