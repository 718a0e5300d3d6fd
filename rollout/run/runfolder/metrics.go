package runfolder

import (
	"encoding/json"
	"math"
	"math/bits"
	"strconv"
	"time"
)

const (
	metricsName = "metrics.jsonl"
	timingsName = "timings.jsonl"
)

// Value is one named number of a row. Not-a-number and the infinities are null in JSON lines.
type Value struct {
	Name   string
	Number float64
}

// Row is what is known after a step.
type Row struct {
	Step int64 // from 1, larger than that of the row before
	// Round counts the rows of a run that has no row after every step, from 1; 0: it is Step. Rows are thinned by it.
	Round int64
	Time  time.Time
	// Metrics follow from the config alone; Timings differ from run to run.
	Metrics, Timings []Value
}

func (r Row) kept() bool {
	if r.Round != 0 {
		return Kept(r.Round)
	}
	return Kept(r.Step)
}

// Rows are thinned as a run gets longer: all up to keptRows, then, from each power of two to the next, keptPerOctave at
// equal distances. That makes 30,000 rows up to the largest step there is, and 28 MB in the three logs with ten metrics
// a row.
const (
	keptRows      = 4096
	keptPerOctave = 512
)

// Kept tells whether the row of a step goes into the logs. It depends on the step alone, so that two runs still
// compare.
func Kept(step int64) bool {
	if step <= keptRows {
		return true
	}
	every := int64(1) << (bits.Len64(uint64(step/keptPerOctave)) - 1) // the largest power of two that is not above
	return step%every == 0
}

// line is one JSON object and a newline, its members in the order of values.
func line(step string, at int64, values []Value) []byte {
	b := make([]byte, 0, 64+40*len(values))
	b = append(appendQuoted(append(b, '{'), step), ':')
	b = strconv.AppendInt(b, at, 10)
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

// appendQuoted appends a string's JSON form. Names are letters, digits and underscores nearly always, and rows many.
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
