package xlabridge

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
)

// A loop that drops results of a megabyte never holds more than a part of them; those that somebody refers to stay.
func TestDroppedResultsAreFreed(t *testing.T) {
	c := open(t, Options{NoCache: true})
	f := Jit1(c, func(x *graph.Array) *graph.Array { return graph.BroadcastTo(x, 1<<18) })
	const rounds, size, every = 2000, 1 << 20, 200
	before, most := buffers.held.Load(), int64(0)
	var kept []*graph.Array
	for i := range rounds {
		y, err := f(graph.Scalar(float64(i)))
		require.NoError(t, err)
		if i%every == 0 {
			kept = append(kept, y)
		}
		most = max(most, buffers.held.Load()-before)
	}
	require.Less(t, most, int64(rounds*size/2))
	for i, y := range kept {
		v, err := graph.Floats(y)
		require.NoError(t, err)
		require.EqualValues(t, i*every, v[len(v)-1])
	}
	Free(kept)
}

// What is counted for a buffer is given back however it ends.
func TestBuffersAreCounted(t *testing.T) {
	for i, end := range []struct {
		name string
		end  func(t *testing.T, c *Client, x *Buffer)
	}{
		{"closed", func(t *testing.T, _ *Client, x *Buffer) { require.NoError(t, x.Close()) }},
		{"closed twice", func(t *testing.T, _ *Client, x *Buffer) {
			require.NoError(t, x.Close())
			require.NoError(t, x.Close())
		}},
		{"donated", func(t *testing.T, c *Client, x *Buffer) {
			e, err := c.CompileText("donate", donateText, CompileOptions{})
			require.NoError(t, err)
			y := f32(t, c, 0, 4, 5, 6)
			out, err := e.Execute([][]*Buffer{{x, y}}, []int{0})
			require.NoError(t, err)
			require.NoError(t, out[0][0].Close())
			require.NoError(t, y.Close())
		}},
		{"the client closed", func(t *testing.T, c *Client, _ *Buffer) { require.NoError(t, c.Close()) }},
	} {
		c := open(t, Options{NoCache: true})
		x := f32(t, c, 0, 1, 2, 3)
		require.EqualValues(t, 12, x.h.bytes, "case %d", i+1)
		before := buffers.held.Load()
		end.end(t, c, x)
		require.Equal(t, before-12, buffers.held.Load(), "case %d: %s", i+1, end.name)
	}
}

// A state that is donated and comes back starts no collection, however large it is; results that pile up do.
func TestStatesThatComeBackAreNoGrowth(t *testing.T) {
	p := pace{started: time.Now()}
	idle := func() bool { return !p.busy.Load() }
	p.add(100 * leastGrowth)
	require.Eventually(t, idle, time.Minute, time.Millisecond)
	p.next.Store(0)
	first := p.finished.Load()
	require.NotNil(t, first, "case 1: what is new is looked at")
	for range 1000 {
		p.exchange(100*leastGrowth, 100*leastGrowth)
	}
	require.Same(t, first, p.finished.Load(), "case 2: what comes back is not")
	p.exchange(100*leastGrowth, 60*leastGrowth)
	p.exchange(60*leastGrowth, 60*leastGrowth+mostGrowth-1)
	require.Same(t, first, p.finished.Load(), "case 3: not yet so much more")
	p.exchange(60*leastGrowth+mostGrowth-1, 60*leastGrowth+mostGrowth)
	require.Eventually(t, idle, time.Minute, time.Millisecond)
	require.NotSame(t, first, p.finished.Load(), "case 4: so much more")
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
		p := pace{started: time.Now()}
		p.next.Store(math.MaxInt64)
		finished := make(chan struct{})
		p.finished.Store(&finished)
		p.busy.Store(true) // a collection that does not end
		p.least.Store(c.least)
		p.held.Store(c.held - 2)
		p.add(1)
		p.add(1)
		added := make(chan struct{})
		go func() {
			p.add(c.added)
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

// Where there is no pool a result counts for the temporaries of its call, too.
func TestResultsCountTemporaries(t *testing.T) {
	c := open(t, Options{NoCache: true})
	x := graph.Zeros(graph.ShapeOf(graph.Float32, 1<<18))
	f := Jit1(c, func(x *graph.Array) *graph.Array {
		sorted := graph.Sort(graph.Sin(x), 0)
		return graph.SliceAxis(graph.Sort(graph.Cos(sorted), 0), 0, 0, 3)
	})
	before := buffers.held.Load()
	y, err := f(x)
	require.NoError(t, err)
	if held := buffers.held.Load() - before; c.lib.pooled {
		require.EqualValues(t, 3*4, held)
	} else {
		require.GreaterOrEqual(t, held, int64(4<<18))
	}
	Free(y)
	require.Equal(t, before, buffers.held.Load())
}

// A loop that frees its large results starts a collection or two, and not one for each.
func TestFreedResultsStartNoCollections(t *testing.T) {
	p := pace{started: time.Now()}
	collections := map[*chan struct{}]bool{}
	for range 100 {
		p.add(10 * leastGrowth)
		require.Eventually(t, func() bool { return !p.busy.Load() }, time.Minute, time.Millisecond)
		p.next.Store(0)
		collections[p.finished.Load()] = true
		p.giveBack(10 * leastGrowth)
	}
	require.LessOrEqual(t, len(collections), 2)
}
