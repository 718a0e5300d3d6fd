package hostmemory

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A state that is donated and comes back starts no collection, however large it is; results that pile up do.
func TestStatesThatComeBackAreNoGrowth(t *testing.T) {
	p := Pace{started: time.Now()}
	idle := func() bool { return !p.busy.Load() }
	p.Add(100 * leastGrowth)
	require.Eventually(t, idle, time.Minute, time.Millisecond)
	p.next.Store(0)
	first := p.finished.Load()
	require.NotNil(t, first, "what is new is looked at")
	for range 1000 {
		p.Exchange(100*leastGrowth, 100*leastGrowth)
	}
	require.Same(t, first, p.finished.Load(), "what comes back is not")
	p.Exchange(100*leastGrowth, 60*leastGrowth)
	p.Exchange(60*leastGrowth, 60*leastGrowth+mostGrowth-1)
	require.Same(t, first, p.finished.Load(), "not yet so much more")
	p.Exchange(60*leastGrowth+mostGrowth-1, 60*leastGrowth+mostGrowth)
	require.Eventually(t, idle, time.Minute, time.Millisecond)
	require.NotSame(t, first, p.finished.Load(), "so much more")
	require.EqualValues(t, 60*leastGrowth+mostGrowth, p.held.Load())
}

// Where more is held than collections can keep up with, those who add to it wait: what is held stays within bounds on a
// machine that is busy with something else, too.
func TestAddWaitsForCollection(t *testing.T) {
	for i, c := range []struct {
		description        string
		least, held, added int64
	}{
		{"1: small results", 0, leastGrowth + 2*slack - 1, 1},
		{"2: large ones", 500 << 20, 500<<20 + mostGrowth + 2*slack - 1, 1},
	} {
		p := Pace{started: time.Now()}
		p.next.Store(math.MaxInt64)
		finished := make(chan struct{})
		p.finished.Store(&finished)
		p.busy.Store(true) // a collection that does not end
		p.least.Store(c.least)
		p.held.Store(c.held - 2)
		p.Add(1)
		p.Add(1)
		added := make(chan struct{})
		go func() {
			p.Add(c.added)
			close(added)
		}()
		select {
		case <-added:
			require.Fail(t, "nobody waited", "case %d %s", i+1, c.description)
		case <-time.After(50 * time.Millisecond):
		}
		close(finished)
		<-added
	}
}

// A loop that frees its large results starts a collection or two, and not one for each.
func TestFreedResultsStartNoCollections(t *testing.T) {
	p := Pace{started: time.Now()}
	collections := map[*chan struct{}]bool{}
	for range 100 {
		p.Add(10 * leastGrowth)
		require.Eventually(t, func() bool { return !p.busy.Load() }, time.Minute, time.Millisecond)
		p.next.Store(0)
		collections[p.finished.Load()] = true
		p.GiveBack(10 * leastGrowth)
	}
	require.LessOrEqual(t, len(collections), 2)
}
