package command

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"xlarun/studies/study"
)

// tally counts the trials of the workers of a machine by the lines that they print.
type tally struct {
	mu             sync.Mutex
	out            io.Writer
	start          time.Time
	trials, failed int
}

// workedLine is the line of a trial that a worker has run.
func workedLine(number int64, r study.Result, took time.Duration) string {
	t := &study.FrozenTrial{Number: number, State: r.State, Values: r.Values}
	text := fmt.Sprintf("trial %d  %s  in %v", number, outcomeOf(t), took.Round(time.Millisecond))
	if r.Reason != "" {
		text += ": " + strings.Join(strings.Fields(r.Reason), " ")
	}
	return text
}

// lines returns a writer for the lines of one worker.
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
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	l.part = append(l.part, b...)
	for {
		line, rest, whole := bytes.Cut(l.part, []byte("\n"))
		if !whole {
			return len(b), nil
		}
		words := strings.Fields(string(line))
		if len(words) > 2 && words[0] == "trial" {
			l.of.trials++
			if strings.HasPrefix(words[2], "fail") {
				l.of.failed++
			}
		}
		if _, err := l.of.out.Write(l.part[:len(line)+1]); err != nil {
			return 0, err
		}
		l.part = rest
	}
}
