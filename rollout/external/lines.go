package external

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"

	"xlarun/rollout/run"
)

// longestLine is the length in bytes from which a line holds no values.
const longestLine = 1 << 20

// lines reads a file that a program still writes to.
type lines struct {
	file *os.File
	in   *bufio.Reader
	part []byte // of a line without an end so far
	size int    // of the line so far
	long bool   // the line is too long: it is left out

	unread string // a text about the first line that had no values, though it looked as if it had
}

func newLines(file *os.File) *lines { return &lines{file: file, in: bufio.NewReaderSize(file, 1<<16)} }

// next returns the next line; nil if there is none yet. ended means that nothing follows: the last line may lack its
// end.
func (l *lines) next(ctx context.Context, ended bool) ([]byte, error) {
	for {
		if ctx.Err() != nil { // a program may print for ever
			return nil, context.Cause(ctx)
		}
		data, err := l.in.ReadSlice('\n')
		l.size += len(data)
		if l.long = l.size > longestLine; !l.long {
			l.part = append(l.part, data...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && (!ended || len(l.part) == 0):
			return nil, nil
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		}
		line, size := l.part, l.size
		if l.part, l.size = nil, 0; !l.long {
			return line, nil
		}
		if l.unread == "" && isObject(line) {
			l.unread = fmt.Sprintf("; it gave a line of %d bytes, and no more than %d are read", size, longestLine)
		}
	}
}

// note notes what a line without values has instead. others are its fields.
func (l *lines) note(line []byte, others map[string]json.RawMessage) {
	switch {
	case l.unread != "":
	case others == nil && isObject(line):
		l.unread = fmt.Sprintf("; it gave %.40s, which is no JSON", bytes.TrimSpace(line))
	case len(others) > 0:
		name := slices.Sorted(maps.Keys(others))[0]
		l.unread = noNumber(name, others[name])
	}
}

// noNumber returns a text about a field that has no number.
func noNumber(name string, field json.RawMessage) string {
	return fmt.Sprintf("; it gave %q: %.40s, which is no number of 64 bits", name, field)
}

// isObject reports whether a line seems to be an object of JSON.
func isObject(line []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(line), []byte("{")) }

// stepKey is the key of the step in a line.
const stepKey = "step"

// notFinite are numbers that JSON does not have, as Python and others write them.
var notFinite = regexp.MustCompile(`([:\s])(NaN|-?Infinity)([,}\s])`)

// readLine returns the numbers of a line, sorted by name, its step, -1 for none, and its other fields. A line that is
// no JSON object has none of them. null is NaN, as many writers have it.
func readLine(line []byte) (step int64, values []run.Value, others map[string]json.RawMessage, err error) {
	if !isObject(line) {
		return 0, nil, nil, nil
	}
	if json.Unmarshal(line, &others) != nil &&
		json.Unmarshal(notFinite.ReplaceAll(line, []byte(`$1"$2"$3`)), &others) != nil {
		return 0, nil, nil, nil
	}
	text, given := others[stepKey]
	delete(others, stepKey)
	for _, name := range slices.Sorted(maps.Keys(others)) {
		var x float64
		switch field := string(others[name]); {
		case field == "null" || field == `"NaN"`:
			x = math.NaN()
		case field == `"Infinity"`:
			x = math.Inf(1)
		case field == `"-Infinity"`:
			x = math.Inf(-1)
		case json.Unmarshal(others[name], &x) != nil:
			continue
		}
		values = append(values, run.Value{Name: name, Number: x})
		delete(others, name)
	}
	if !given || len(values) == 0 {
		return -1, values, others, nil
	}
	var x float64
	if err := json.Unmarshal(text, &x); err != nil || x < 0 || x > LastStep || x != math.Trunc(x) {
		return 0, nil, nil, fmt.Errorf("the program gave the step %.40s, want a whole number from 0 to %d", text,
			LastStep)
	}
	return int64(x), values, others, nil
}
