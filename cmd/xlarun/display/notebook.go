package display

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"xlarun/notebook"
	"xlarun/rollout/run"
)

// cell shows a run as the output of a notebook's cell: a head, learning curves that move, the time left, and at the end
// the summary and the picture of the best member. Notices are plain lines.
type cell struct {
	out    io.Writer
	board  Board
	now    func() time.Time
	head   *notebook.Live
	curves map[string]*notebook.Curves // by metric
	order  []run.DisplayRow            // the rows that have curves

	mu     sync.Mutex
	phase  string // what the run does between rounds; "": nothing to say
	last   RoundReport
	values values
	pace   pace
	ended  bool
}

func newCell(out io.Writer, b Board, now func() time.Time) *cell {
	c := &cell{out: out, board: b, now: now, phase: "starting", values: values{unit: b.Unit},
		curves: map[string]*notebook.Curves{}}
	for _, r := range b.Rows {
		if r.Curve != "" {
			c.order = append(c.order, r)
			c.curves[r.Curve] = notebook.NewCurves(b.Unit, r.Label)
		}
	}
	c.head = notebook.NewLive(c.draw)
	return c
}

// draw writes the command and how far the run is.
func (c *cell) draw() (fragment, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines := []string{"xlarun " + c.board.Command + ": " + c.board.Setup}
	switch step := c.last.Metrics.Step; {
	case step == 0:
		lines = append(lines, c.phase)
	default:
		line := fmt.Sprintf("%s %d", c.board.Unit, step)
		if c.board.Last > 0 {
			line += fmt.Sprintf(" of %d", c.board.Last)
		}
		for _, r := range c.board.Rows {
			if pieces := c.values.pieces(r); r.Plain && len(pieces) > 0 {
				line += ", " + r.Label + " " + strings.Join(pieces, "")
			}
		}
		if c.last.StepsPerSecond > 0 {
			line += ", " + rate(c.last.StepsPerSecond) + " steps/s"
		}
		line += ", " + Clock(c.now().Sub(c.board.Start))
		if left, ok := c.pace.left(c.board.Last, c.now()); ok && c.board.Last > 0 && !c.ended {
			line += ", " + timeLeft(left) + " left"
		}
		lines = append(lines, line)
		if c.phase != "" && !c.ended {
			lines = append(lines, c.phase)
		}
	}
	for i := range lines {
		lines[i] = clean(lines[i], Style{Unicode: true})
	}
	return notebook.Lines(lines...), strings.Join(lines, "\n")
}

// say shows what the run does; "" goes back to the metrics of the last round.
func (c *cell) say(text string) {
	c.mu.Lock()
	c.phase = text
	c.mu.Unlock()
	c.head.Update()
}

// Phase shows what the run does.
func (c *cell) Phase(text string) { c.say(text) }

// Progress shows how far a long round is.
func (c *cell) Progress(p Progress) { c.say(p.text()) }

// Download shows how much has arrived.
func (c *cell) Download(done, total int64) {
	c.say(fmt.Sprintf("downloaded %s of %s", Bytes(done), Bytes(total)))
}

// Notice writes a line.
func (c *cell) Notice(line string) { fmt.Fprintln(c.out, clean(line, Style{Unicode: true})) }

// Moved shows the new path of the run's folder.
func (c *cell) Moved(folder string) {
	c.mu.Lock()
	c.board.Folder = folder
	c.mu.Unlock()
	c.Notice("run folder: " + folder)
}

// Report moves the curves.
func (c *cell) Report(n RoundReport) {
	c.mu.Lock()
	before := c.last
	c.last, c.phase = n, ""
	c.values.add(n.Metrics, before.Metrics, c.board.Rows)
	c.pace.add(n.Metrics.Step, c.now())
	c.mu.Unlock()
	c.head.Update()
	for _, r := range c.order {
		if x, ok := n.Metrics.Get(r.Curve); ok && !math.IsNaN(x) { // a metric that some rounds lack has no gaps
			c.curves[r.Curve].Add(float64(n.Metrics.Step), x)
		}
	}
}

// Close shows the last state, the summary, and the picture of the best member.
func (c *cell) Close(summary ...string) {
	c.mu.Lock()
	c.ended = true
	folder := c.board.Folder
	c.mu.Unlock()
	c.head.Close()
	for _, r := range c.order {
		c.curves[r.Curve].Close()
	}
	for _, line := range summary {
		c.Notice(line)
	}
	if folder != "" && len(summary) > 0 {
		_ = notebook.PictureFile("the best member", filepath.Join(folder, "best.gif")) // there may be none
	}
}
