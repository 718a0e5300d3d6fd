package studies

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/internal/messaging"
	"xlarun/studies/study"
)

// Two studies are served at one message server that is neither's. One coordinator ends, and another one goes on: its
// worker stays connected. A third study under the same name is refused.
func TestStudiesJoinAServer(t *testing.T) {
	t.Parallel()
	b, err := openBus(Listen{Address: "127.0.0.1:0"}, "")
	require.NoError(t, err)
	defer b.close()
	at := func(name string) messaging.Server {
		return messaging.Server{Address: messaging.Address{URLs: []string{"nats://" + b.address()}, Name: name},
			Wait: time.Minute}
	}
	served := func(name string) (*Spec, *Coordinator) {
		_, s := written(t, "trials = 6\nsampler = \"random\"\npruner = \"none\"\n"+onlyX)
		server, c := at(name), coordinator(s)
		c.NoWorkers, c.Join = true, &server
		return s, c
	}
	moved, first := served("moved")
	other, second := served("other")
	ctx, stop := context.WithCancel(t.Context())
	first.Ended = func(*study.FrozenTrial, *study.FrozenTrial) { stop() }
	var joined atomic.Int64
	var all sync.WaitGroup
	for _, name := range []string{"moved", "other"} {
		all.Go(func() {
			require.NoError(t, JoinStudy(t.Context(), Join{Server: at(name), Joined: func(string) { joined.Add(1) }},
				bowls{}))
		})
	}
	all.Go(func() { require.NoError(t, second.Run(t.Context())) })
	require.Error(t, first.Run(ctx))
	again := coordinator(moved)
	again.NoWorkers, again.Join = true, first.Join
	said := ""
	again.Listening = func(address string) { said = address }
	again.Ended = func(x, _ *study.FrozenTrial) {
		if x.Number == 3 {
			_, third := served("moved")
			err := third.Run(t.Context())
			require.EqualError(t, err, "another study is served at nats://"+b.address()+" under this name: give "+
				"another one, nats://"+b.address()+"/NAME, there and to its workers")
		}
	}
	require.NoError(t, again.Run(t.Context()))
	all.Wait()
	require.Equal(t, "nats://"+b.address()+"/moved", said)
	require.EqualValues(t, 2, joined.Load())
	for _, s := range []*Spec{moved, other} {
		trials := trialsOf(t, s)
		require.Len(t, trials, 6)
		for _, x := range trials {
			require.Equal(t, study.Complete, x.State)
		}
	}
}

// A worker that still has a trial of the study that was served here before wrote its result into the trial of this
// one with the same number.
func TestAnotherStudysTrial(t *testing.T) {
	t.Parallel()
	x := newTestServer(t, "lease = \"8s\"\n")
	w := x.worker("a")
	w.study = "another"
	q := request{Trial: x.trial.ID, Result: study.Result{State: study.Complete, Values: []float64{1}}}
	r, err := w.ask(t.Context(), resultKind, q)
	require.NoError(t, err)
	require.True(t, r.Lost)
	require.Equal(t, x.id, r.Study)
	w.study = r.Study
	r, err = w.ask(t.Context(), resultKind, q)
	require.NoError(t, err)
	require.False(t, r.Lost)
	trial, err := x.server.trial(x.trial.ID)
	require.NoError(t, err)
	require.Equal(t, study.Complete, trial.State)
}
