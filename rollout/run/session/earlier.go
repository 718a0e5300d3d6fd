package session

import (
	"bytes"
	"fmt"

	"xlarun/rollout/run"
	"xlarun/rollout/run/runfolder"
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
			row, err := runfolder.ReadRow(line)
			if err != nil {
				return fmt.Errorf("metrics.jsonl: %w", err)
			}
			m := run.Metrics{Work: work / float64(max(1, round))}
			for _, v := range row {
				if v.Name == unit {
					m.Step = int64(v.Number)
				} else {
					m.Values = append(m.Values, run.Value(v))
				}
			}
			rounds = append(rounds, m)
		}
		take(rounds)
		return nil
	})
}
