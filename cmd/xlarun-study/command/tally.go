package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"xlarun/studies/study"
)

// tally counts the trials of the workers of a machine, and writes what they say.
type tally struct {
	mu             sync.Mutex
	out            io.Writer
	start          time.Time
	trials, failed int
}

// workedTrial is a trial that a worker has run. A worker process writes it as a line of JSON to the process that keeps
// it running.
type workedTrial struct {
	Line   string `json:"line"` // for the user
	Failed bool   `json:"failed"`
}

// worked describes a trial that a worker has run.
func worked(number int64, r study.Result, took time.Duration) workedTrial {
	t := &study.FrozenTrial{Number: number, State: r.State, Values: r.Values}
	text := fmt.Sprintf("trial %d  %s  in %v", number, outcomeOf(t), took.Round(time.Millisecond))
	if r.Reason != "" {
		text += ": " + strings.Join(strings.Fields(r.Reason), " ")
	}
	return workedTrial{text, r.State == study.Fail}
}

// add counts a trial and writes its line.
func (t *tally) add(w workedTrial) {
	t.mu.Lock()
	t.trials++
	if w.Failed {
		t.failed++
	}
	t.mu.Unlock()
	t.say("%s\n", w.Line)
}

// say writes a line. Trials run on where nobody reads it.
func (t *tally) say(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.out, format, args...)
}

// lines returns a writer for what one worker process writes.
func (t *tally) lines() io.Writer { return &talliedLines{of: t} }

// sum says what the workers have done.
func (t *tally) sum() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return fmt.Sprintf("%s, %d failed, in %v", trialCount(t.trials), t.failed,
		time.Since(t.start).Round(time.Millisecond))
}

type talliedLines struct {
	of   *tally
	part []byte // of a line
}

// Write implements io.Writer.
func (l *talliedLines) Write(b []byte) (int, error) {
	l.part = append(l.part, b...)
	for {
		line, rest, whole := bytes.Cut(l.part, []byte("\n"))
		if !whole {
			return len(b), nil
		}
		var w workedTrial
		if json.Unmarshal(line, &w) == nil && w.Line != "" {
			l.of.add(w)
		} else {
			l.of.say("%s\n", line)
		}
		l.part = rest
	}
}
