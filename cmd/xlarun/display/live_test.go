package display

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/run"
)

// clock is a time that passes when a test says so.
type clock struct{ at time.Time }

func (c *clock) now() time.Time       { return c.at }
func (c *clock) pass(d time.Duration) { c.at = c.at.Add(d) }
func newClock() *clock                { return &clock{time.Unix(1000, 0)} }

func value(name string, x float64) run.Value { return run.Value{Name: name, Number: x} }

func generations() Board {
	return Board{Command: "evolve CartPole-v1", Setup: "256 x mlp:16,16", Unit: "generation", Round: "generation",
		Last: 100,
		Work: "environment steps of all members", Folder: "runs/cartpole", Start: newClock().at, Rows: []run.DisplayRow{
			{Label: "best", Plain: true, Parts: []run.Part{{Metric: "best_ever"}}},
			{Label: "mean", Plain: true, Parts: []run.Part{{Metric: "mean_fitness", Behind: " of 475"}},
				Curve: "mean_fitness", Color: "cyan"},
			{Label: "spread", Parts: []run.Part{{Before: "std ", Metric: "std_fitness"},
				{Before: ", worst ", Metric: "worst_fitness"}}},
		}}
}

func steps() Board {
	row := func(label, metric, color string) run.DisplayRow {
		return run.DisplayRow{Label: label, Parts: []run.Part{{Metric: metric, Format: run.Percent}}, Curve: metric,
			Color: color, Plain: true}
	}
	return Board{Command: "sparse", Setup: "3 networks", Unit: "step", Round: "round", Last: 20, Start: newClock().at,
		Rows: []run.DisplayRow{
			{Label: "accuracy", Parts: []run.Part{{Before: "of the members, on the examples that they learn from"}}},
			row("best", "best_accuracy", "green"), row("mean", "mean_accuracy", "cyan"),
			{Label: "loss", Parts: []run.Part{{Metric: "loss", Format: run.Loss}}, Curve: "loss", Plain: true},
			{Label: "test", Parts: []run.Part{{Before: "best ", Metric: "best_test", Format: run.Percent},
				{Before: ", mean ", Metric: "mean_test", Format: run.Percent}}, Plain: true},
		}}
}

func generation(g int64, best, mean float64) RoundReport {
	return RoundReport{Metrics: run.Metrics{Step: g, Values: []run.Value{value("best_ever", best), value("mean_fitness",
		mean),
		value("std_fitness", 12.5), value("worst_fitness", 8)}},
		StepsPerSecond: 51.2e6, RoundsPerSecond: 830, Devices: "2 cpu devices", Plan: "tiles of 128", Cache: "hit",
		Trace: 120 * time.Millisecond, Compile: 30 * time.Millisecond, Memory: 210e6}
}

// at makes a live screen of a board, as large as asked for.
func at(width, height int, b Board, c *clock) (*live, *bytes.Buffer) {
	var out bytes.Buffer
	s := newScreen(&out, -1, Style{Unicode: true})
	s.size = func() (int, int) { return width, height }
	return newLive(s, b, c.now), &out
}

// screenOf is what stands on a screen.
func screenOf(l *live) string {
	width, height := l.screen.size()
	_, lines := l.frame(width - 1)
	var rows []string
	for _, x := range fit(lines, height-1) {
		rows = append(rows, x.render(width-1, l.screen.style))
	}
	return strings.Join(rows, "\n")
}

func TestNewsAreShown(t *testing.T) {
	c := newClock()
	l, _ := at(100, 30, generations(), c)
	require.Contains(t, screenOf(l), "now         starting")
	require.Contains(t, screenOf(l), "folder      runs/cartpole")
	l.Phase("compiling")
	require.Contains(t, screenOf(l), "now         compiling")
	l.Report(generation(1, 9, 8))
	require.Contains(t, screenOf(l), "time left   not known yet")
	require.NotContains(t, screenOf(l), "compiling", "news end a phase")
	require.NotContains(t, screenOf(l), "time in", "not measured")
	c.pass(2 * time.Second)
	n := generation(3, 500, 431.25)
	n.Phases = []run.Phase{{Name: "ask", Seconds: 1}, {Name: "play", Seconds: 8}, {Name: "tell", Seconds: 1}}
	l.Report(n)
	l.Report(generation(5, 500, 431.25))
	l.Moved("elsewhere/cartpole")
	l.Phase("writing a checkpoint")
	c.pass(61 * time.Second)
	require.Equal(t, strings.TrimSpace(`
xlarun evolve CartPole-v1                                                                      1:03
256 x mlp:16,16

generation  5 of 100                ███░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░
time left   about 0:47, to generation 100
best        500.0
mean        431.2 of 475            ▁██                                                8.0 to 431.2
spread      std 12.5, worst 8.0

speed       51.2 M steps/s, 830 generations/s; steps are environment steps of all members
time in     ask 10, play 80, tell 10 %
program     cache hit, trace 0.12 s, compile 0.03 s
plan        tiles of 128
devices     2 cpu devices
memory      210 MB
folder      elsewhere/cartpole
now         writing a checkpoint`), screenOf(l))
}

