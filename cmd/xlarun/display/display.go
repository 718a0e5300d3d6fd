// Package display shows what a command does: a live screen on a terminal, plain lines anywhere else. One display serves
// every kind of run: a kind names the rows of its board.
package display

import (
	"io"
	"time"

	"xlarun/rollout/run"
)

// Board is what a display knows of a run before it begins.
type Board struct {
	Command string // "evolve CartPole-v1"
	Setup   string // "256 x mlp:16,16, openes, seed 0"
	Unit    string // what run.Metrics.Step counts: "generation", "step"
	Round   string // what News.RoundsPerSecond counts; "" for Unit
	Last    int64  // the step after which the run ends at the latest; 0 where that is not known
	Rows    []run.Row
	Work    string // what the steps of steps/s are: "environment steps of all members"
	Folder  string // the run's folder, "" for none
	Start   time.Time
}

// News is what is known after a round.
type News struct {
	Metrics         run.Metrics
	StepsPerSecond  float64 // of Board.Work; 0 for not known
	RoundsPerSecond float64 // 0 for not known
	Devices         string  // "2 cpu devices"
	Plan            string  // how the program is laid out; "" for nothing to tell
	Cache           string  // "hit", "miss", "off"
	Trace, Compile  time.Duration
	Memory          int64       // bytes in use by the process; 0 for not known
	Phases          []run.Phase // how long the parts of a round take; nil for not measured
}

// Reporter shows a run from its start to its end. Its methods may be called from many goroutines.
type Reporter interface {
	// Phase says in a few words what the run is busy with before its first news, or between them.
	Phase(text string)
	// Download shows how much of a download is there, in bytes.
	Download(done, total int64)
	// Notice says once what must stay readable: that the disk is full, that the run's folder was removed.
	Notice(line string)
	// News shows what is known after a round.
	News(n News)
	// Moved tells that the run's folder is now elsewhere.
	Moved(folder string)
	// Close shows the last state and the lines that sum it up.
	Close(summary ...string)
}

// NewReporter gives a live screen where out is a terminal, plain lines otherwise.
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
	return newLog(out, b, time.Now)
}
