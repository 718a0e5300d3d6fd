package display

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/run"
)

func TestPlainLinesGetFewer(t *testing.T) {
	var out bytes.Buffer
	c := newClock()
	l := newLog(&out, generations(), c.now)
	l.Phase("compiling")
	l.Download(5, 100)
	l.Download(12, 100)
	l.Download(13, 100)
	for g := range int64(234) {
		l.Report(generation(g+1, 490, 484.25))
		l.Phase("between news, not written")
	}
	c.pass(3 * time.Second)
	l.Close("done")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Equal(t, []string{"xlarun evolve CartPole-v1: 256 x mlp:16,16", "compiling", "downloaded 5 B of 100 B",
		"downloaded 12 B of 100 B",
		"program: cache hit, trace 0.12 s, compile 0.03 s; 2 cpu devices, tiles of 128", "run folder: runs/cartpole",
		"generation 1: best 490.0, mean 484.2 of 475, 51.2 M steps/s, 0:00"}, lines[:7])
	require.Equal(t, []string{"generation 234: best 490.0, mean 484.2 of 475, 51.2 M steps/s, 0:03", "done"},
		lines[len(lines)-2:])
	count := func(part string) int { return strings.Count(out.String(), part) }
	require.Equal(t, 10+9+1+1, count("\ngeneration "), "1 to 10, 20 to 100, 200, the last")
	for _, g := range []int{1, 9, 10, 20, 100, 200} {
		require.Equal(t, 1, count(fmt.Sprintf("\ngeneration %d:", g)), "%d", g)
	}
	require.Zero(t, count("\ngeneration 11:"))
	require.Zero(t, count("\ngeneration 110:"))
	require.NotContains(t, out.String(), "\x1b")
}

// Long runs have a line a second at most, slow ones one in ten seconds at least.
func TestPlainPace(t *testing.T) {
	var out bytes.Buffer
	c := newClock()
	l := newLog(&out, Board{Unit: "step", Start: c.at}, c.now)
	for i := range int64(100) { // 50,000 steps a round, and ten rounds a second
		l.Report(RoundReport{Metrics: run.Metrics{Step: 50_000 * (i + 1)}})
		c.pass(100 * time.Millisecond)
	}
	require.InDelta(t, 10, strings.Count(out.String(), "\nstep "), 1)
	out.Reset()
	for i := range int64(9) { // far from the next multiple of anything
		c.pass(11 * time.Second)
		l.Report(RoundReport{Metrics: run.Metrics{Step: 5_000_001 + i}})
	}
	require.Equal(t, 9, strings.Count(out.String(), "step "))
	l.Close()
	require.Equal(t, 9, strings.Count(out.String(), "step "), "the last news were written")
}

func TestPlainLinesTellTests(t *testing.T) {
	var out bytes.Buffer
	c := newClock()
	l := newLog(&out, steps(), c.now)
	news := func(step int64, more ...run.Value) {
		l.Report(RoundReport{
			Metrics: run.Metrics{
				Step: step, Values: append([]run.Value{value("best_accuracy", .3), value("mean_accuracy", .2),
					value("loss", 1.5)}, more...)},
			StepsPerSecond: 2000, Devices: "2 cpu devices", Cache: "hit"})
	}
	news(2010)
	news(2011)
	news(2012, value("best_test", .65), value("mean_test", .55))
	news(2013)
	news(2014, value("best_test", math.NaN()), value("mean_test", .6))
	news(2015)
	l.Close()
	require.Equal(t, strings.TrimLeft(`
xlarun sparse: 3 networks
program: cache hit, trace 0.00 s, compile 0.00 s; 2 cpu devices
step 2010: best 30.00 %, mean 20.00 %, loss 1.5000, 2 K steps/s, 0:00
step 2012: best 30.00 %, mean 20.00 %, loss 1.5000, test best 65.00 %, mean 55.00 %, 2 K steps/s, 0:00
step 2014: best 30.00 %, mean 20.00 %, loss 1.5000, test best NaN %, mean 60.00 %, 2 K steps/s, 0:00
step 2015: best 30.00 %, mean 20.00 %, loss 1.5000, test best NaN %, mean 60.00 % (step 2014), 2 K steps/s, 0:00
`, "\n"), out.String())
}

// An event is a line, whatever its text holds.
func TestPlainLinesAreLines(t *testing.T) {
	var out bytes.Buffer
	b := Board{Command: "evolve\n\x1b[2J", Setup: "a\tb\rc", Unit: "step", Start: newClock().at}
	l := newLog(&out, b, newClock().now)
	l.Notice("the disk is full\nwaiting")
	l.Moved("else\x07where")
	l.Close("the end\x1b")
	require.Equal(t, "xlarun evolve ?[2J: a b c\nthe disk is full waiting\nrun folder: else?where\nthe end?\n",
		out.String())
}

func TestReporterOnAPipeIsPlain(t *testing.T) {
	var out bytes.Buffer
	r := NewReporter(&out, func(string) string { return "xterm" }, Board{Command: "evolve X", Setup: "4 x mlp",
		Unit: "generation", Start: time.Now()})
	r.Report(RoundReport{Metrics: run.Metrics{Step: 1}})
	r.Close()
	require.Contains(t, out.String(), "\ngeneration 1: 0:0")
	require.NotContains(t, out.String(), "\x1b")
}
