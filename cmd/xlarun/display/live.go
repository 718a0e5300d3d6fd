package display

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"xlarun/rollout/run"
)

// live is a run on a live screen: a head, what the run is busy with until there is news, then the news. It redraws at a
// fixed pace, whatever the pace of the news.
type live struct {
	board  Board
	screen *screen
	now    func() time.Time
	stop   chan struct{}
	done   chan struct{}
	once   sync.Once

	mu             sync.Mutex // never held while the terminal is written to: it may block
	phase          string
	fetched, total int64 // of a download, in bytes
	notices        []string
	above          []string // notices for which there is no room any more
	last           News
	known          values
	curves         map[string]*history // by metric
	pace           pace
	ended          bool
}

func newLive(s *screen, b Board, now func() time.Time) *live {
	l := &live{board: b, screen: s, now: now, stop: make(chan struct{}), done: make(chan struct{}), phase: "starting",
		known: values{}, curves: map[string]*history{}}
	for _, r := range b.Rows {
		if r.Curve != "" {
			l.curves[r.Curve] = &history{}
		}
	}
	return l
}

// redraw draws at each tick until Close, and when the process goes on after a stop or the terminal's size changed: then
// from a clean screen.
func (l *live) redraw(tick <-chan time.Time, continued, resized <-chan os.Signal) {
	defer close(l.done)
	for drawn := l.now(); ; drawn = l.now() {
		select {
		case <-l.stop:
			return
		case <-continued:
			l.again()
		case <-resized:
		case <-tick:
			if l.now().Sub(drawn) > 3*redrawEvery { // it may have been stopped, and the signal be on its way
				select {
				case <-continued:
					l.again()
				case <-time.After(redrawEvery):
				}
			}
		}
		l.screen.draw(l.frame)
	}
}

// again begins anew after a stop: the shell wrote to the terminal, and the time does not count.
func (l *live) again() {
	l.screen.anew, l.screen.top = true, false
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pace.again(l.now())
}

// Phase says what the run is busy with.
func (l *live) Phase(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.phase, l.total, l.fetched = text, 0, 0
}

// Download shows how much of a download is there.
func (l *live) Download(done, total int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fetched, l.total = done, total
}

// shownNotices is how many notices the screen holds. Older ones stand above it.
const shownNotices = 3

// Notice shows a line that stays: on the screen until it is driven out by later ones, and then above it.
func (l *live) Notice(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		fmt.Fprintln(l.screen.w, clean(text, Style{Unicode: true}))
		return
	}
	if l.notices = append(l.notices, text); len(l.notices) > shownNotices {
		l.above = append(l.above, l.notices[0])
		l.notices = l.notices[1:]
	}
}

// Moved shows where the run's folder is now.
func (l *live) Moved(folder string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.board.Folder = folder
}

// News takes in what is known after a round.
func (l *live) News(n News) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known.add(n.Metrics, l.last.Metrics, l.board.Rows)
	for name, h := range l.curves {
		if x, ok := n.Metrics.Get(name); ok {
			h.add(x)
		}
	}
	l.pace.add(n.Metrics.Step, l.now())
	if n.Phases == nil {
		n.Phases = l.last.Phases
	}
	l.last, l.phase = n, ""
	l.fetched, l.total = 0, 0
}

// Close draws for the last time and writes notices and summary below.
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

// The ranks of lines, from those that stay to those that go first where the terminal is low.
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
)

const (
	setupRows   = 3
	noticeRows  = 5 // of the last; earlier ones have one
	notKnownYet = "not known yet"
	noneNow     = "none now"
)

