package display

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"
)

// screen redraws a few lines in place on a terminal. It keeps to the lines that it owns: what stood above stays, and
// the last drawing stays behind.
type screen struct {
	w     io.Writer
	fd    int
	style Style
	// size gives the terminal's columns and rows; tests put their own.
	size func() (width, height int)

	drawn []int // the width of each line on the terminal
	wide  int   // the terminal's width when they were drawn
}

const fallbackWidth, fallbackHeight = 80, 24

func newScreen(w io.Writer, fd int, style Style) *screen {
	s := &screen{w: w, fd: fd, style: style}
	s.size = func() (int, int) {
		if width, height, err := term.GetSize(fd); err == nil && width > 0 && height > 0 {
			return width, height
		}
		return fallbackWidth, fallbackHeight
	}
	return s
}

// draw puts lines where the last ones were. lines is called with the width at hand. The cursor rests below. Lines that
// there is no room for are left out, empty ones first: a screen that scrolls could not be drawn over.
func (s *screen) draw(lines func(width int) []line) {
	width, height := s.size()
	var b strings.Builder
	b.WriteString("\x1b[?25l") // no cursor flickering through the lines
	s.up(&b, width)
	s.drawn, s.wide = s.drawn[:0], width
	for _, l := range fit(lines(width-1), height-1) { // the last column would wrap on some terminals
		text := l.render(width-1, s.style)
		s.drawn = append(s.drawn, min(l.width(), width-1))
		b.WriteString(text + "\x1b[K\r\n")
	}
	b.WriteString("\x1b[J\x1b[?25h")
	_, _ = io.WriteString(s.w, b.String())
}

// fit leaves lines out until there are at most so many: empty ones, then the last.
func fit(lines []line, most int) []line {
	most = max(1, most)
	for i := len(lines) - 1; i >= 0 && len(lines) > most; i-- {
		if len(lines[i]) == 0 {
			lines = slices.Delete(lines, i, i+1)
		}
	}
	return lines[:min(len(lines), most)]
}

// up moves to the first line of the last drawing. A terminal that became narrower has folded long lines into several
// rows.
func (s *screen) up(b *strings.Builder, width int) {
	rows := 0
	for _, w := range s.drawn {
		rows += max(1, (w+width-1)/width)
	}
	if rows > 0 {
		fmt.Fprintf(b, "\x1b[%dA\r", rows)
		if s.wide != width {
			b.WriteString("\x1b[J")
		}
	}
}

// redrawEvery is how often a live screen shows what is new.
const redrawEvery = 100 * time.Millisecond
