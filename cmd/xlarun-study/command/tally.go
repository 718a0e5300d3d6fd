package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"xlarun/studies"
	"xlarun/studies/study"
)

// tally counts the trials of the workers of a machine, and writes what they say.
type tally struct {
	mu             sync.Mutex
	log            *slog.Logger
	start          time.Time
	trials, failed int
}

// workedTrial is a trial that a worker has run. A worker process writes it as a line of JSON to the process that keeps
// it running.
type workedTrial struct {
	Line    string          `json:"line"` // for the user
	State   study.State     `json:"state"`
	Trial   int64           `json:"trial"`
	Seconds float64         `json:"seconds"`
	Values  []studies.Value `json:"values,omitempty"`
}

// worked describes a trial that a worker has run.
func worked(number int64, r study.Result, took time.Duration) workedTrial {
	t := &study.FrozenTrial{Number: number, State: r.State, Values: r.Values}
	text := fmt.Sprintf("trial %d  %s  in %v", number, outcomeOf(t), took.Round(time.Millisecond))
	if r.Reason != "" {
		text += ": " + strings.Join(strings.Fields(r.Reason), " ")
	}
	return workedTrial{text, r.State, number, took.Seconds(), studies.Values(r.Values)}
}

// add counts a trial and writes its line.
func (t *tally) add(w workedTrial) {
	t.mu.Lock()
	t.trials++
	if w.State == study.Fail {
		t.failed++
	}
	t.mu.Unlock()
	t.log.Log(context.Background(), levelOf(w.State), w.Line, "trial", w.Trial, "state", w.State, "values", w.Values,
		"seconds", w.Seconds)
}

// say writes a line. Trials run on where nobody reads it.
func (t *tally) say(format string, args ...any) { t.log.Info(fmt.Sprintf(format, args...)) }

// lines returns a writer for what one worker process writes to stdout, or to stderr.
func (t *tally) lines(level slog.Level) io.Writer { return &talliedLines{of: t, level: level} }

// sum says what the workers have done.
func (t *tally) sum() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return fmt.Sprintf("%s, %d failed, in %v", trialCount(t.trials), t.failed,
		time.Since(t.start).Round(time.Millisecond))
}

type talliedLines struct {
	of    *tally
	level slog.Level
	part  []byte // of a line
}

// Write implements io.Writer.
func (l *talliedLines) Write(b []byte) (int, error) {
	l.part = eachLine(append(l.part, b...), l.line)
	return len(b), nil
}

func (l *talliedLines) line(text string) {
	var w struct {
		workedTrial
		Level slog.Level `json:"level"` // of a record of the worker's log
		Msg   string     `json:"msg"`
	}
	switch err := json.Unmarshal([]byte(text), &w); {
	case err == nil && w.Line != "":
		l.of.add(w.workedTrial)
	case err == nil && w.Msg != "":
		l.of.log.Log(context.Background(), w.Level, w.Msg)
	default:
		l.of.log.Log(context.Background(), l.level, text)
	}
}

// eachLine calls take for each whole line of a text, and returns the rest.
func eachLine(text []byte, take func(line string)) (rest []byte) {
	for {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		if !whole {
			return text
		}
		take(string(line))
		text = rest
	}
}

// lastSentence passes on what a worker process writes to stderr, except the sentence with which it ends: whoever keeps
// the process running says that once for all workers.
type lastSentence struct {
	to     io.Writer
	prefix string // of the sentence
	said   string // the sentence; "": there was none
	part   []byte // of a line
}

// Write implements io.Writer.
func (l *lastSentence) Write(b []byte) (int, error) {
	l.part = eachLine(append(l.part, b...), l.line)
	return len(b), nil
}

func (l *lastSentence) line(text string) {
	if sentence, is := strings.CutPrefix(text, l.prefix); is {
		text, l.said = l.said, sentence
		if text == "" {
			return
		}
		text = l.prefix + text // another one follows, so this was not the last
	}
	_, _ = fmt.Fprintln(l.to, text) // trials run on where nobody reads it
}

// flush passes on what a killed process has left of a line.
func (l *lastSentence) flush() {
	if len(l.part) > 0 {
		l.line(string(l.part))
		l.part = nil
	}
}
