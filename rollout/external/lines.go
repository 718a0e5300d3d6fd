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

	unread string // a text about what an object has in place of a number: of a metric, else of the first without values
	metric bool   // it is of a metric
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

// note notes why a line has no value of the metrics that are missing. none means that it has no values at all.
func (l *lines) note(line []byte, missing []string, none bool) {
	if l.metric || !isObject(line) {
		return
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(line, &fields) != nil {
		if none && l.unread == "" {
			l.unread = fmt.Sprintf("; it gave %.40s, which is no JSON", bytes.TrimSpace(line))
		}
		return
	}
	delete(fields, stepKey)
	names := slices.Sorted(maps.Keys(fields))
	i := slices.IndexFunc(names, func(name string) bool { return slices.Contains(missing, name) })
	if l.metric = i >= 0; l.metric || none && l.unread == "" && len(names) > 0 {
		name := names[max(0, i)]
		l.unread = fmt.Sprintf("; it gave %q: %.40s, which is no number of 64 bits", name, fields[name])
	}
}

// isObject reports whether a line seems to be an object of JSON.
func isObject(line []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(line), []byte("{")) }

// stepKey is the key of the step in a line.
const stepKey = "step"

// notFinite are numbers that JSON does not have, as Python and others write them.
var notFinite = regexp.MustCompile(`([:\s])(NaN|-?Infinity)([,}\s])`)

// readLine returns the numbers of a line, sorted by name, and its step, -1 for none. A line that is no JSON object, or
// has no numbers, has no values. null is NaN, as many writers have it.
func readLine(line []byte) (step int64, values []run.Value, err error) {
	if !isObject(line) {
		return 0, nil, nil
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(line, &fields) != nil &&
		json.Unmarshal(notFinite.ReplaceAll(line, []byte(`$1"$2"$3`)), &fields) != nil {
		return 0, nil, nil
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		var x float64
		switch text := string(fields[name]); {
		case text == "null" || text == `"NaN"`:
			x = math.NaN()
		case text == `"Infinity"`:
			x = math.Inf(1)
		case text == `"-Infinity"`:
			x = math.Inf(-1)
		case json.Unmarshal(fields[name], &x) != nil:
			continue
		}
		if name != stepKey {
			values = append(values, run.Value{Name: name, Number: x})
		}
	}
	if _, given := fields[stepKey]; !given || len(values) == 0 {
		return -1, values, nil
	}
	var x float64
	if err := json.Unmarshal(fields[stepKey], &x); err != nil || x < 0 || x > LastStep || x != math.Trunc(x) {
		return 0, nil, fmt.Errorf("the program gave the step %.40s, want a whole number from 0 to %d", fields[stepKey],
			LastStep)
	}
	return int64(x), values, nil
}
