package session

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/run"
)

func TestTimeLeft(t *testing.T) {
	const second = time.Second
	for _, c := range []struct {
		name                    string
		done, total             int64
		doneIn, taken, expected time.Duration
		want                    time.Duration
	}{
		{"nothing is known", 0, 0, 0, 12 * second, 0, 0},
		{"as the last round", 0, 0, 0, 12 * second, 60 * second, 48 * second},
		{"longer than the last round", 0, 0, 0, 70 * second, 60 * second, 0},
		{"a quarter is done", 32, 128, 10 * second, 10 * second, 0, 30 * second},
		{"and then a while nothing more", 32, 128, 10 * second, 15 * second, 0, 25 * second},
		{"the next part is late", 1, 2, 10 * second, 25 * second, 0, 0},
		{"parts count more than the last round", 1, 2, 10 * second, 10 * second, 1000 * second, 10 * second},
		{"no part is done", 0, 128, 0, 10 * second, 60 * second, 50 * second},
		{"all are done", 128, 128, 60 * second, 61 * second, 0, 0},
		{"huge", 1, 1 << 62, second, second, 0, longest},
	} {
		got := timeLeft(c.done, c.total, c.doneIn, c.taken, c.expected)
		require.InEpsilon(t, float64(c.want+1), float64(got+1), 1e-9, c.name)
	}
	require.Equal(t, "90 minutes", longText(90*time.Minute))
	require.Equal(t, "30 hours", longText(30*time.Hour))
	require.Equal(t, "4 days", longText(96*time.Hour))
}

// A long round says how far it is until it ends, and nothing after that.
func TestWatchRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reports []Progress
		end := watchRound(func(p Progress) { reports = append(reports, p) }, "update 3", nil, time.Minute)
		time.Sleep(progressAfter + progressEvery*3/2)
		end()
		time.Sleep(time.Minute)
		require.Equal(t, []Progress{{Round: "update 3", Taken: 5 * time.Second, Left: 55 * time.Second},
			{Round: "update 3", Taken: 6 * time.Second, Left: 54 * time.Second}}, reports)
		watchRound(func(Progress) { t.Error("a short round says nothing") }, "update 3", nil, 0)()
	})
}

// The time that a validation still takes counts from its start, not from that of the round.
func TestTimeLeftOfAValidation(t *testing.T) {
	const second = time.Second
	counter := run.NewStageCounter()
	p := &progress{counter: counter, expected: 100 * second}
	require.Equal(t, 94*second, p.now(6*second).Left)
	for _, c := range []struct {
		name        string
		done, total int
		taken, left time.Duration
	}{
		{"tiles", 1, 4, 10 * second, 30 * second},
		{"tiles", 4, 4, 40 * second, 0},
		{"episodes of the validation", 0, 8, 41 * second, 59 * second},
		{"episodes of the validation", 2, 8, 45 * second, 12 * second},
		{"episodes of the validation", 2, 8, 46 * second, 11 * second},
	} {
		counter.Stage(c.name, c.done, c.total)
		require.Equal(t, c.left, p.now(c.taken).Left, c)
	}
}
