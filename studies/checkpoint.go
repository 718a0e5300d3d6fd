package studies

import (
	"bytes"
	"context"
	"fmt"

	"xlarun/graph"
	"xlarun/graph/safetensors"
	"xlarun/rollout/run"
	"xlarun/studies/study"
)

// checkpoint is the state of a trial: everything that the rest of it depends on.
type checkpoint struct {
	Step     int64 // the last step at which it reported
	Reported []study.Reported
	Seeds    []seedCheckpoint
}

// seedCheckpoint is the state of the run of one seed.
type seedCheckpoint struct {
	Metrics run.Metrics
	Over    bool
	Step    int64  // of the snapshot
	Arrays  []byte // its arrays, a safetensors file
}

// checkpointOf returns the state of runs between two rounds. step is the last step at which the trial reported.
func checkpointOf(ctx context.Context, step int64, all seeds) (*checkpoint, error) {
	p := &checkpoint{Step: step}
	for _, r := range all {
		snapshot, err := r.run.Snapshot(ctx)
		if err != nil {
			return nil, err
		}
		var arrays bytes.Buffer
		if err := safetensors.Write(&arrays, snapshot.Arrays, nil); err != nil {
			return nil, err
		}
		p.Seeds = append(p.Seeds, seedCheckpoint{r.metrics, r.over, snapshot.Step, arrays.Bytes()})
	}
	return p, nil
}

// snapshot returns the state.
func (c seedCheckpoint) snapshot() (run.Snapshot, error) {
	s := run.Snapshot{Step: c.Step, Arrays: map[string]*graph.Array{}}
	file, err := safetensors.New(bytes.NewReader(c.Arrays), int64(len(c.Arrays)))
	if err != nil {
		return s, err
	}
	for _, name := range file.Names() {
		if s.Arrays[name], err = file.Array(name); err != nil {
			return s, err
		}
	}
	return s, nil
}

// restore sets runs to the state of the checkpoint.
func (p *checkpoint) restore(ctx context.Context, all seeds) error {
	if len(p.Seeds) != len(all) {
		return fmt.Errorf("the checkpoint has %d runs, the trial has %d", len(p.Seeds), len(all))
	}
	for i, r := range all {
		from := p.Seeds[i]
		snapshot, err := from.snapshot()
		if err != nil {
			return err
		}
		if err := r.run.Restore(ctx, snapshot); err != nil {
			return err
		}
		r.metrics, r.over = from.Metrics, from.Over
		r.metrics.Timings = nil
	}
	return nil
}
