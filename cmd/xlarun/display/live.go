package display

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"xlarun/rollout/run"
)

// live shows a run on a live screen: a head, the phase of the run until the first news, then the news. It redraws at a
// fixed rate.
type live struct {
	board  Board
	screen *screen
	now    func() time.Time
	stop   chan struct{}
	done   chan struct{}
	once   sync.Once

	mu             sync.Mutex // not held while writing to the terminal, which may block
	phase          string
	fetched, total int64 // bytes of a download
	notices        []string
	above          []string // older notices, to be written above the screen
	last           RoundReport
	values         values
	curves         map[string]*history // by metric
	pace           pace
	ended          bool
	picture        picture
}

func newLive(s *screen, b Board, now func() time.Time) *live {
	l := &live{board: b, screen: s, now: now, stop: make(chan struct{}), done: make(chan struct{}), phase: "starting",
		values: values{unit: b.Unit}, curves: map[string]*history{}}
	for _, r := range b.Rows {
		if r.Curve != "" {
			l.curves[r.Curve] = &history{}
		}
	}
	return l
}

// redraw draws at each tick until Close. It also draws, on a clean screen, when a stopped process continues and when
// the terminal's size changes.
func (l *live) redraw(tick <-chan time.Time, continued, resized <-chan os.Signal) {
	defer close(l.done)
	for drawn := l.now(); ; drawn = l.now() {
		select {
		case <-l.stop:
			return
		case <-continued:
			l.resume()
		case <-resized:
		case <-tick:
			if l.now().Sub(drawn) > 3*redrawEvery { // the process was perhaps stopped, and the signal is late
				select {
				case <-continued:
					l.resume()
				case <-time.After(redrawEvery):
				}
			}
		}
		l.screen.draw(l.frame)
	}
}

// resume starts a new screen after a stop, in which the shell may have written to the terminal. The time of the stop
// does not count.
func (l *live) resume() {
	l.screen.stale, l.screen.top = true, false
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pace.resume(l.now())
}

// Phase shows what the run does.
func (l *live) Phase(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.phase, l.total, l.fetched = text, 0, 0
}

// Progress shows how far a long round is. It replaces the phase.
func (l *live) Progress(p Progress) { l.Phase(p.text()) }

// Download shows the progress of a download.
func (l *live) Download(done, total int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fetched, l.total = done, total
}

// shownNotices is the number of notices on the screen. Older ones are written above it.
const shownNotices = 3

// Notice shows a line on the screen. Later notices move it above the screen.
func (l *live) Notice(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		fmt.Fprintln(l.screen.w, clean(text, Style{Unicode: true}))
		return
	}
	l.notice(text)
}

// notice adds a line to those on the screen. mu is held.
func (l *live) notice(text string) {
	if l.notices = append(l.notices, text); len(l.notices) > shownNotices {
		l.above = append(l.above, l.notices[0])
		l.notices = l.notices[1:]
	}
}

// Moved shows the new path of the run's folder.
func (l *live) Moved(folder string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.board.Folder = folder
}

// Report shows the state after a round.
func (l *live) Report(n RoundReport) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.values.add(n.Metrics, l.last.Metrics, l.board.Rows)
	for name, h := range l.curves {
		if x, ok := n.Metrics.Get(name); ok {
			h.add(x)
		}
	}
	l.pace.add(n.Metrics.Step, l.now())
	last := n.Metrics.Over(cmp.Or(l.board.Last, math.MaxInt64))
	if err := l.picture.update(n, l.now(), last); err != nil {
		l.notice("the picture of the " + l.board.Picture + " cannot be drawn: " + err.Error())
	}
	if n.Phases == nil {
		n.Phases = l.last.Phases
	}
	l.last, l.phase = n, ""
	l.fetched, l.total = 0, 0
}

// Close draws the last screen, and writes the notices and the summary below it.
func (l *live) Close(summary ...string) {
	l.once.Do(func() {
		close(l.stop)
		<-l.done
		l.mu.Lock()
		l.ended = true
		summary = append(l.notices, summary...)
		l.notices = nil
		l.mu.Unlock()
		l.screen.last(l.frame)
		if len(summary) > 0 {
			fmt.Fprintln(l.screen.w)
		}
		width, _ := l.screen.size()
		for _, s := range summary {
			for _, row := range wrap(clean(s, Style{Unicode: true}), width) {
				fmt.Fprintln(l.screen.w, row)
			}
		}
	})
}

// The ranks of lines. If the terminal has too few rows, lines of the highest rank are left out first.
const (
	rankHead = iota
	rankNow
	rankMetrics
	rankPace
	rankFolder
	rankSetup
	rankWords
	rankProgram
	rankEmpty
	rankPicture
)

const (
	setupRows   = 3
	noticeRows  = 5 // of the last notice; earlier ones have one row
	notKnownYet = "not known yet"
	noneNow     = "none now"
)

