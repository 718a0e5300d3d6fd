package display

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/episode"
	"xlarun/rollout/run"
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
		{[]float64{-math.MaxFloat64, math.MaxFloat64}, 2, unicode, "▁█"},
		{[]float64{math.Inf(1), 1, 2, math.Inf(-1)}, 4, unicode, " ▁█ "},
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
	require.Equal(t, "1e+300", Fitness(1e300))
	require.Equal(t, "NaN", Fitness(math.NaN()))
	require.Equal(t, "1 M", Count(999_900), "not 1e+03 K")
	require.Equal(t, "+Inf", Count(math.Inf(1)))
	require.Equal(t, "1 MB", Bytes(999_999))
	require.Equal(t, "0.31", rate(.31))
	require.Equal(t, "20", rate(19.7))
	for _, c := range []struct {
		x      float64
		format run.Format
		want   string
	}{
		{484.25, run.Fitness, "484.2"}, {.96251, run.Percent, "96.25 %"}, {math.NaN(), run.Percent, "NaN %"},
		{.05123, run.Loss, "0.0512"},
		{1.5e-7, run.Loss, "1.5e-07"}, {3e30, run.Loss, "3e+30"}, {12, run.Whole, "12"},
		{.01234, run.Seconds, "0.0123 s"}, {3141, run.Bytes, "3.14 kB"}, {1e300, run.Whole, "1e+300"},
		{math.Inf(-1), run.Whole, "-Inf"},
		{-1e-6, run.Percent, "0.00 %"}, {-.0051, run.Percent, "-0.51 %"}, {math.Copysign(0, -1), run.Fitness, "0.0"},
		{math.Copysign(0, -1), run.Loss, "0.0000"}, {math.Copysign(0, -1), run.Whole, "0"}, // each had a sign once
	} {
		require.Equal(t, c.want, number(c.x, c.format))
	}
}

func TestStyleOf(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want Style
	}{
		{map[string]string{"LANG": "en_US.UTF-8", "TERM": "xterm"}, Style{Color: true, Unicode: true}},
		{map[string]string{"LANG": "C.UTF-8", "NO_COLOR": "1"}, Style{Unicode: true}},
		{map[string]string{"LC_ALL": "C", "LANG": "en_US.UTF-8", "TERM": "dumb"}, Style{}},
	} {
		require.Equal(t, c.want, StyleOf(func(name string) string { return c.env[name] }))
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  []string
	}{
		{"one two three", 80, []string{"one two three"}}, {"one two three", 7, []string{"one two", "three"}},
		{"one two three", 6, []string{"one", "two", "three"}}, {"a bcdefgh ij", 4, []string{"a", "bcdefgh", "ij"}},
		{"", 5, []string{""}},
	} {
		require.Equal(t, c.want, wrap(c.text, c.width), "%q in %d", c.text, c.width)
	}
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

func TestWrapAll(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		most  int
		want  []string
	}{
		{"one two", 80, 3, []string{"one two"}}, {"one two three", 5, 2, []string{"one", "two…"}},
		{"abcdefgh", 3, 9, []string{"abc", "def", "gh"}},
		{"漢字漢", 4, 9, []string{"漢字", "漢"}}, {strings.Repeat("x", 1000), 4, 2, []string{"xxxx", "xxx…"}},
		{"漢", 1, 2, []string{"漢"}},
	} {
		require.Equal(t, c.want, wrapAll(c.text, c.width, c.most, Style{Unicode: true}), "%q in %d", c.text, c.width)
	}
}

// What comes from a user, a file or an environment's name cannot move the cursor or take more columns than are counted.
func TestRenderIsSafe(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		style Style
		want  string
	}{
		{"plain", 5, Style{}, "plain"}, {"plains", 5, Style{}, "plai~"}, {"plains", 5, Style{Unicode: true}, "plai…"},
		{"a\x1b[2Jb\nc\td\x07\u009b", 40, Style{Unicode: true}, "a?[2Jb c d??"}, {"\u202etxt", 9, Style{Unicode: true},
			"?txt"},
		{"漢字", 4, Style{Unicode: true}, "漢字"}, {"漢字", 3, Style{Unicode: true}, "漢…"}, {"漢字", 2, Style{Unicode: true},
			"…"}, {"漢字ü", 9, Style{}, "???"},
		{"e\u0301e", 2, Style{Unicode: true}, "e\u0301e"}, {"\xff\xfe", 9, Style{}, "??"}, {"abc", 0, Style{}, ""},
		{"abc", 1, Style{}, "~"},
		{"abc", 3, Style{Color: true}, "\x1b[32mabc\x1b[0m"},
	} {
		require.Equal(t, c.want, line{{c.text, green}}.render(c.width, c.style), "%q in %d", c.text, c.width)
	}
}

