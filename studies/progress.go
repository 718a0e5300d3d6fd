package studies

import (
	"bytes"
	"fmt"
	"maps"

	"xlarun/graph"
	"xlarun/graph/safetensors"
	"xlarun/rollout/run"
	"xlarun/rollout/study"
)

// progress is how far a trial has come: all that the rest of it depends on.
type progress struct {
	Step     int64 // the last at which it reported
	Reported []study.Reported
	Seeds    []seedProgress
}

// seedProgress is that of the run of a seed.
type seedProgress struct {
	Metrics run.Metrics
	Over    bool
	Step    int64  // of the snapshot
	Arrays  []byte // its arrays, a safetensors file
}

// progressOf is that of runs between two rounds.
func progressOf(step int64, all []*seeded) (*progress, error) {
	p := &progress{Step: step}
	for _, r := range all {
		snapshot, err := r.run.Snapshot()
		if err != nil {
			return nil, err
		}
		var arrays bytes.Buffer
		if err := safetensors.Write(&arrays, snapshot.Arrays, nil); err != nil {
			return nil, err
		}
		p.Seeds = append(p.Seeds, seedProgress{r.metrics, r.over, snapshot.Step, arrays.Bytes()})
	}
	return p, nil
}

// restore puts runs where they were.
func (p *progress) restore(all []*seeded) error {
	if len(p.Seeds) != len(all) {
		return fmt.Errorf("the checkpoint has %d runs, the trial has %d", len(p.Seeds), len(all))
	}
	for i, r := range all {
		from := p.Seeds[i]
		file, err := safetensors.New(bytes.NewReader(from.Arrays), int64(len(from.Arrays)))
		if err != nil {
			return err
		}
		snapshot := run.Snapshot{Step: from.Step, Arrays: map[string]*graph.Array{}}
		for _, name := range file.Names() {
			if snapshot.Arrays[name], err = file.Array(name); err != nil {
				return err
			}
		}
		if err := r.run.Restore(snapshot); err != nil {
			return err
		}
		r.metrics, r.over = from.Metrics, from.Over
		r.metrics.Timings = nil
	}
	return nil
}

// params of a trial by their names, as its runs get them.
func (j *job) params() (map[string]any, error) {
	t, err := j.frozen()
	if err != nil {
		return nil, err
	}
	return maps.Clone(t.External()), nil
}
