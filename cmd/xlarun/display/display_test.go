package display

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestSparkline(t *testing.T) {
	unicode := Style{Unicode: true}
	for _, c := range []struct {
		values []float64
		width  int
		style  Style
		want   string
	}{
		{nil, 10, unicode, ""},
		{[]float64{1}, 10, unicode, "▁"},
		{[]float64{0, 1, 2, 3, 4, 5, 6, 7}, 8, unicode, "▁▂▃▄▅▆▇█"},
		{[]float64{0, 0, 7, 7}, 2, unicode, "▁█"},
		{[]float64{0, math.NaN(), 7}, 3, unicode, "▁ █"},
		{[]float64{5, 5, 5}, 3, unicode, "▁▁▁"},
		{[]float64{0, 9}, 2, Style{}, "_#"},
		{[]float64{0, 9}, 0, unicode, ""},
	} {
		require.Equal(t, c.want, Sparkline(c.values, c.width, c.style), "%v", c.values)
	}
}

func TestTexts(t *testing.T) {
	require.Equal(t, "##..", Bar(.5, 4, Style{}))
	require.Equal(t, "████", Bar(7, 4, Style{Unicode: true}))
	require.Equal(t, "....", Bar(math.NaN(), 4, Style{}))
	require.Equal(t, "51.2 M", Count(51.2e6))
	require.Equal(t, "999", Count(999))
	require.Equal(t, "2 T", Count(2e12))
	require.Equal(t, "63.1 MB", Bytes(63_100_000))
	require.Equal(t, "12 B", Bytes(12))
	require.Equal(t, "1:05", Clock(65*time.Second))
	require.Equal(t, "1:01:05", Clock(3665*time.Second))
	require.Equal(t, "0.00123", Fitness(.00123))
	require.Equal(t, "-110.0", Fitness(-110))
}

func TestStyleOf(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want Style
	}{
		{map[string]string{"LANG": "en_US.UTF-8", "TERM": "xterm"}, Style{Colour: true, Unicode: true}},
		{map[string]string{"LANG": "C.UTF-8", "NO_COLOR": "1"}, Style{Unicode: true}},
		{map[string]string{"LC_ALL": "C", "LANG": "en_US.UTF-8", "TERM": "dumb"}, Style{}},
	} {
		require.Equal(t, c.want, StyleOf(func(name string) string { return c.env[name] }))
	}
}

func liveAt(width int, out *bytes.Buffer) *liveRun {
	s := &screen{w: out, style: Style{Unicode: true}, size: func() (int, int) { return width, 60 }}
	return newLiveRun(s, Run{Command: "evolve CartPole-v1", Setup: strings.Repeat("setup ", 40), Generations: 100, Target: 475, Start: time.Now()})
}

func TestLinesFitEveryWidth(t *testing.T) {
	for _, width := range []int{5, 20, 40, 80, 200} {
		var out bytes.Buffer
		l := liveAt(width, &out)
		for _, g := range []int{0, 1, 99} {
			l.last = Generation{Number: g, Best: 500, Mean: 12.5, StepsPerSecond: 5e6, Devices: "2 cpu devices", Cache: "hit"}
			l.history = make([]float64, g)
			for _, line := range l.lines(width - 1) {
				require.LessOrEqual(t, utf8.RuneCountInString(line.render(width-1, l.screen.style)), width-1)
			}
		}
	}
}

func TestLinesTellTheNews(t *testing.T) {
	var out bytes.Buffer
	l := liveAt(80, &out)
	l.Generation(Generation{Number: 7, Best: 500, Mean: 431.25, StepsPerSecond: 51.2e6, Devices: "2 cpu devices", Cache: "hit",
		Compile: 30 * time.Millisecond, Memory: 210e6})
	l.draw()
	for _, want := range []string{"7 of 100", "500.0", "431.2", "of 475.0", "51.2 M steps/s", "2 cpu devices", "cache hit", "compile 0.03 s", "210 MB"} {
		require.Contains(t, out.String(), want)
	}
	require.NotContains(t, out.String(), "\x1b[3", "no colour was asked for")
	narrow := ""
	for _, row := range l.lines(40) {
		narrow += row.render(40, l.screen.style) + "\n"
	}
	require.Contains(t, narrow, "51.2 M steps/s")
	require.NotContains(t, narrow, "compile", "a note that does not fit is left out")
}