// A metric without a new value keeps its last one, with the step that it is of. A metric that never had a value is not
// shown as a number.
func TestMetricsStayUntilTheNext(t *testing.T) {
	l, _ := at(90, 30, steps(), newClock())
	for i := range int64(8) {
		x := float64(i + 1)
		l.Report(RoundReport{Metrics: run.Metrics{Step: i + 1, Values: []run.Value{value("best_accuracy", .12*x),
			value("mean_accuracy", .11*x), value("loss", 1/x)}}})
	}
	require.Contains(t, screenOf(l), "test        not known yet")
	l.Report(RoundReport{Metrics: run.Metrics{Step: 9, Values: []run.Value{value("mean_test", .55)}}})
	require.Contains(t, screenOf(l), "test        mean 55.00 %", "without the comma of what is missing before it")
	l.Report(RoundReport{Metrics: run.Metrics{Step: 10, Values: []run.Value{value("best_test", .65)}}})
	got := screenOf(l)
	for _, want := range []string{"10 of 20", "96.00 % (step 8)", "88.00 % (step 8)", "0.1250 (step 8)",
		"test        best 65.00 %, mean 55.00 %\n",
		"12.00 to 96.00 %",
		"accuracy    of the members, on the examples that they learn from", "speed       not known yet"} {
		require.Contains(t, got, want)
	}
	require.Equal(t, 2, strings.Count(got, "▁▂▃▄▅▆▇█"), "%s", got)
	for _, unwanted := range []string{"program", "devices", "memory", "folder", "plan"} {
		require.NotContains(t, got, unwanted, "what is not known takes no row")
	}
}

// Whatever stands in the texts and the numbers, no row is wider than the terminal, and no control character gets there.
func TestRowsFitEveryTerminal(t *testing.T) {
	evil := generations()
	evil.Command = "evolve \x1b[31m\n" + strings.Repeat("long", 100)
	evil.Setup = strings.Repeat("漢字 über\tallem\x1b[2J ", 30) + strings.Repeat("x", 500)
	evil.Unit, evil.Folder, evil.Work = "a unit with a very long name\r", "runs/"+strings.Repeat("夜", 200),
		strings.Repeat("work ", 100)
	evil.Rows = append(evil.Rows, run.DisplayRow{Label: strings.Repeat("l", 50), Parts: []run.Part{
		{Before: strings.Repeat("words\x07 ", 50)}}},
		run.DisplayRow{Label: "", Parts: []run.Part{{Before: strings.Repeat("b", 90), Metric: "best_ever"}},
			Curve: "best_ever"}, run.DisplayRow{})
	endless := steps()
	endless.Last = 0
	long := steps()
	long.Last = math.MaxInt64
	for i, board := range []Board{generations(), steps(), evil, endless, long, {}} {
		for _, style := range []Style{{}, {Unicode: true}} {
			for _, width := range []int{1, 2, 5, 13, 20, 40, 64, 65, 100} {
				for _, height := range []int{1, 12, 60} {
					c := newClock()
					l, out := at(width, height, board, c)
					l.screen.style = style
					check := func() {
						out.Reset()
						l.screen.draw(l.frame)
						require.LessOrEqual(t, strings.Count(out.String(), "\x1b[K\r\n"), max(1, height-1))
						for _, row := range strings.Split(ownCodes.ReplaceAllString(out.String(), ""), "\r\n") {
							if textWidth(row) > width-1 || strings.ContainsFunc(row, unicode.IsControl) {
								t.Fatalf("board %d, %d columns: %q", i, width, row)
							}
						}
					}
					check()
					l.Download(1<<62, 1)
					check()
					l.Download(3, 0)
					check()
					for g, x := range []float64{1, math.NaN(), math.Inf(1), -math.MaxFloat64, math.MaxFloat64, 1e-300} {
						l.Report(generation(int64(g+1), x, x))
						c.pass(time.Hour)
						check()
					}
					l.Notice("first " + strings.Repeat("notice \x1b[A", 30))
					l.Notice(strings.Repeat("n", 300))
					l.Phase(strings.Repeat("phase\n", 100))
					check()
				}
			}
		}
	}
}

