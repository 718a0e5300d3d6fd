// Package display shows what a command does: a live screen on a terminal, plain lines anywhere else.
package display

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
)

// Style is how text may look on a terminal.
type Style struct {
	Colour  bool
	Unicode bool // block characters and arrows, not only ASCII
}

// StyleOf reads the style from the environment: NO_COLOR, TERM, and the locale.
func StyleOf(env func(string) string) Style {
	locale := env("LC_ALL")
	for _, name := range []string{"LC_CTYPE", "LANG"} {
		if locale == "" {
			locale = env(name)
		}
	}
	locale = strings.ToLower(locale)
	plain := locale == "c" || locale == "posix" || strings.Contains(locale, "8859")
	return Style{Colour: env("NO_COLOR") == "" && env("TERM") != "dumb", Unicode: !plain}
}

// Terminal tells whether w is a terminal that a live screen can be drawn on, and gives its file descriptor.
func Terminal(w io.Writer, env func(string) string) (fd int, ok bool) {
	f, ok := w.(interface{ Fd() uintptr })
	if !ok || env("TERM") == "dumb" || env("TERM") == "" {
		return 0, false
	}
	fd = int(f.Fd())
	return fd, term.IsTerminal(fd)
}

// The colours of a span, as ANSI codes.
const (
	plain  = ""
	bold   = "1"
	dim    = "2"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

// span is a piece of a line in one colour.
type span struct {
	text   string
	colour string
}

// line is one row of the screen.
type line []span

func (l line) width() int {
	n := 0
	for _, s := range l {
		n += utf8.RuneCountInString(s.text)
	}
	return n
}

// render cuts the line to the width and colours it. Every rune that the package uses is one column wide.
func (l line) render(width int, style Style) string {
	var b strings.Builder
	for _, s := range l {
		if width <= 0 {
			break
		}
		text := []rune(s.text)
		text = text[:min(len(text), width)]
		width -= len(text)
		if style.Colour && s.colour != plain {
			fmt.Fprintf(&b, "\x1b[%sm%s\x1b[0m", s.colour, string(text))
		} else {
			b.WriteString(string(text))
		}
	}
	return b.String()
}

// apart puts two lines at the ends of one row; where they do not fit, the right one goes.
func apart(left, right line, width int) line {
	gap := width - left.width() - right.width()
	if gap < 2 {
		return left
	}
	return append(append(append(line{}, left...), span{strings.Repeat(" ", gap), plain}), right...)
}

// wrap cuts a text between words, into rows of at most width columns. A longer word stays whole: it may be a path.
func wrap(text string, width int) []string {
	var rows []string
	for i, word := range strings.Split(text, " ") {
		last := len(rows) - 1
		if i == 0 || utf8.RuneCountInString(rows[last])+1+utf8.RuneCountInString(word) > width {
			rows = append(rows, word)
		} else {
			rows[last] += " " + word
		}
	}
	return rows
}

// Bar is a progress bar of width columns.
func Bar(part float64, width int, style Style) string {
	if math.IsNaN(part) {
		part = 0
	}
	part = min(max(part, 0), 1)
	full, empty := "█", "░"
	if !style.Unicode {
		full, empty = "#", "."
	}
	n := int(part*float64(width) + .5)
	return strings.Repeat(full, n) + strings.Repeat(empty, width-n)
}

// Sparkline draws values as a row of at most width columns; more values are averaged into fewer columns. Values that
// are not numbers leave a gap.
func Sparkline(values []float64, width int, style Style) string {
	if len(values) == 0 || width <= 0 {
		return ""
	}
	columns := min(width, len(values))
	means := make([]float64, columns)
	lo, hi := math.Inf(1), math.Inf(-1)
	for c := range means {
		from, to := c*len(values)/columns, (c+1)*len(values)/columns
		sum := 0.
		for _, v := range values[from:to] {
			sum += v
		}
		means[c] = sum / float64(to-from)
		if !math.IsNaN(means[c]) && !math.IsInf(means[c], 0) {
			lo, hi = min(lo, means[c]), max(hi, means[c])
		}
	}
	levels := []rune("▁▂▃▄▅▆▇█")
	if !style.Unicode {
		levels = []rune("_.-=*#")
	}
	var b strings.Builder
	for _, m := range means {
		switch {
		case math.IsNaN(m) || math.IsInf(m, 0):
			b.WriteByte(' ')
		case hi == lo:
			b.WriteRune(levels[0])
		default:
			b.WriteRune(levels[min(len(levels)-1, int((m-lo)/(hi-lo)*float64(len(levels))))])
		}
	}
	return b.String()
}

// Count writes a large number with three digits and a unit: "51.2 M".
func Count(x float64) string {
	for _, unit := range []string{"", " K", " M", " G"} {
		if math.Abs(x) < 1000 || math.IsNaN(x) {
			if unit == "" {
				return fmt.Sprintf("%.0f", x)
			}
			return fmt.Sprintf("%.3g%s", x, unit)
		}
		x /= 1000
	}
	return fmt.Sprintf("%.3g T", x)
}

// Bytes writes a size in units of 1000: "210 MB".
func Bytes(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	x := float64(n)
	for _, unit := range []string{"kB", "MB", "GB"} {
		x /= 1000
		if x < 1000 {
			return fmt.Sprintf("%.3g %s", x, unit)
		}
	}
	return fmt.Sprintf("%.3g TB", x/1000)
}

// Clock writes a duration as m:ss, or h:mm:ss.
func Clock(d time.Duration) string {
	s := int(d.Seconds())
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// Fitness writes a return with one decimal, more where it is small.
func Fitness(x float64) string {
	if x != 0 && math.Abs(x) < 1 {
		return fmt.Sprintf("%.3g", x)
	}
	return fmt.Sprintf("%.1f", x)
}