func TestTail(t *testing.T) {
	require.Equal(t, "runs/a", tail("runs/a", 6, Style{}))
	require.Equal(t, "~ns/a", tail("runs/a", 5, Style{}))
	require.Equal(t, "…字", tail("夜漢字", 4, Style{Unicode: true}))
	require.Empty(t, tail("漢", 0, Style{}))
}

func TestShares(t *testing.T) {
	require.Equal(t, []string{"ask 0.5", "play 90", "tell 10 %"},
		shares([]run.Phase{{Name: "ask", Seconds: .005}, {Name: "play", Seconds: .895}, {Name: "tell", Seconds: .1}}))
	require.Equal(t, []string{"step 80", "test 20 %"},
		shares([]run.Phase{{Name: "step", Seconds: 2}, {Name: "test", Seconds: 10, Times: .05}}))
	for _, none := range [][]run.Phase{nil, {{Name: "ask"}}, {{Name: "ask", Seconds: math.NaN()}},
		{{Name: "ask", Seconds: math.Inf(1)}}} {
		require.Empty(t, shares(none))
	}
}

// A run of any length has a curve of its whole length in bounded memory.
func TestHistoryIsThinned(t *testing.T) {
	for _, n := range []int{0, 1, maxHistory - 1, maxHistory, maxHistory + 1, 100_003, 1_000_000} {
		var h history
		for i := range n {
			h.add(float64(i))
		}
		got := h.values()
		require.LessOrEqual(t, len(got), maxHistory)
		require.LessOrEqual(t, cap(h.kept), 2*maxHistory)
		if n == 0 {
			require.Empty(t, got)
			continue
		}
		require.GreaterOrEqual(t, len(got), min(n, maxHistory/2), "%d", n)
		sum := 0.
		for i, x := range got {
			of := min(h.every, n-i*h.every) // values in this one
			require.Equal(t, float64(i*h.every)+float64(of-1)/2, x, "the mean of %d neighbors, %d of %d", of, i, n)
			sum += x * float64(of)
		}
		require.Equal(t, float64(n)*float64(n-1)/2, sum)
	}
}

func TestHistoryKeepsGaps(t *testing.T) {
	var h history
	for i := range 4 * maxHistory {
		if i == maxHistory {
			h.add(math.NaN())
		} else {
			h.add(1)
		}
	}
	gaps := 0
	for _, x := range h.values() {
		if math.IsNaN(x) {
			gaps++
		}
	}
	require.Equal(t, 1, gaps, "what is not a number is seen, and its neighbors are, too")
}

func TestAxis(t *testing.T) {
	for _, c := range []struct {
		values []float64
		width  int
		format run.Format
		want   string
	}{
		{nil, 10, run.Fitness, ""}, {[]float64{math.NaN(), math.Inf(1)}, 10, run.Fitness, ""},
		{[]float64{5}, 10, run.Fitness, "5.0"},
		{[]float64{0, 100, 20}, 10, run.Fitness, "0.0 to 100.0"}, {[]float64{0, 100, 20, 30}, 2, run.Fitness,
			"25.0 to 50.0"},
		{[]float64{.1, .96}, 9, run.Percent, "10.00 to 96.00 %"}, {[]float64{1, 1.001}, 9, run.Fitness, "1.0"},
	} {
		require.Equal(t, c.want, axis(c.values, c.width, c.format), "%v", c.values)
	}
}

func TestPace(t *testing.T) {
	start := time.Unix(1000, 0)
	at := func(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }
	known := func(p *pace, until int64, now, want float64) {
		t.Helper()
		d, ok := p.left(until, at(now))
		require.True(t, ok)
		require.InDelta(t, want, d.Seconds(), 1e-6)
	}
	unknown := func(p *pace, now float64) {
		t.Helper()
		_, ok := p.left(100, at(now))
		require.False(t, ok)
	}
	var p pace
	unknown(&p, 5)
	p.add(501, at(5)) // of a run that goes on: what was before is not of this process
	unknown(&p, 9)
	p.add(502, at(5.5))
	unknown(&p, 5.5)
	p.add(503, at(7))
	known(&p, 603, 7, 100)
	known(&p, 603, 7.5, 99.5)
	known(&p, 603, 60, 99) // the round is late: nothing is known of why
	known(&p, 500, 7, 0)

	// After the pace changed, a minute later only the new one counts.
	for s := range 1000 {
		p.add(504+int64(s), at(7+.1*float64(s+1)))
	}
	known(&p, 1503+600, 107, 60)

	// The time of a stop does not.
	p.resume(at(5000))
	unknown(&p, 5000)
	p.add(1504, at(5002))
	known(&p, 1514, 5002, 20)
	p.add(7, at(5003)) // back to an earlier state
	unknown(&p, 5003)

	var huge pace
	huge.add(1, at(0))
	huge.add(2, at(3600))
	d, ok := huge.left(math.MaxInt64, at(3600))
	require.True(t, ok)
	require.Equal(t, "more than 1000 days", timeLeft(d))
	require.Equal(t, "about 3 days", timeLeft(70*time.Hour))
	require.Equal(t, "about 1:00:00", timeLeft(3599700*time.Millisecond))
	require.Equal(t, "about 0:00", timeLeft(0))
	var none pace
	none.resume(at(1))
	unknown(&none, 2)
}