// frame is the screen.
func (l *live) frame(width int) (above []string, lines []ranked) {
	l.mu.Lock()
	defer l.mu.Unlock()
	style := l.screen.style
	for _, text := range l.above {
		above = append(above, wrap(clean(text, Style{Unicode: true}), width)...)
	}
	l.above = nil
	clock := line{{Clock(l.now().Sub(l.board.Start)), plain}}
	lines = append(lines, ranked{apart(line{{"xlarun " + clean(l.board.Command, style), bold}}, clock, width, style),
		rankHead})
	for _, text := range wrapAll(clean(cut(l.board.Setup, setupRows*width+1), style), width, setupRows, style) {
		lines = append(lines, ranked{line{{text, dim}}, rankSetup})
	}
	g := l.grid(width)
	lines = append(lines, ranked{nil, rankEmpty})
	if l.last.Metrics.Step > 0 {
		lines = append(lines, l.metrics(g)...)
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

// metrics are the rows of the board, below how far the run is.
func (l *live) metrics(g grid) []ranked {
	step, end := l.last.Metrics.Step, l.board.Last
	progress := course{label: l.board.Unit, text: fmt.Sprint(step)}
	if end > 0 {
		progress.text = fmt.Sprintf("%d of %d", step, end)
		progress.bar, progress.part = true, float64(step)/float64(end)
	}
	courses := []course{progress}
	rows := slices.DeleteFunc(slices.Clone(l.board.Rows), func(r run.Row) bool {
		return r.Rare && len(l.known.pieces(r)) == 0
	})
	for _, r := range rows {
		c := course{label: r.Label, text: g.pieces(l.known.pieces(r))}
		if h := l.curves[r.Curve]; h != nil {
			c.curve, c.format, c.colour = h.values(), curveFormat(r), colourOf(r.Colour)
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
	if end > step && !l.last.Metrics.Done && !l.last.Metrics.Stalled && !l.ended {
		text := notKnownYet
		if d, ok := l.pace.left(end, l.now()); ok {
			text = g.pieces([]string{timeLeft(d), fmt.Sprintf(", to %s %d", l.board.Unit, end)})
		}
		lines = append(lines, g.text("time left", text, rankPace))
	}
	for i, r := range rows {
		if !words(r) {
			lines = append(lines, ranked{drawn[i+1], rankMetrics})
			continue
		}
		name := r.Label
		for _, row := range wrapAll(clean(strings.Join(l.known.pieces(r), ""), g.style), g.room(), setupRows, g.style) {
			lines = append(lines, ranked{line{g.label(name), {row, dim}}, rankWords})
			name = ""
		}
	}
	return lines
}

func colourOf(name string) string {
	colours := map[string]string{"green": green, "cyan": cyan, "yellow": yellow}
	if c, ok := colours[name]; ok {
		return c
	}
	return dim
}

// effort is what the run costs and what it runs on.
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

// listed puts commas between pieces.
func listed(pieces []string) []string {
	for i := 1; i < len(pieces); i++ {
		pieces[i] = ", " + pieces[i]
	}
	return pieces
}

// grid is where labels end, and where the curves begin.
type grid struct {
	width, labels int
	style         Style
}

const (
	// Columns of labels: at least, at most, and at most on a terminal narrower than narrowWidth.
	leastLabels, mostLabels, narrowLabels = 12, 20, 12
	// Columns of a row's text before its curve: on wide terminals, and on narrow ones.
	textColumns, narrowTextColumns = 24, 15
	narrowWidth                    = 64
	// What is narrower than this is not drawn.
	leastCurve = 4
	// What is left of a curve beside the numbers on its axis, at least.
	leastCurveWithAxis = 8
)

// grid makes room for the longest label.
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

// pieces joins as many of them as there is room for, at least one: a number that is cut would be another number.
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

// course is a row with a curve, with numbers on its axis, or a bar.
type course struct {
	label, text string
	bar         bool
	part        float64 // of the bar
	curve       []float64
	format      run.Format
	colour      string
}

// courses draws rows below each other: all curves begin and end in the same columns.
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
		own := g.room() - textWidth(c.text) - gap
		switch {
		case own < leastCurve:
		case c.bar:
			l = append(l, span{strings.Repeat(" ", gap), plain}, span{Bar(c.part, own, g.style), dim})
		case len(c.curve) > 0:
			l = append(l, span{strings.Repeat(" ", gap), plain})
			width := min(own, room-reserved)
			l = append(l, span{Sparkline(c.curve, width, g.style), c.colour})
			if a := axis(c.curve, width, c.format); reserved > 0 && a != "" && width+1+textWidth(a) <= own {
				blanks := 1 + width - min(width, len(c.curve))
				l = append(l, span{strings.Repeat(" ", blanks) + a, dim})
			}
		}
		lines[i] = l
	}
	return lines
}

// axes is the room that the numbers on the curves' axes need behind curves that leave `reserved` columns; 0 where too
// little would be left of the curves.
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
