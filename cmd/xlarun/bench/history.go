package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"xlarun/cmd/xlarun/console"
)

// defaultHistory is committed with the sources, and found where the command runs in their folder.
const defaultHistory = "bench/history.jsonl"

// historyLine is one figure in the history.
type historyLine struct {
	Commit string    `json:"commit"` // "+" behind it: with changes that were not committed
	Date   time.Time `json:"date"`
	figure
}

// readHistory reads a history. What is no history is bad input.
func readHistory(path string) ([]historyLine, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, console.BadInput("--history %s cannot be read (%w): record one first with xlarun bench --record", path, console.Cause(err))
	}
	var lines []historyLine
	for i, line := range bytes.Split(text, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var h historyLine
		err := json.Unmarshal(line, &h)
		if err == nil {
			err = h.complete()
		}
		if err != nil {
			return nil, console.BadInput("--history %s: line %d is no figure (%w): remove the line", path, i+1, err)
		}
		lines = append(lines, h)
	}
	return lines, nil
}

// complete tells what a comparison would miss.
func (h historyLine) complete() error {
	for _, f := range []struct{ name, value string }{{"workload", h.Workload}, {"cpu", h.CPU}, {"backend", h.Backend}, {"calibration", h.Calibration}} {
		if f.value == "" {
			return fmt.Errorf("it has no %s", f.name)
		}
	}
	if h.Devices < 1 {
		return fmt.Errorf("devices is %d, wants 1 or more", h.Devices)
	}
	if !(h.Calibrated > 0) || math.IsInf(h.Calibrated, 0) {
		return fmt.Errorf("calibrated is %v, wants a number above 0", h.Calibrated)
	}
	if !(h.Compile >= 0) || math.IsInf(h.Compile, 0) || h.PeakBytes < 0 {
		return fmt.Errorf("compile is %v and peak_bytes %d, wants numbers from 0 on", h.Compile, h.PeakBytes)
	}
	return nil
}

// checkHistoryFolder finds out whether the history can be written before minutes are spent on it.
func checkHistoryFolder(path string) error {
	if isFolder(path) {
		return console.BadInput("--history %s is a folder, wants a file", path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return console.BadInput("--history %s cannot be written (%w): name another file", path, console.Cause(err))
	}
	return nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// record appends the figures to the history.
func (b *bench) record(ctx context.Context, figures []figure) error {
	var text []byte
	at, date := commit(ctx), b.now().UTC().Truncate(time.Second)
	for _, f := range figures {
		line, err := json.Marshal(historyLine{at, date, f})
		if err != nil {
			return err
		}
		text = append(append(text, line...), '\n')
	}
	f, err := os.OpenFile(b.flags.history, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("the history cannot be written: %w", err)
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("the history cannot be written: %w", err)
	}
	fmt.Fprintf(b.Out, "%s recorded in %s\n", console.Count(len(figures), "figure", "figures"), b.flags.history)
	return nil
}

// commit is that of the checkout that the command runs in, else that of the program.
func commit(ctx context.Context) string {
	head, err := outputOf(exec.CommandContext(ctx, "git", "rev-parse", "--short=12", "HEAD"))
	if err != nil {
		return console.Version()
	}
	name := strings.TrimSpace(head)
	if changes, err := outputOf(exec.CommandContext(ctx, "git", "status", "--porcelain", "--untracked-files=no")); err == nil && strings.TrimSpace(changes) != "" {
		name += "+"
	}
	return name
}