// A terminal that became half as wide has folded each full line into two rows.
func TestScreenMovesUpByTheRowsItOccupies(t *testing.T) {
	var out bytes.Buffer
	width := 41
	s := &screen{w: &out, size: func() (int, int) { return width, 24 }}
	text := func(int) []line { return []line{{{strings.Repeat("x", 40), plain}}, {{"short", plain}}} }
	s.draw(text)
	require.NotContains(t, out.String(), "A\r", "the first drawing stays where it is")
	out.Reset()
	s.draw(text)
	require.Contains(t, out.String(), "\x1b[2A\r")
	out.Reset()
	width = 20
	s.draw(text)
	require.Contains(t, out.String(), "\x1b[3A\r\x1b[J")
}

// Narrow terminals have curves too.
func TestNarrowTerminalsHaveCurves(t *testing.T) {
	var out bytes.Buffer
	for width, want := range map[int]string{36: "484.3 of 475.0 ▁▂▃▄▅▆▇█", 80: "484.3 of 475.0          ▁▂▃▄▅▆▇█"} {
		l := liveAt(width, &out)
		l.last = Generation{Number: 8, Mean: 484.3}
		l.history = []float64{0, 1, 2, 3, 4, 5, 6, 7}
		rows := ""
		for _, x := range l.lines(width) {
			rows += x.render(width, l.screen.style) + "\n"
		}
		require.Contains(t, rows, want)
	}
}

// A low terminal shows what fits: a screen that scrolls cannot be drawn over.
func TestScreenKeepsToItsHeight(t *testing.T) {
	var out bytes.Buffer
	s := &screen{w: &out, size: func() (int, int) { return 40, 4 }}
	s.draw(func(int) []line {
		return []line{{{"a", plain}}, {}, {{"b", plain}}, {}, {{"c", plain}}, {{"d", plain}}}
	})
	require.Equal(t, "\x1b[?25la\x1b[K\r\nb\x1b[K\r\nc\x1b[K\r\n\x1b[J\x1b[?25h", out.String())
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  []string
	}{
		{"one two three", 80, []string{"one two three"}}, {"one two three", 7, []string{"one two", "three"}},
		{"one two three", 6, []string{"one", "two", "three"}}, {"a bcdefgh ij", 4, []string{"a", "bcdefgh", "ij"}}, {"", 5, []string{""}},
	} {
		require.Equal(t, c.want, wrap(c.text, c.width), "%q in %d", c.text, c.width)
	}
}

func TestPlainLinesGetFewer(t *testing.T) {
	var out bytes.Buffer
	r := NewReporter(&out, func(string) string { return "" }, Run{Command: "evolve X", Setup: "4 x mlp", Generations: 250, Target: math.NaN(), Start: time.Now()})
	r.Phase("compiling")
	r.Download(5, 100)
	r.Download(12, 100)
	r.Download(13, 100)
	for g := 1; g <= 234; g++ {
		r.Generation(Generation{Number: g, Best: 1, Mean: .5, StepsPerSecond: 1e6, Devices: "1 cpu device", Cache: "miss"})
	}
	r.Close("done")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Equal(t, "xlarun evolve X: 4 x mlp", lines[0])
	require.Equal(t, "done", lines[len(lines)-1])
	require.Contains(t, lines[len(lines)-2], "generation 234:")
	count := func(part string) int { return strings.Count(out.String(), part) }
	require.Equal(t, 2, count("downloaded"), "one line a tenth")
	require.Equal(t, 1, count("cache miss"))
	require.Equal(t, 10+9+1+1, count("\ngeneration "), "1 to 10, 20 to 100, 200, the last")
	for _, g := range []int{1, 9, 10, 20, 100, 200} {
		require.Equal(t, 1, count(fmt.Sprintf("\ngeneration %d:", g)), "%d", g)
	}
	require.Zero(t, count("\ngeneration 11:"))
	require.Zero(t, count("\ngeneration 110:"))
	require.NotContains(t, out.String(), "\x1b")
}

func TestDownloadBarOnAPipe(t *testing.T) {
	var out bytes.Buffer
	d := NewDownloadBar(&out, func(string) string { return "" })
	for i := range int64(101) {
		d.Download(i, 100)
	}
	d.Notice("next")
	require.Equal(t, 11, strings.Count(out.String(), "downloaded"))
	require.Contains(t, out.String(), "downloaded 100 B of 100 B\nnext\n")
}
