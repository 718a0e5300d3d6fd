package display

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Training is what a display shows of a population that learns.
type Training struct {
	Command string // "sparse"
	Setup   string // "200 x 784-128-64-10, …"
	Steps   int
	Start   time.Time
}

// Progress is the news after some steps of a population: accuracies are parts of 1.
type Progress struct {
	Step                 int
	Worst, Mean, Best    float64 // accuracy of the members on what they learn from
	Loss                 float64 // mean of the members
	TestBest, TestMean   float64 // accuracy on test data, when it was measured last; 0: not yet
	StepsPerSecond       float64
	Devices, Method      string
	Cache                string
	Trace, CompileWaited time.Duration
	Memory               int64 // bytes in use by the process
}

// TrainingReporter shows a population's training from its start to its end. Its methods may be called from many
// goroutines.
type TrainingReporter interface {
	Phase(text string)
	Download(done, total int64)
	Progress(p Progress)
	Close(summary ...string)
}

// NewTrainingReporter gives a live screen where out is a terminal, plain lines otherwise.
func NewTrainingReporter(out io.Writer, env func(string) string, t Training) TrainingReporter {
	if fd, ok := Terminal(out, env); ok {
		l := newLiveTraining(newScreen(out, fd, StyleOf(env)), t)
		go l.redraw()
		return l
	}
	p := &plainTraining{log: log{out: out, command: t.Command, setup: t.Setup, start: t.Start}}
	p.print = p.printLast
	return p
}

// liveTraining is a training on a live screen, with a curve each for the best, the mean and the worst member.
type liveTraining struct {
	*board
	training                Training
	last                    Progress
	worst, mean, best, loss []float64
}

func newLiveTraining(s *screen, t Training) *liveTraining {
	l := &liveTraining{training: t}
	l.board = newBoard(s, t.Command, t.Setup, t.Start, l.rows)
	return l
}

func (l *liveTraining) Progress(p Progress) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last, l.phase = p, ""
	l.worst, l.mean, l.best, l.loss = append(l.worst, p.Worst), append(l.mean, p.Mean), append(l.best, p.Best), append(l.loss, p.Loss)
}

// rows are the news.
func (l *liveTraining) rows(width int) []line {
	p := l.last
	if p.Step == 0 {
		return nil
	}
	text := func(s string) line { return line{{s, plain}} }
	rows := []line{
		row(width, "step", text(fmt.Sprintf("%d of %d", p.Step, l.training.Steps)), l.progress(p.Step, l.training.Steps)),
		row(width, "best", text(Percent(p.Best)), l.curve(l.best, green)),
		row(width, "mean", text(Percent(p.Mean)), l.curve(l.mean, cyan)),
		row(width, "worst", text(Percent(p.Worst)), l.curve(l.worst, yellow)),
		row(width, "loss", text(fmt.Sprintf("%.4f", p.Loss)), l.curve(l.loss, dim)),
		{label("test"), {testText(p), plain}},
	}
	rows = append(rows, effort{p.StepsPerSecond, p.Devices + ", " + p.Method, p.Cache, p.Trace, p.CompileWaited, p.Memory}.rows(width)...)
	if l.phase != "" {
		rows = append(rows, l.now())
	}
	return rows
}

func testText(p Progress) string {
	if p.TestBest == 0 {
		return "not measured yet"
	}
	return fmt.Sprintf("best %s, mean %s", Percent(p.TestBest), Percent(p.TestMean))
}

// Percent writes a part of 1.
func Percent(x float64) string { return fmt.Sprintf("%.2f %%", 100*x) }

// plainTraining writes a line a second at most.
type plainTraining struct {
	log
	last Progress
}

func (p *plainTraining) Progress(news Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begin()
	if p.last.Step == 0 {
		fmt.Fprintf(p.out, "programs: cache %s, trace %.2f s, compile %.2f s; %s, %s\n", news.Cache, news.Trace.Seconds(), news.CompileWaited.Seconds(), news.Devices, news.Method)
	}
	tested := news.TestBest != p.last.TestBest
	p.last = news
	p.news(news.Step, tested || time.Since(p.at) > time.Second)
}

func (p *plainTraining) printLast() {
	g := p.last
	test := ""
	if g.TestBest > 0 {
		test = ", test " + testText(g)
	}
	fmt.Fprintf(p.out, "step %d: accuracy %s to %s, mean %s, loss %.4f%s, %s steps/s, %s\n", g.Step,
		strings.TrimSuffix(Percent(g.Worst), " %"), Percent(g.Best), Percent(g.Mean), g.Loss, test, Count(g.StepsPerSecond), Clock(time.Since(p.start)))
}
