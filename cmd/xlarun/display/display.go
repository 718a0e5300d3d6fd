// Package display shows the progress of a command: a live screen on a terminal, plain lines elsewhere. It serves every
// kind of run. Each kind lists the rows of its board.
package display

import (
	"fmt"
	"io"
	"time"

	"xlarun/notebook"
	"xlarun/rollout/run"
)

// Board describes a run before it begins.
type Board struct {
	Command string // "evolve CartPole-v1"
	Setup   string // "256 x mlp:16,16, openes, seed 0"
	Unit    string // what run.Metrics.Step counts: "generation", "step"
	Round   string // what RoundReport.RoundsPerSecond counts; "" means Unit
	Last    int64  // the run's last step; it may end earlier; 0 means not known
	Rows    []run.DisplayRow
	Work    string // what the steps of steps/s are: "environment steps of all members"
	Picture string // what RoundReport.Map shows, in a word: "archive"
	Folder  string // the run's folder; "" means none
	Start   time.Time
}

// RoundReport describes a run after a round.
type RoundReport struct {
	Metrics         run.Metrics
	StepsPerSecond  float64 // of Board.Work; 0 means not known
	RoundsPerSecond float64 // 0 means not known
	Devices         string  // "2 cpu devices"
	Plan            string  // the layout of the program; "" means none
	Cache           string  // "hit", "miss", "off"
	Trace, Compile  time.Duration
	Memory          int64       // bytes in use by the process; 0 means not known
	Phases          []run.Phase // durations of the parts of a round; nil means not measured
	// Map returns a picture as rows of numbers, NaN where there is nothing; nil means none. It is called only in
	// Report.
	Map func(width, height int) ([][]float64, error)
}

// Progress describes a round under way.
type Progress struct {
	Round       string // "generation 12"
	Done, Total int64  // parts of the round; Total 0: they are not counted
	Parts       string // what they are: "tiles"
	Taken       time.Duration
	Left        time.Duration // as expected; 0: not known
}

// text says how far the round is.
func (p Progress) text() string {
	text := p.Round + ": "
	if p.Total > 0 {
		text += fmt.Sprintf("%d of %d %s, ", p.Done, p.Total, p.Parts)
	}
	switch {
	case p.Left <= 0:
		return text + Clock(p.Taken) + " so far"
	case p.Done == 0:
		return text + Clock(p.Taken) + " so far, about " + Clock(p.Left) + " left"
	}
	return text + Clock(p.Left) + " left"
}

// Reporter shows a run from its start to its end. Its methods may be called from many goroutines.
type Reporter interface {
	// Phase shows in a few words what the run does before its first news, or between two of them.
	Phase(text string)
	// Progress shows how far a long round is.
	Progress(p Progress)
	// Download shows the progress of a download, in bytes.
	Download(done, total int64)
	// Notice shows a line that stays readable, such as that the disk is full.
	Notice(line string)
	// Report shows the state after a round.
	Report(n RoundReport)
	// Moved shows the new path of the run's folder.
	Moved(folder string)
	// Close shows the last state and the lines of the summary.
	Close(summary ...string)
}

// NewReporter returns a live screen if out is a terminal, the output of a cell in a notebook, else a writer of plain
// lines.
func NewReporter(out io.Writer, env func(string) string, b Board) Reporter {
	if b.Round == "" {
		b.Round = b.Unit
	}
	if fd, ok := Terminal(out, env); ok {
		l := newLive(newScreen(out, fd, StyleOf(env)), b, time.Now)
		continued, resized, unwatch := watch()
		go func() {
			defer unwatch()
			tick := time.NewTicker(redrawEvery)
			defer tick.Stop()
			l.redraw(tick.C, continued, resized)
		}()
		return l
	}
	if notebook.Active() {
		return newCell(out, b, time.Now)
	}
	return newLog(out, b, time.Now)
}