// A terminal that became half as wide has folded long lines: the drawing begins anew, at the top.
func TestScreenBeginsAnewAfterAResize(t *testing.T) {
	var out bytes.Buffer
	width := 41
	s := newScreen(&out, -1, Style{})
	s.size = func() (int, int) { return width, 4 }
	text := func(int) ([]string, []ranked) {
		return nil, []ranked{{line{{strings.Repeat("x", 40), plain}}, 0}, {line{{"short", plain}}, 0}}
	}
	s.draw(text)
	require.NotContains(t, out.String(), "A\r", "the first drawing stays where it is")
	require.NotContains(t, out.String(), "\x1b[H")
	out.Reset()
	s.draw(text)
	require.True(t, strings.HasPrefix(out.String(), "\x1b[?25l\x1b[2A\rxxx"), "%q", out.String())
	out.Reset()
	width = 20
	s.draw(text)
	require.True(t, strings.HasPrefix(out.String(), "\x1b[?25l\r\n\r\n\r\n\r\n\x1b[Hxxx"),
		"what stood there can be scrolled back to: %q", out.String())
	out.Reset()
	width = 30
	s.draw(text)
	require.True(t, strings.HasPrefix(out.String(), "\x1b[?25l\x1b[Hxxx"), "earlier drawings need not: %q",
		out.String())
}

// In the background the terminal is the shell's.
func TestScreenIsQuietInTheBackground(t *testing.T) {
	var out bytes.Buffer
	s := newScreen(&out, -1, Style{})
	mine := true
	s.foreground = func() bool { return mine }
	text := func(int) ([]string, []ranked) { return nil, []ranked{{line{{"x", plain}}, 0}} }
	s.draw(text)
	out.Reset()
	mine = false
	s.draw(text)
	require.Empty(t, out.String())
	mine = true
	s.draw(text)
	require.Contains(t, out.String(), "\r\n\x1b[Hx")
	mine = false
	out.Reset()
	s.last(text)
	require.Equal(t, "\x1b[?25lx\x1b[K\r\n\x1b[J\x1b[?25h", out.String(), "the last is drawn wherever the cursor is")
}

// A low terminal shows what fits, by rank: a screen that scrolls cannot be drawn over.
func TestFit(t *testing.T) {
	lines := []ranked{{line{{"a", plain}}, 0}, {nil, 8}, {line{{"b", plain}}, 5}, {nil, 8}, {line{{"c", plain}}, 2},
		{line{{"d", plain}}, 5}}
	for most, want := range map[int]string{6: "a--b--cd", 5: "a--bcd", 4: "abcd", 3: "abc", 2: "ac", 1: "a", 0: "a",
		-3: "a"} {
		got := ""
		for _, l := range fit(lines, most) {
			if len(l) == 0 {
				got += "--"
			} else {
				got += l[0].text
			}
		}
		require.Equal(t, want, got, "%d", most)
	}
	require.Empty(t, fit(nil, 3))
}

// A metric that is NaN is shown as NaN, or is left out where that says that there is nothing to measure, until it is a
// number again.
func TestGaps(t *testing.T) {
	r := run.DisplayRow{Label: "loss", Parts: []run.Part{{Before: "loss ", Metric: "loss"},
		{Before: ", norm ", Metric: "norm"}}}
	news := func(loss, norm float64) run.Metrics {
		return run.Metrics{Values: []run.Value{{Name: "loss", Number: loss}, {Name: "norm", Number: norm}}}
	}
	for i, c := range []struct {
		metrics run.Metrics
		gaps    bool
		want    string
	}{
		{news(1, 2), true, "loss 1.0, norm 2.0"},
		{news(math.NaN(), 2), false, "loss NaN, norm 2.0"},
		{news(math.NaN(), 2), true, "norm 2.0"},
		{news(math.NaN(), math.NaN()), true, ""},
		{news(3, math.Inf(1)), true, "loss 3.0, norm +Inf"},
	} {
		known := values{}
		known.add(news(5, 5), run.Metrics{}, nil)
		known.add(c.metrics, run.Metrics{}, nil)
		r.Gaps = c.gaps
		require.Equal(t, c.want, strings.Join(known.pieces(r), ""), "case %d", i+1)
	}
	none := values{}
	row := run.EvalRow(", target 475")
	require.Empty(t, none.pieces(row), "a target alone")
	score := episode.EvalScore{Mean: 62, Error: .5, Episodes: 9}
	none.add(run.Metrics{Values: run.EvalValues(score)}, run.Metrics{}, nil)
	require.Equal(t, "62.0 ± 0.5, target 475", strings.Join(none.pieces(row), ""), `it was "of 475 + 0.5"`)
}
