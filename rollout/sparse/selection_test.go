package sparse

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/rollout/plan"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

func TestParents(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		number         int
		accuracy, loss []float64
		share          float64
		want           []int
	}{
		{1, []float64{.1, .9, .5, .7}, []float64{1, 1, 1, 1}, 0, []int{0, 1, 2, 3}},
		{2, []float64{.1, .9, .5, .7}, []float64{1, 1, 1, 1}, .25, []int{1, 1, 2, 3}},
		{3, []float64{.1, .9, .5, .7}, []float64{1, 1, 1, 1}, .5, []int{1, 1, 3, 3}},
		{4, []float64{.5, .5, .5}, []float64{3, 1, 2}, .34, []int{1, 1, 2}}, // the loss decides
		{5, []float64{.5, .5}, []float64{1, 1}, .5, []int{0, 0}},            // then the number
		{6, []float64{.9, .1, .2}, []float64{nan, 1, 1}, .34, []int{2, 1, 2}},
		{7, []float64{.9, .1}, []float64{math.Inf(1), 1}, .5, []int{1, 1}},
		{8, []float64{.9}, []float64{1}, .5, []int{0}}, // nobody to replace
		{9, nil, nil, .5, []int{}},
	} {
		require.Equal(t, c.want, parents(Stats{Loss: c.loss, Accuracy: c.accuracy}, c.share), "case %d", c.number)
	}
}

// A selection copies whole members, by their accuracy on examples that nobody learns from, and a run with one goes on
// to the byte, on other devices too.
func TestSelection(t *testing.T) {
	d := stripes(6, 260, 70)
	c := tiny()
	c.Select, c.HeldOut, c.Devices = .4, 60, 1
	p, err := New(t.Context(), open(t, 1), c, d)
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close()) }()
	require.Equal(t, 200, p.data.Train.Len())
	require.Equal(t, d.Train.Labels[200:], p.selection.held.Labels)

	_, _, err = p.Train(4)
	require.NoError(t, err)
	before, err := p.Snapshot(t.Context())
	require.NoError(t, err)
	require.NoError(t, p.selectMembers())
	stats := *p.selection.last
	require.Len(t, stats.Accuracy, 3)
	after, err := p.Snapshot(t.Context())
	require.NoError(t, err)
	parent := parents(stats, c.Select)
	require.NotEqual(t, []int{0, 1, 2}, parent)
	old, now := hostArrays(t, before), hostArrays(t, after)
	for name := range old {
		n := len(old[name]) / 3
		for i, j := range parent {
			require.Equal(t, old[name][j*n:(j+1)*n], now[name][i*n:(i+1)*n], "%s of member %d", name, i)
		}
	}

	whole, want := train(t, open(t, 1), c, d)
	end, err := whole.Snapshot(t.Context())
	require.NoError(t, err)
	c.Devices = 2
	half, err := New(t.Context(), open(t, 2), c, d)
	require.NoError(t, err)
	defer func() { require.NoError(t, half.Close()) }()
	for _, n := range []int{5, 1} { // with a selection and a mutation between them
		_, _, err = half.Train(n)
		require.NoError(t, err)
	}
	middle, err := half.Snapshot(t.Context())
	require.NoError(t, err)
	require.NoError(t, half.Restore(t.Context(), middle))
	require.NoError(t, runToEnd(half, nil))
	got, err := half.Snapshot(t.Context())
	require.NoError(t, err)
	require.Equal(t, hostArrays(t, end), hostArrays(t, got))
	again, err := half.Evaluate()
	require.NoError(t, err)
	require.Equal(t, want, again)
}

// Members share the wanted part of their places at first. They draw the other places and all weights independently.
func TestSharedPlaces(t *testing.T) {
	shape := ShapeOf([]int{40, 25, 10}, []float64{.2, .5})
	for _, shared := range []float64{0, .5, .98, 1} {
		var members [][][2][]float64
		for i := range 3 {
			m, err := graph.Eval(shape.random(random.New(int64(10+i)), shape.common(random.New(5), shared)))
			require.NoError(t, err)
			members = append(members, hostMember(t, m))
		}
		for l, layer := range shape {
			common := 0
			for _, at := range members[0][l][0] {
				if slices.Contains(members[1][l][0], at) && slices.Contains(members[2][l][0], at) {
					common++
				}
			}
			least := int(math.Round(shared * float64(layer.Connections)))
			require.GreaterOrEqual(t, common, least, "%v", shared)
			if shared < 1 {
				require.Less(t, common, layer.Connections, "%v", shared)
			}
			for _, m := range members {
				require.Len(t, slices.Compact(slices.Clone(m[l][0])), layer.Connections)
				require.True(t, slices.IsSorted(m[l][0]))
			}
			require.NotEqual(t, members[0][l][1], members[1][l][1], "weights are a member's own")
		}
	}
}