// ownCodes are the control sequences that a screen writes.
var ownCodes = regexp.MustCompile(`\x1b\[(\?25[lh]|\d+A\r|H|K|J)`)

// A narrow terminal has curves, and whole numbers: a part that does not fit is left out.
func TestNarrowTerminals(t *testing.T) {
	c := newClock()
	l, _ := at(40, 12, generations(), c)
	for g := range int64(8) {
		l.Report(generation(g+1, 500, float64(g)))
		c.pass(time.Second)
	}
	require.Equal(t, strings.TrimSpace(`
xlarun evolve CartPole-v1          0:08
256 x mlp:16,16
generation  8 of 100       █░░░░░░░░░░░
time left   about 1:31
best        500.0
mean        7.0 of 475     ▁▂▃▄▅▆▇█
spread      std 12.5, worst 8.0
speed       51.2 M steps/s
program     cache hit, trace 0.12 s
plan        tiles of 128
folder      runs/cartpole`), screenOf(l))
}

// Curves of several rows begin and end below each other, whatever stands on their axes.
func TestCurvesAlign(t *testing.T) {
	b := generations()
	b.Rows = []run.DisplayRow{{Label: "a", Parts: []run.Part{{Metric: "a"}}, Curve: "a"},
		{Label: "b", Parts: []run.Part{{Metric: "b"}, {Before: " or a longer text ", Metric: "b"}}, Curve: "b"}}
	l, _ := at(80, 30, b, newClock())
	for g := range int64(500) {
		l.Report(RoundReport{Metrics: run.Metrics{Step: g + 1, Values: []run.Value{value("a", float64(g)/500),
			value("b", -1000*float64(g))}}})
	}
	var from, to []int
	for _, row := range strings.Split(screenOf(l), "\n") {
		if runes := []rune(row); strings.HasPrefix(row, "a ") || strings.HasPrefix(row, "b ") {
			first, last := -1, -1
			for i, r := range runes {
				if strings.ContainsRune("▁▂▃▄▅▆▇█", r) {
					last = i
					if first < 0 {
						first = i
					}
				}
			}
			from, to = append(from, first), append(to, last)
			require.Regexp(t, ` to -?[\d.]+$`, row)
		}
	}
	require.Len(t, from, 2)
	require.Equal(t, from[0], from[1])
	require.Equal(t, to[0], to[1])
	require.GreaterOrEqual(t, to[0]-from[0]+1, leastCurveWithAxis)
}

func TestNoticesStay(t *testing.T) {
	c := newClock()
	l, out := at(60, 30, generations(), c)
	l.Report(generation(1, 1, 1))
	for i := range 5 {
		l.Notice(fmt.Sprintf("the disk is full, %d", i+1))
	}
	l.Report(generation(2, 1, 1))
	l.screen.draw(l.frame)
	got := out.String()
	for i := range 5 {
		require.Equal(t, 1, strings.Count(got, fmt.Sprintf("the disk is full, %d", i+1)))
	}
	head := strings.Index(got, "xlarun evolve")
	require.Less(t, strings.Index(got, "full, 2"), head, "driven out, it stands above")
	require.Greater(t, strings.Index(got, "full, 3"), head)
	out.Reset()
	l.screen.draw(l.frame)
	require.NotContains(t, out.String(), "full, 1", "it is not overwritten, and not written again")
	low, _ := at(40, 6, generations(), c)
	low.Report(generation(1, 1, 1))
	low.Notice("the run's folder was removed")
	require.Contains(t, screenOf(low), "the run's folder was")
}

func TestDownloadsAreShown(t *testing.T) {
	l, _ := at(60, 30, generations(), newClock())
	l.Download(1e6, 4e6)
	require.Contains(t, screenOf(l), "download    ██████")
	require.Contains(t, screenOf(l), " 25 %  1 MB of 4 MB")
	l.Download(1e6, 0)
	require.Contains(t, screenOf(l), "download    1 MB")
	l.Phase("compiling")
	require.NotContains(t, screenOf(l), "download")
}

