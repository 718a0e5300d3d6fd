package runfolder

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
)

// readRows reads the first rows of a log, up to step after. There must be as many as wanted, with rising steps, unless
// Options.DropRows. Later rows, or half of one, are left out. end is a row more, of step after, that Logger.End added.
func (f *Folder) readRows(name, unit string, after int64, wanted int) (text, end []byte, steps []int64, err error) {
	all, err := f.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil, fmt.Errorf("%s cannot be read: %w", name, reason(err))
	}
	rest, last := all, int64(0)
	for {
		row, behind, whole := bytes.Cut(rest, []byte{'\n'})
		step, ok := rowStep(row, unit)
		if !whole || !ok || step <= last || step > after {
			break
		}
		steps, last, rest = append(steps, step), step, behind
	}
	text = all[:len(all)-len(rest)]
	if n := len(steps) - 1; n >= 0 && n == wanted && last == after {
		begin := bytes.LastIndexByte(text[:len(text)-1], '\n') + 1
		text, end, steps = text[:begin], bytes.Clone(text[begin:]), steps[:n]
	}
	if len(steps) != wanted && !(f.options.DropRows && len(steps) < wanted) {
		return nil, nil, nil, fmt.Errorf("%s has %d whole rows up to step %d, the checkpoint was made with %d: the "+
			"file was cut or changed since; go on with a copy that was not, or with --drop-rows without those rows",
			name, len(steps), after, wanted)
	}
	return bytes.Clone(text), end, steps, nil
}

// rowStep returns the step of a line of a log.
func rowStep(row []byte, unit string) (step int64, ok bool) {
	begin := append(appendQuoted([]byte{'{'}, unit), ':')
	digits, ok := bytes.CutPrefix(row, begin)
	if !ok || !json.Valid(row) {
		return 0, false
	}
	if end := bytes.IndexAny(digits, ",}"); end >= 0 {
		digits = digits[:end]
	}
	step, err := strconv.ParseInt(string(digits), 10, 64)
	return step, err == nil
}
