package display

import (
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/term"
)

// screen redraws a few lines in place on a terminal. It keeps to the lines that it owns: what stood above stays, and
// the last drawing stays behind. It is for one goroutine at a time.
type screen struct {
	w     io.Writer
	style Style
	// size gives the terminal's columns and rows, mine whether it may be drawn on now; tests put their own.
	size func() (width, height int)
	mine func() bool

	drawn      int  // lines on the terminal
	wide, high int  // the terminal when they were drawn
	away       bool // the terminal was not to be drawn on
	anew       bool // nothing is known of what stands on the terminal
	top        bool // the lines stand at the terminal's top, and nothing above them
}

const fallbackWidth, fallbackHeight = 80, 24

func newScreen(w io.Writer, fd int, style Style) *screen {
	s := &screen{w: w, style: style, mine: func() bool { return inForeground(fd) }}
	s.size = func() (int, int) {
		if width, height, err := term.GetSize(fd); err == nil && width > 0 && height > 0 {
			return width, height
		}
		return fallbackWidth, fallbackHeight
	}
	return s
}

// ranked is a line and how soon it goes where there is no room: the highest rank first.
type ranked struct {
	line line
	rank int
}

// frame gives what is to be drawn: texts that stay above for good, and the lines.
type frame func(width int) (above []string, lines []ranked)

// draw puts lines where the last ones were, unless the process is in the background. The cursor rests below.
func (s *screen) draw(f frame) {
	if !s.mine() {
		s.away = true
		return
	}
	if s.away {
		s.away, s.anew, s.top = false, true, false
	}
	s.write(f)
}

// last draws for the last time, wherever the process is.
func (s *screen) last(f frame) {
	if s.away || !s.mine() {
		s.drawn, s.anew = 0, false
	}
	s.write(f)
}

// write clears each row behind its text, and at last what is below: a terminal that is cleared from its top may keep
// what stood there for scrolling back.
func (s *screen) write(f frame) {
	width, height := s.size()
	var b strings.Builder
	b.WriteString("\x1b[?25l") // no cursor flickering through the lines
	if resized := width != s.wide || height != s.high; s.anew || s.drawn > 0 && resized {
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

// clear begins at the top of a terminal of which is not known what stands where: after a stop the shell wrote, and one
// of another size has folded long lines, or not. It moves what stands on the terminal into what can be scrolled back
// to, unless that is only an earlier drawing.
func (s *screen) clear(b *strings.Builder, height int) {
	if !s.top {
		b.WriteString(strings.Repeat("\r\n", height))
	}
	b.WriteString("\x1b[H")
	s.anew, s.top = false, true
}

// fit leaves lines out until there are at most so many: those of the highest rank, the last of them first. A screen
// that scrolls could not be drawn over.
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

// redrawEvery is how often a live screen shows what is new.
const redrawEvery = 100 * time.Millisecond
