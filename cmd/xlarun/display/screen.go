package display

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// screen redraws a few lines in place on a terminal. Text above these lines stays, and so do the last lines. Only one
// goroutine may use it at a time.
type screen struct {
	w     io.Writer
	style Style
	// size returns the terminal's columns and rows. foreground reports whether the process may draw on it now. Tests
	// replace both.
	size       func() (width, height int)
	foreground func() bool

	drawn      int  // lines on the terminal
	wide, high int  // the terminal's size at that time
	background bool // the process was in the background
	stale      bool // the text on the terminal is not known
	top        bool // the lines are at the terminal's top, without text above them
}

func newScreen(w io.Writer, fd int, style Style) *screen {
	return &screen{w: w, style: style, size: func() (int, int) { return terminalSize(fd) },
		foreground: func() bool { return inForeground(fd) }}
}

// ranked is a line with its rank. Lines of the highest rank are left out first.
type ranked struct {
	line line
	rank int
}

// frame returns the lines to draw, and texts to write above them once.
type frame func(width int) (above []string, lines []ranked)

// draw replaces the last lines, except if the process is in the background. It leaves the cursor below.
func (s *screen) draw(f frame) {
	if !s.foreground() {
		s.background = true
		return
	}
	if s.background {
		s.background, s.stale, s.top = false, true, false
	}
	s.write(f)
}

// last draws the last lines, also in the background.
func (s *screen) last(f frame) {
	if s.background || !s.foreground() {
		s.drawn, s.stale = 0, false
	}
	s.write(f)
}

// write clears the rest of each row after its text, and at the end all rows below. It does not clear from the top: some
// terminals would then keep the old text for scrolling back.
func (s *screen) write(f frame) {
	width, height := s.size()
	var b strings.Builder
	b.WriteString("\x1b[?25l") // hide the cursor, which would flicker
	if resized := width != s.wide || height != s.high; s.stale || s.drawn > 0 && resized {
		s.clear(&b, height)
	} else if s.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r", s.drawn)
	}
	s.wide, s.high = width, height
	above, lines := f(width - 1) // the last column would wrap on some terminals
	for _, text := range above {
		s.top = false
		b.WriteString(text + "\x1b[K\r\n")
	}
	shown := fit(lines, height-1)
	s.drawn = len(shown)
	for _, l := range shown {
		b.WriteString(l.render(width-1, s.style) + "\x1b[K\r\n")
	}
	b.WriteString("\x1b[J\x1b[?25h")
	_, _ = io.WriteString(s.w, b.String())
}

// clear moves to the top of the terminal. It is needed when the positions of the lines are not known: after a stop, in
// which the shell wrote, and after a resize, which may have folded long lines. It first scrolls the old text up, except
// if that is only an earlier drawing.
func (s *screen) clear(b *strings.Builder, height int) {
	if !s.top {
		b.WriteString(strings.Repeat("\r\n", height))
	}
	b.WriteString("\x1b[H")
	s.stale, s.top = false, true
}

// fit leaves lines out until at most `most` remain: those of the highest rank first, from the last to the first. If the
// screen scrolled, its lines could not be replaced.
func fit(lines []ranked, most int) []line {
	left := len(lines)
	gone := make([]bool, len(lines))
	for left > max(1, most) {
		worst := -1
		for i, l := range lines {
			if !gone[i] && (worst < 0 || l.rank >= lines[worst].rank) {
				worst = i
			}
		}
		gone[worst] = true
		left--
	}
	kept := make([]line, 0, left)
	for i, l := range lines {
		if !gone[i] {
			kept = append(kept, l.line)
		}
	}
	return kept
}

// redrawEvery is the time between two drawings of a live screen.
const redrawEvery = 100 * time.Millisecond
