package display

import (
	"fmt"
	"log/slog"
	"math"
	"sync"

	"xlarun/rollout/run"
)

// records is a Reporter for log collectors: a record for each round, with its metrics as attributes.
type records struct {
	log    *slog.Logger
	board  Board
	mu     sync.Mutex
	rounds bool // there was one
}

// NewRecords returns a Reporter that writes to a log.
func NewRecords(l *slog.Logger, b Board) Reporter {
	l.Info(fmt.Sprintf("xlarun %s: %s", b.Command, b.Setup), folderOf(b.Folder)...)
	return &records{log: l, board: b}
}

func folderOf(path string) []any {
	if path == "" {
		return nil
	}
	return []any{"folder", path}
}

// Phase implements Reporter.
func (r *records) Phase(text string) { r.log.Info(text) }

// Progress implements Reporter.
func (r *records) Progress(p Progress) {
	r.log.Debug(p.text(), "done", p.Done, "total", p.Total)
}

// Download implements Reporter.
func (r *records) Download(done, total int64) { r.log.Debug("download", "bytes", done, "of", total) }

// Notice implements Reporter.
func (r *records) Notice(line string) { r.log.Warn(line) }

// Moved implements Reporter.
func (r *records) Moved(folder string) { r.log.Info("run folder", folderOf(folder)...) }

// Report implements Reporter.
func (r *records) Report(n RoundReport) {
	r.mu.Lock()
	first := !r.rounds
	r.rounds = true
	r.mu.Unlock()
	if first {
		r.log.Info("program", "cache", n.Cache, "trace_seconds", n.Trace.Seconds(), "compile_seconds",
			n.Compile.Seconds(), "devices", n.Devices, "plan", n.Plan)
	}
	row := []any{slog.Int64(r.board.Unit, n.Metrics.Step)}
	for _, values := range [][]run.Value{n.Metrics.Values, n.Metrics.Timings} {
		for _, v := range values {
			row = append(row, slog.Any(v.Name, run.Finite(v.Number)))
		}
	}
	if x := n.StepsPerSecond; x > 0 && !math.IsInf(x, 0) {
		row = append(row, slog.Float64("steps_per_second", x))
	}
	r.log.Info(r.board.Unit, row...)
}

// Close implements Reporter.
func (r *records) Close(summary ...string) {
	for _, line := range summary {
		r.log.Info(line)
	}
}
