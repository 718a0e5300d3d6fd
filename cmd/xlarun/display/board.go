package display

import (
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// board is what all live screens share: a head, what the command is busy with until there is news, then the news. It
// redraws at a fixed pace, whatever the pace of the news.
type board struct {
	screen         *screen
	command, setup string
	start          time.Time
	// news are the rows below the head, none before there is any; called with the mutex held.
	news func(width int) []line
	stop chan struct{}
	done chan struct{}
	once sync.Once

	mu             sync.Mutex
	phase          string
	fetched, total int64 // of a download, in bytes
}

func newBoard(s *screen, command, setup string, start time.Time, news func(width int) []line) *board {
	return &board{screen: s, command: command, setup: setup, start: start, news: news, phase: "starting", stop: make(chan struct{}), done: make(chan struct{})}
}

// redraw draws until Close.
func (b *board) redraw() {
	defer close(b.done)
	tick := time.NewTicker(redrawEvery)
	defer tick.Stop()
	for {
		select {
		case <-b.stop:
			return
		case <-tick.C:
			b.draw()
		}
	}
}

func (b *board) draw() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.screen.draw(b.lines)
}

// Phase says what the run is busy with.
func (b *board) Phase(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.phase, b.total = text, 0
}

// Download shows how much of a download is there.
func (b *board) Download(done, total int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fetched, b.total = done, total
}

// Close draws for the last time and writes the summary below.
func (b *board) Close(summary ...string) {
	b.once.Do(func() {
		close(b.stop)
		<-b.done
		b.draw()
		if len(summary) > 0 {
			fmt.Fprintln(b.screen.w)
		}
		width, _ := b.screen.size()
		for _, s := range summary {
			for _, row := range wrap(s, width) {
				fmt.Fprintln(b.screen.w, row)
			}
		}
	})
}

// lines is the screen. The caller holds the mutex.
func (b *board) lines(width int) []line {
	rows := []line{apart(line{{"xlarun ", bold}, {b.command, bold}}, line{{Clock(time.Since(b.start)), plain}}, width)}
	for _, text := range wrap(b.setup, width) {
		rows = append(rows, line{{text, dim}})
	}
	rows = append(rows, line{})
	if news := b.news(width); len(news) > 0 {
		return append(rows, news...)
	}
	if b.total > 0 {
		return append(rows, append(line{label("download")}, downloadLine(b.fetched, b.total, width, b.screen.style)...))
	}
	return append(rows, b.now())
}

// now is the row of what the run is busy with.
func (b *board) now() line { return line{label("now"), {b.phase, yellow}} }

func downloadLine(done, total int64, width int, style Style) line {
	part := float64(done) / float64(total)
	return line{{Bar(part, barWidth(width), style), cyan}, {fmt.Sprintf(" %3.0f %%  %s of %s", 100*part, Bytes(done), Bytes(total)), plain}}
}

func barWidth(width int) int { return max(8, min(40, width-labelWidth-30)) }

const (
	labelWidth = 12
	// Room of a row's text before its curve: on wide terminals, and on those narrower than narrowWidth.
	textWidth       = 24
	narrowTextWidth = 15
	narrowWidth     = 64
)

func label(name string) span { return span{fmt.Sprintf("%-*s", labelWidth, name), dim} }

// row is a label, a text, and a curve, bar or note behind it, made for the room that is left.
func row(width int, name string, text line, rest func(room int) span) line {
	column := textWidth
	if width < narrowWidth {
		column = narrowTextWidth
	}
	l := append(line{label(name)}, text...)
	if gap := column - text.width(); gap > 0 {
		l = append(l, span{strings.Repeat(" ", gap), plain})
	} else {
		l = append(l, span{" ", plain})
	}
	return append(l, rest(max(0, width-l.width())))
}

// curve is a sparkline in a row.
func (b *board) curve(values []float64, colour string) func(int) span {
	return func(room int) span { return span{Sparkline(values, room, b.screen.style), colour} }
}

// progress is a bar in a row.
func (b *board) progress(done, of int) func(int) span {
	return func(room int) span { return span{Bar(float64(done)/float64(max(1, of)), room, b.screen.style), dim} }
}

// note is a text in a row, left out where it does not fit.
func note(text, colour string) func(int) span {
	return func(room int) span {
		if utf8.RuneCountInString(text) > room {
			return span{}
		}
		return span{text, colour}
	}
}

// effort is what a run costs.
type effort struct {
	stepsPerSecond float64
	where          string // what it runs on
	cache          string
	trace, compile time.Duration
	memory         int64 // bytes
}

// rows are the last ones of every run's screen.
func (e effort) rows(width int) []line {
	text := func(s string) line { return line{{s, plain}} }
	return []line{
		{},
		row(width, "speed", text(Count(e.stepsPerSecond)+" steps/s"), note(e.where, plain)),
		row(width, "program", text("cache "+e.cache), note(fmt.Sprintf("trace %.2f s, compile %.2f s", e.trace.Seconds(), e.compile.Seconds()), dim)),
		{label("memory"), {Bytes(e.memory), plain}},
	}
}