// frame returns the lines of the screen.
func (l *live) frame(width int) (above []string, lines []ranked) {
	l.mu.Lock()
	defer l.mu.Unlock()
	style := l.screen.style
	for _, text := range l.above {
		above = append(above, wrap(clean(text, Style{Unicode: true}), width)...)
	}
	l.above = nil
	clock := line{{Clock(l.now().Sub(l.board.Start)), plain}}
	lines = append(lines, ranked{justify(line{{"xlarun " + clean(l.board.Command, style), bold}}, clock, width, style),
		rankHead})
	for _, text := range wrapAll(clean(cut(l.board.Setup, setupRows*width+1), style), width, setupRows, style) {
		lines = append(lines, ranked{line{{text, dim}}, rankSetup})
	}
	g := l.grid(width)
	lines = append(lines, ranked{nil, rankEmpty})
	if l.last.Metrics.Step > 0 {
		lines = append(lines, l.metrics(g)...)
		lines = append(lines, l.picture.lines(g, l.board.Picture)...)
		lines = append(lines, ranked{nil, rankEmpty})
		lines = append(lines, l.effort(g)...)
	}
	if l.board.Folder != "" {
		lines = append(lines, g.text("folder", tail(clean(l.board.Folder, style), g.room(), style), rankFolder))
	}
	if l.total > 0 || l.fetched > 0 {
		lines = append(lines,
			ranked{append(line{g.label("download")}, downloadLine(l.fetched, l.total, g.room(), style)...), rankNow})
	}
	if l.phase != "" && !l.ended {
		lines = append(lines, ranked{line{g.label("now"), {l.phase, yellow}}, rankNow})
	}
	for i, text := range l.notices {
		rank, rows := rankNow, noticeRows
		if i < len(l.notices)-1 {
			rank, rows = rankMetrics, 1
		}
		name := "notice"
		for _, row := range wrapAll(clean(text, style), g.room(), rows, style) {
			lines = append(lines, ranked{line{g.label(name), {row, yellow}}, rank})
			name = ""
		}
	}
	return above, lines
}

// metrics returns the run's progress and the rows of the board.
func (l *live) metrics(g grid) []ranked {
	step, end := l.last.Metrics.Step, l.board.Last
	progress := course{label: l.board.Unit, text: fmt.Sprint(step)}
	if end > 0 {
		progress.text = fmt.Sprintf("%d of %d", step, end)
		progress.bar, progress.part = true, float64(step)/float64(end)
	}
	courses := []course{progress}
	rows := slices.DeleteFunc(slices.Clone(l.board.Rows), func(r run.DisplayRow) bool {
		return r.Rare && len(l.values.pieces(r)) == 0
	})
	for _, r := range rows {
		c := course{label: r.Label, text: g.pieces(l.values.pieces(r))}
		if h := l.curves[r.Curve]; h != nil {
			c.curve, c.format, c.color = h.values(), curveFormat(r), colorOf(r.Color)
		}
		if c.text == "" && len(c.curve) == 0 {
			c.text = notKnownYet
			if r.Gaps && l.last.Metrics.Step > 0 {
				c.text = noneNow
			}
		}
		courses = append(courses, c)
	}
	drawn := g.courses(courses)
	lines := []ranked{{drawn[0], rankNow}}
	if !l.last.Metrics.Over(end) && !l.ended {
		text := notKnownYet
		if d, ok := l.pace.left(end, l.now()); ok {
			text = g.pieces([]string{timeLeft(d), fmt.Sprintf(", to %s %d", l.board.Unit, end)})
		}
		lines = append(lines, g.text("time left", text, rankPace))
	}
	for i, r := range rows {
		if !textOnly(r) {
			lines = append(lines, ranked{drawn[i+1], rankMetrics})
			continue
		}
		name := r.Label
		text := clean(strings.Join(l.values.pieces(r), ""), g.style)
		for _, row := range wrapAll(text, g.room(), setupRows, g.style) {
			lines = append(lines, ranked{line{g.label(name), {row, dim}}, rankWords})
			name = ""
		}
	}
	return lines
}

func colorOf(name string) string {
	colors := map[string]string{"green": green, "cyan": cyan, "yellow": yellow}
	if c, ok := colors[name]; ok {
		return c
	}
	return dim
}

// effort returns the lines about speed, program, devices and memory.
func (l *live) effort(g grid) []ranked {
	n := l.last
	var speed []string
	if n.StepsPerSecond > 0 {
		speed = append(speed, rate(n.StepsPerSecond)+" steps/s")
	}
	if n.RoundsPerSecond > 0 {
		speed = append(speed, rate(n.RoundsPerSecond)+" "+l.board.Round+"s/s")
	}
	text := notKnownYet
	if len(speed) > 0 {
		text = g.pieces(listed(speed))
	}
	row := g.text("speed", text, rankPace)
	if note := "; steps are " + l.board.Work; l.board.Work != "" && n.StepsPerSecond > 0 && textWidth(text+note) <=
		g.room() {
		row.line = append(row.line, span{note, dim})
	}
	lines := []ranked{row}
	add := func(name string, pieces ...string) {
		pieces = slices.DeleteFunc(pieces, func(s string) bool { return s == "" })
		if len(pieces) > 0 {
			lines = append(lines, g.text(name, g.pieces(listed(pieces)), rankProgram))
		}
	}
	add("time in", shares(n.Phases)...)
	if n.Cache != "" {
		add("program", "cache "+n.Cache, seconds("trace", n.Trace), seconds("compile", n.Compile))
	}
	add("plan", n.Plan)
	add("devices", n.Devices)
	if n.Memory > 0 {
		add("memory", Bytes(n.Memory))
	}
	return lines
}

