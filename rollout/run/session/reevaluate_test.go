package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/run"
	"xlarun/rollout/run/runfolder"
	"xlarun/rollout/run/session"
	"xlarun/xlabridge"
)

// replaying is a halving whose run plays again what it has found.
type replaying struct {
	halving
	err error
}

func (r *replaying) Job() *run.Job {
	job := r.halving.Job()
	job.Start = func(_ context.Context, b xlabridge.Backend) (run.Run, error) {
		h, err := newHalved(b, &r.halving)
		return &replayed{halved: h, err: r.err}, err
	}
	return job
}

type replayed struct {
	*halved
	at  int64
	err error
}

func (r *replayed) Describe() *run.Capabilities {
	can := r.halved.Describe()
	can.Reevaluate, can.Table = r.Reevaluate, r.Table
	return can
}

func (r *replayed) Reevaluate(_ context.Context, s run.Snapshot, _ func(float64)) ([]run.Fact, error) {
	r.at = s.Step
	return []run.Fact{{Name: "value_again", Value: r.Steps()}}, r.err
}

func (r *replayed) Table() []string { return []string{fmt.Sprintf("played again after step %d", r.at)} }

// A run that reevaluates plays its last state again: its table knows the result, and the JSON has its numbers.
func TestReevaluating(t *testing.T) {
	start := func(ctx context.Context, r *replaying) (*session.Outcome, error) {
		o := options(&r.halving, &watch{})
		o.Experiment = r
		folder, err := runfolder.Create(t.TempDir()+"/run", runfolder.Options{})
		require.NoError(t, err)
		o.Folder = folder
		return session.Run(ctx, o)
	}
	o, err := start(context.Background(), &replaying{halving: halving{Steps: 3}})
	require.NoError(t, err)
	require.Contains(t, o.Summary, "played again after step 3")
	text, err := json.Marshal(o.JSON)
	require.NoError(t, err)
	require.Contains(t, string(text), `"value_again":3`)

	// An interrupt leaves no time for it.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o, err = start(ctx, &replaying{halving: halving{Steps: 1000, step: func(n int64) {
		if n == 4 {
			cancel()
		}
	}}})
	require.ErrorAs(t, err, new(session.InterruptedError))
	require.NotContains(t, o.Summary, "played again after step 4")

	_, err = start(context.Background(), &replaying{halving: halving{Steps: 1}, err: errors.New("no memory")})
	require.ErrorContains(t, err, "no memory")
}
