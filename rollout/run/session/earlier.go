package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"

	"xlarun/rollout/run"
)

// earlier gives a resumed run the rounds that its folder has, if it wants them.
func (s *session) earlier() error {
	take := s.can.Earlier
	if take == nil {
		return nil
	}
	logger, unit, work, round := s.logger, s.Kind.Unit, s.totalWork, s.round
	return s.do(func() error {
		var rounds []run.Metrics
		for line := range bytes.Lines(logger.Rows()) {
			m, err := readRow(line, unit)
			if err != nil {
				return fmt.Errorf("metrics.jsonl: %w", err)
			}
			m.Work = work / float64(max(1, round))
			rounds = append(rounds, m)
		}
		take(rounds)
		return nil
	})
}

// readRow reads a line of metrics.jsonl, whose values are in order. What is no number there is NaN.
func readRow(line []byte, unit string) (m run.Metrics, err error) {
	d := json.NewDecoder(bytes.NewReader(line))
	if _, err = d.Token(); err != nil { // {
		return m, err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return m, err
		}
		name, _ := key.(string)
		var x *float64
		if err := d.Decode(&x); err != nil {
			return m, err
		}
		switch {
		case name == unit && x != nil:
			m.Step = int64(*x)
		case x == nil:
			m.Values = append(m.Values, run.Value{Name: name, Number: math.NaN()})
		default:
			m.Values = append(m.Values, run.Value{Name: name, Number: *x})
		}
	}
	return m, nil
}
