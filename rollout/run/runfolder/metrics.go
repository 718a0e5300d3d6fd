package runfolder

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"strconv"
	"time"
)

const (
	metricsName = "metrics.jsonl"
	timingsName = "timings.jsonl"
)

// Value is one named number of a row. NaN and infinities are null in JSON lines.
type Value struct {
	Name   string
	Number float64
}

// Row has the numbers of a step.
type Row struct {
	Step int64 // from 1, larger than in the row before
	// Round counts rows, from 1, in runs without a row after every step; 0: it is Step. Kept depends on it.
	Round int64
	// Work is what steps per second count, from the start of the run on.
	Work float64
	Time time.Time
	// Metrics depend on the config alone; Timings differ from run to run.
	Metrics, Timings []Value
}

func (r Row) isKept() bool {
	if r.Round != 0 {
		return Kept(r.Round)
	}
	return Kept(r.Step)
}

// The logs get all rows up to keptRows and then, from each power of two to the next, keptPerOctave rows at equal
// distances, and the last row of a run (Logger.End). There are 30,000 rows up to the largest possible step: 28 MB in
// the three logs with ten metrics a row.
const (
	keptRows      = 4096
	keptPerOctave = 512
)

// Kept reports whether the row of a step goes into the logs. It depends on the step alone, so that the rows of two runs
// can be compared.
func Kept(step int64) bool {
	if step <= keptRows {
		return true
	}
	every := int64(1) << (bits.Len64(uint64(step/keptPerOctave)) - 1) // a power of two
	return step%every == 0
}

// line returns a JSON object with members in the order of values, and a newline.
func line(step string, number int64, values []Value) []byte {
	b := make([]byte, 0, 64+40*len(values))
	b = append(appendQuoted(append(b, '{'), step), ':')
	b = strconv.AppendInt(b, number, 10)
	for _, v := range values {
		b = append(appendQuoted(append(b, ','), v.Name), ':')
		if math.IsNaN(v.Number) || math.IsInf(v.Number, 0) {
			b = append(b, "null"...)
			continue
		}
		if n := math.Trunc(v.Number); n == v.Number && math.Abs(n) < 1<<53 {
			b = strconv.AppendInt(b, int64(n), 10)
			continue
		}
		b = strconv.AppendFloat(b, v.Number, 'g', -1, 64)
	}
	return append(b, '}', '\n')
}

// ReadRow reads a line of metrics.jsonl: its numbers in their order, the step first. null is NaN.
func ReadRow(line []byte) (all []Value, err error) {
	in := json.NewDecoder(bytes.NewReader(line))
	if open, err := in.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.New("it is no JSON object")
	}
	for in.More() {
		key, err := in.Token()
		if err != nil {
			return nil, err
		}
		v := Value{Number: math.NaN()}
		v.Name, _ = key.(string)
		var x *float64
		if err := in.Decode(&x); err != nil {
			return nil, fmt.Errorf("%q is no number", v.Name)
		}
		if x != nil {
			v.Number = *x
		}
		all = append(all, v)
	}
	_, end := in.Token()   // }
	_, after := in.Token() // nothing
	if end != nil || after != io.EOF || len(all) == 0 {
		return nil, errors.New("it is no whole JSON object")
	}
	return all, nil
}

// appendQuoted appends a string as JSON. It is fast for names of letters, digits and underscores.
func appendQuoted(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '_' {
			text, err := json.Marshal(s)
			if err != nil {
				panic(err) // a string always has a JSON form
			}
			return append(b, text...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}
