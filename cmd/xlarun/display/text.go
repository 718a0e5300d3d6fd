package display

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// Style holds what a terminal can show.
type Style struct {
	Color   bool
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
	return Style{Color: env("NO_COLOR") == "" && env("TERM") != "dumb", Unicode: !plain}
}

// Terminal reports whether w is a terminal that can show a live screen, and returns its file descriptor.
func Terminal(w io.Writer, env func(string) string) (fd int, ok bool) {
	f, ok := w.(interface{ Fd() uintptr })
	if !ok || env("TERM") == "dumb" || env("TERM") == "" {
		return 0, false
	}
	fd = int(f.Fd())
	return fd, term.IsTerminal(fd)
}

// Width returns the number of columns of the terminal w, or 0 if w is no terminal.
func Width(w io.Writer, env func(string) string) int {
	fd, ok := Terminal(w, env)
	if !ok {
		return 0
	}
	width, _ := terminalSize(fd)
	return width
}

const fallbackWidth, fallbackHeight = 80, 24

// terminalSize returns the columns and rows of a terminal.
func terminalSize(fd int) (width, height int) {
	if width, height, err := term.GetSize(fd); err == nil && width > 0 && height > 0 {
		return width, height
	}
	return fallbackWidth, fallbackHeight
}

// Cut returns a line of at most so many columns, with an ellipsis where it is cut; 0: any number.
func Cut(text string, width int, s Style) string {
	if width == 0 {
		return text
	}
	s.Color = false
	return line{{text, plain}}.render(width, s)
}

// The colors of a span, as ANSI codes.
const (
	plain  = ""
	bold   = "1"
	dim    = "2"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

// span is a part of a line in one color.
type span struct {
	text  string
	color string
}

// line is one row of the screen.
type line []span

func (l line) width() int {
	n := 0
	for _, s := range l {
		n += textWidth(s.text)
	}
	return n
}

// render cleans and colors the line and cuts it to the width. An ellipsis marks a cut.
func (l line) render(width int, style Style) string {
	var b strings.Builder
	l = slices.Clone(l)
	for i := range l {
		l[i].text = clean(l[i].text, style)
	}
	whole := l.width() <= width
	if !whole {
		width--
	}
	for _, s := range l {
		text := cut(s.text, width)
		width -= textWidth(text)
		if style.Color && s.color != plain && text != "" {
			fmt.Fprintf(&b, "\x1b[%sm%s\x1b[0m", s.color, text)
		} else {
			b.WriteString(text)
		}
		if len(text) < len(s.text) {
			break
		}
	}
	if !whole && width >= 0 {
		b.WriteString(style.ellipsis())
	}
	return b.String()
}

func (s Style) ellipsis() string {
	if s.Unicode {
		return "…"
	}
	return "~"
}

// runeWidth returns the number of columns of a rune on a terminal.
func runeWidth(r rune) int {
	switch {
	case r < 0x300, r >= 0x2500 && r < 0x25a0: // Latin, and the characters of bars and curves
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana),
		r >= 0x3000 && r < 0x3040, r >= 0xff01 && r < 0xff61, // punctuation of these scripts
		r >= 0x1f300 && r < 0x1fb00: // emoji
		return 2
	}
	return 1
}

func textWidth(text string) int {
	n := 0
	for _, r := range text {
		n += runeWidth(r)
	}
	return n
}

// cut returns the longest prefix of a text that fits.
func cut(text string, width int) string {
	for i, r := range text {
		if width -= runeWidth(r); width < 0 {
			return text[:i]
		}
	}
	return text
}

// tail returns the longest suffix of a text that fits, after an ellipsis if the text is cut.
func tail(text string, width int, style Style) string {
	n := textWidth(text)
	if n <= width {
		return text
	}
	for i, r := range text {
		if n <= width-1 {
			return style.ellipsis() + text[i:]
		}
		n -= runeWidth(r)
	}
	return ""
}

// clean makes a text from elsewhere safe for one line of a terminal. It replaces runes that would move the cursor or
// that the terminal cannot show.
func clean(text string, style Style) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= ' ' && r <= '~', r >= 0x2580 && r < 0x25a0 && style.Unicode:
			return r
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r), r > unicode.MaxASCII && !style.Unicode:
			return '?'
		}
		return r
	}, text)
}

// justify places two lines at the two ends of one row. If they do not fit, it cuts the left one; if less than half of
// the row would remain for that, it drops the right one.
func justify(left, right line, width int, style Style) line {
	gap := width - left.width() - right.width()
	if room := width - right.width() - 2; gap < 2 && room >= width/2 {
		left, gap = line{{left.render(room, Style{Unicode: style.Unicode}), left[0].color}}, 2
	}
	if gap < 2 {
		return left
	}
	return append(append(append(line{}, left...), span{strings.Repeat(" ", gap), plain}), right...)
}

// wrap breaks a text between words into rows of at most width columns. A longer word stays whole: it may be a path.
func wrap(text string, width int) []string {
	var rows []string
	for i, word := range strings.Split(text, " ") {
		last := len(rows) - 1
		if i == 0 || textWidth(rows[last])+1+textWidth(word) > width {
			rows = append(rows, word)
		} else {
			rows[last] += " " + word
		}
	}
	return rows
}

// wrapAll is wrap that also breaks words longer than a row, and returns at most `most` rows. An ellipsis marks a cut.
func wrapAll(text string, width, most int, style Style) []string {
	var rows []string
	for _, row := range wrap(cut(text, most*width+1), width) { // more than that does not fit anyway
		for width > 1 && textWidth(row) > width { // a rune may take two columns
			piece := cut(row, width)
			rows, row = append(rows, piece), row[len(piece):]
		}
		if rows = append(rows, row); len(rows) > most {
			rows = rows[:most]
			rows[most-1] = cut(rows[most-1], width-1) + style.ellipsis()
			break
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