func seconds(name string, d time.Duration) string {
	return fmt.Sprintf("%s %.2f s", name, d.Seconds())
}

// listed adds commas between pieces.
func listed(pieces []string) []string {
	for i := 1; i < len(pieces); i++ {
		pieces[i] = ", " + pieces[i]
	}
	return pieces
}

// grid is the layout of the columns.
type grid struct {
	width, labels int
	style         Style
}

const (
	// Columns of labels: minimum, maximum, and maximum on a terminal narrower than narrowWidth.
	leastLabels, mostLabels, narrowLabels = 12, 20, 12
	// Columns of a row's text before its curve, on wide and on narrow terminals.
	textColumns, narrowTextColumns = 24, 15
	narrowWidth                    = 64
	// A narrower curve is not drawn.
	leastCurve = 4
	// The axis is left out if the curve would be narrower.
	leastCurveWithAxis = 8
)

// grid returns a layout that fits the longest label.
func (l *live) grid(width int) grid {
	g := grid{width: width, labels: max(leastLabels, 1+textWidth(l.board.Unit)), style: l.screen.style}
	for _, r := range l.board.Rows {
		g.labels = max(g.labels, 1+textWidth(r.Label))
	}
	g.labels = min(g.labels, mostLabels)
	if width < narrowWidth {
		g.labels = min(g.labels, narrowLabels)
	}
	return g
}

func (g grid) room() int { return max(1, g.width-g.labels) }

func (g grid) label(name string) span {
	name = cut(clean(name, g.style), g.labels-1)
	return span{name + strings.Repeat(" ", g.labels-textWidth(name)), dim}
}

func (g grid) text(name, text string, rank int) ranked {
	return ranked{line{g.label(name), {text, plain}}, rank}
}

// pieces joins as many pieces as fit, at least one. It cuts none: a cut number would be another number.
func (g grid) pieces(pieces []string) string {
	text := ""
	for _, p := range pieces {
		p = clean(p, g.style)
		if text != "" && textWidth(text+p) > g.room() {
			break
		}
		text += p
	}
	return text
}

// course is a row with a curve and its axis, or with a bar.
type course struct {
	label, text string
	bar         bool
	part        float64 // the filled fraction of the bar
	curve       []float64
	format      run.Format
	color       string
}

// courses draws rows whose curves begin and end in the same columns.
func (g grid) courses(rows []course) []line {
	column := textColumns
	if g.width < narrowWidth {
		column = narrowTextColumns
	}
	for _, c := range rows {
		if n := 1 + textWidth(c.text); (c.bar || c.curve != nil) && n <= g.room()-leastCurveWithAxis {
			column = max(column, n)
		}
	}
	room := g.room() - column
	reserved := g.axes(rows, room, 0)
	reserved = g.axes(rows, room, reserved)
	lines := make([]line, len(rows))
	for i, c := range rows {
		l := line{g.label(c.label), {c.text, plain}}
		gap := max(1, column-textWidth(c.text))
		columns := g.room() - textWidth(c.text) - gap
		switch {
		case columns < leastCurve:
		case c.bar:
			l = append(l, span{strings.Repeat(" ", gap), plain}, span{Bar(c.part, columns, g.style), dim})
		case len(c.curve) > 0:
			l = append(l, span{strings.Repeat(" ", gap), plain})
			width := min(columns, room-reserved)
			l = append(l, span{Sparkline(c.curve, width, g.style), c.color})
			if a := axis(c.curve, width, c.format); reserved > 0 && a != "" && width+1+textWidth(a) <= columns {
				blanks := 1 + width - min(width, len(c.curve))
				l = append(l, span{strings.Repeat(" ", blanks) + a, dim})
			}
		}
		lines[i] = l
	}
	return lines
}

// axes returns the columns that the axes need if the curves leave `reserved` columns, or 0 if the curves would become
// too narrow.
func (g grid) axes(rows []course, room, reserved int) int {
	longest := reserved - 1
	for _, c := range rows {
		if len(c.curve) > 0 {
			longest = max(longest, textWidth(axis(c.curve, room-reserved, c.format)))
		}
	}
	if longest <= 0 || room-longest-1 < leastCurveWithAxis {
		return 0
	}
	return longest + 1
}