// events holds the channels of a screen, which the test sends on.
type events struct {
	tick               chan time.Time
	continued, resized chan os.Signal
}

func redrawing(l *live) events {
	e := events{make(chan time.Time), make(chan os.Signal), make(chan os.Signal)}
	go l.redraw(e.tick, e.continued, e.resized)
	return e
}

func TestAStopBeginsAnew(t *testing.T) {
	c := newClock()
	l, out := at(60, 20, generations(), c)
	e := redrawing(l)
	l.Report(generation(1, 1, 1))
	e.tick <- c.at
	e.continued <- os.Interrupt
	e.resized <- os.Interrupt
	l.Report(generation(2, 1, 1))
	e.tick <- c.at
	l.Close("solved", "the run is in runs/cartpole")
	drawings := strings.Split(out.String(), "\x1b[?25l")
	require.Len(t, drawings, 1+5)
	clean := strings.Repeat("\r\n", 20) + "\x1b[H"
	require.True(t, strings.HasPrefix(drawings[1], "xlarun"))
	require.True(t, strings.HasPrefix(drawings[2], clean+"xlarun"), "%q", drawings[2])
	for _, later := range drawings[3:] {
		require.Regexp(t, `^\x1b\[\d+A\rxlarun`, later)
	}
	require.Contains(t, drawings[4], "2 of 100")
	require.True(t, strings.HasSuffix(out.String(), "\x1b[?25h\nsolved\nthe run is in runs/cartpole\n"))
	require.NotContains(t, drawings[5], "time left", "nothing is left")
	l.Close("twice")
	l.Notice("late\x1b")
	require.True(t, strings.HasSuffix(out.String(), "cartpole\nlate?\n"))
}

// 1: a tick that came before the signal drew over what the shell wrote. 2: the time of a stop counted as the run's.
func TestStopRegressions(t *testing.T) {
	c := newClock()
	l, out := at(60, 20, generations(), c)
	l.Report(generation(1, 1, 1))
	c.pass(2 * time.Second)
	l.Report(generation(3, 1, 1))
	l.screen.draw(l.frame)
	require.Contains(t, out.String(), "about 1:37")
	out.Reset()
	tick, continued := make(chan time.Time), make(chan os.Signal, 1)
	calls := 0
	l.now = func() time.Time {
		if calls++; calls == 2 { // the first tick is there
			c.pass(time.Hour)
			continued <- os.Interrupt
		}
		return c.now()
	}
	go l.redraw(tick, continued, nil)
	tick <- time.Time{}
	l.Close()
	require.True(t, strings.HasPrefix(out.String(), "\x1b[?25l"+strings.Repeat("\r\n", 20)+"\x1b[H"), "1: %q",
		out.String())
	c.pass(time.Second)
	l.Report(generation(4, 1, 1))
	d, ok := l.pace.left(100, c.at)
	require.True(t, ok)
	require.Equal(t, 96*time.Second, d, "2")
}

// Close draws over nothing and keeps the notices, below.
func TestCloseKeepsNotices(t *testing.T) {
	l, out := at(30, 20, generations(), newClock())
	redrawing(l)
	l.Notice("the folder was removed; metrics are not kept")
	l.Close("stopped")
	got := out.String()
	require.True(t, strings.HasSuffix(got, "\x1b[?25h\nthe folder was removed;\nmetrics are not kept\nstopped\n"), "%q",
		got)
	require.Equal(t, 1, strings.Count(got, "folder was removed"))
}

// Report may come from one goroutine while others tell phases and the screen is drawn.
func TestManyGoroutines(t *testing.T) {
	l, _ := at(60, 20, generations(), newClock())
	e := redrawing(l)
	done := make(chan struct{})
	for i := range 4 {
		go func() {
			for g := range int64(50) {
				l.Report(generation(50*int64(i)+g+1, 1, 1))
				l.Phase("busy")
				l.Notice("notice")
				l.Moved("there")
				l.Download(g, 50)
			}
			done <- struct{}{}
		}()
	}
	for ended := 0; ended < 4; {
		select {
		case e.tick <- time.Time{}:
		case <-done:
			ended++
		}
	}
	l.Close("done")
	require.Contains(t, screenOf(l), "there")
}