// A mutation replaces some of the connections that are a member's own, and keeps the shared ones: with equal weights,
// where nothing else tells them apart, and where own weights are infinite.
func TestMutationKeepsSharedPlaces(t *testing.T) {
	shape := ShapeOf([]int{40, 25, 10}, []float64{.2, .5})
	for _, shared := range []float64{.01, .5, .9, 1} {
		for _, weight := range []float64{0, 1, math.Inf(1)} {
			common := shape.common(random.New(5), shared)
			start := shape.random(random.New(3), common)
			for l, layer := range shape {
				start[l].W = graph.Full(graph.ShapeOf(graph.Float32, layer.Connections), weight)
			}
			before, err := graph.Eval(start)
			require.NoError(t, err)
			after, err := graph.Eval(shape.mutate(before, common, random.New(7), .5))
			require.NoError(t, err)
			old, now := hostMember(t, before), hostMember(t, after)
			for l, layer := range shape {
				places, err := graph.Floats(common[l])
				require.NoError(t, err)
				require.Len(t, places, int(math.Round(shared*float64(layer.Connections))))
				require.Subset(t, now[l][0], places, "%v of weight %v", shared, weight)
				kept := 0
				for _, at := range now[l][0] {
					if slices.Contains(old[l][0], at) {
						kept++
					}
				}
				own := layer.Connections - len(places)
				require.Equal(t, layer.Connections-int(math.Round(.5*float64(own))), kept)
			}
		}
	}
}

// After selections and mutations of a whole run, all members still have the shared connections, and others of their
// own.
func TestRunKeepsSharedPlaces(t *testing.T) {
	c := tiny()
	c.Select, c.HeldOut, c.Shared, c.MutateEvery, c.MutateFraction = .4, 60, .8, 3, .5
	var b xlabridge.Backend = &xlabridge.Reference{}
	if long.On() {
		b = open(t, 1)
	}
	p, _ := train(t, b, c, stripes(6, 260, 70))
	require.Positive(t, p.mutations)
	common, err := graph.Eval(p.shape.common(random.FoldIn(random.New(c.Seed), sharedDraw), c.Shared))
	require.NoError(t, err)
	var first [][2][]float64
	for i := range c.Population {
		m, err := p.Member(i)
		require.NoError(t, err)
		member := hostMember(t, m)
		for l := range member {
			places, err := graph.Floats(common[l])
			require.NoError(t, err)
			require.Subset(t, member[l][0], places, "member %d", i)
		}
		if i == 0 {
			first = member
		} else {
			require.NotEqual(t, first[0][0], member[0][0], "member %d", i)
		}
	}
}

// Selections that cannot be are refused.
func TestSelectionRefuses(t *testing.T) {
	for _, c := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Select, c.MutateEvery = .2, 0 }, "select: got 0.2, want --mutate-every above 0"},
		// A step would have an example twice.
		{func(c *Config) { c.Batch = 201 }, "batch: got 201, want at most 200, the examples of the training data"},
		{func(c *Config) { c.Select, c.HeldOut = .2, 200 }, "held-out: got 200, want fewer than the 200 examples"},
		{func(c *Config) { c.Select = .6 }, "select: got 0.6"},
		{func(c *Config) { c.Shared = 1.5 }, "shared: got 1.5"},
	} {
		config := tiny()
		c.change(&config)
		_, err := New(t.Context(), open(t, 1), config, stripes(6, 200, 70))
		require.ErrorContains(t, err, c.want)
	}
}

// As many examples held out as there are was refused only after all data were read.
func TestHeldOutIsCheckedBeforeTheDataAreRead(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "train-labels-idx1-ubyte"), make([]byte, 8+200), 0o666))
	for _, c := range []struct {
		folder  string
		heldOut int
		selects float64
		want    string // "": it is accepted
	}{
		{"", 59999, .2, ""},
		{"", 60000, .2, "held-out: got 60000, want fewer than the 60000 examples of the training data"},
		{"", 60000, 0, ""},
		{dir, 199, .2, ""},
		{dir, 200, .2, "held-out: got 200, want fewer than the 200 examples of the training data"},
		{filepath.Join(dir, "none"), 1 << 29, .2, ""}, // Fetch says what is wrong with the folder
	} {
		e := &Experiment{Config: tiny(), Folder: c.folder}
		e.Select, e.HeldOut = c.selects, c.heldOut
		err := run.Kind{Unit: "update"}.Check(e, e.Job(), plan.Machine{CPU: true})
		if c.want == "" {
			assert.NoError(t, err, "%+v", c)
		} else {
			assert.EqualError(t, err, c.want, "%+v", c)
		}
	}
}
