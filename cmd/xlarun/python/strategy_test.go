package python

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/rollout/evolve/generation"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/plan"
	"xlarun/xlabridge"
)

// searchOf is a strategy of members of 8 numbers.
func searchOf(name string, members int, seed int64) searchArgument {
	return searchArgument{Name: name, Popsize: members, Seed: seed,
		Leaves: []leaf{{DType: "float32", Shape: []int{8}}}}
}

// floats reads float32 numbers.
func floats(b []byte) (all []float32) {
	for i := 0; i < len(b); i += 4 {
		all = append(all, math.Float32frombits(binary.LittleEndian.Uint32(b[i:])))
	}
	return all
}

// rounded are the strategies that another program than the run's rounds in another way.
var rounded = []string{"asebo", "crfmnes", "gradientless", "guidedes", "lmmaes"}

// Ask and tell have the members and means of `xlarun evolve Rastrigin-v0 --policy vector`, given the fitness there: to
// the bit, except for the strategies of rounded. All members are in one tile there, since tell adds up by tile.
func TestAskAndTellAreARun(t *testing.T) {
	for _, name := range strategy.Names() {
		if !long.On() && !slices.Contains([]string{"cmaes", "eggroll", "neat"}, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			const members, generations, seed = 16, 3, 5
			s := generation.DefaultSearch()
			s.Env, s.Policy, s.Strategy, s.Steps, s.Seed = "Rastrigin-v0", "vector", name, 1, seed
			s.Population, s.Tile = members, members
			s.EnvParam, s.EvalEnvs = s.EnvParam.With("dimensions", "8"), 0
			in := searchOf(name, members, seed)
			if name == "neat" {
				s.Policy, in.Leaves, in.Inputs, in.Outputs = "genome", nil, 1, 8
			}
			c := connect(t)
			setup, err := s.NewSetup(generation.Options{}, plan.MachineOf(c.backend, 1))
			require.NoError(t, err)
			p, err := setup.Program()
			require.NoError(t, err)
			state := p.Start(random.New(seed))
			run := xlabridge.Jit2(c.backend, func(s generation.State, in generation.Inputs) ran {
				next, numbers := p.Run(s, in)
				return ran{next, numbers}
			})
			o := c.object("strategy", in)
			if name != "neat" {
				start, err := graph.HostBytes(graph.Leaves(state.Best.Genome)[0])
				require.NoError(t, err)
				copy(o.at(0, "mean0"), start)
			}
			o.call("start", 0)
			for g := range generations {
				r, err := run(state, setup.Inputs(p.Groups.PerDevice))
				require.NoError(t, err)
				state = r.State
				numbers, err := graph.HostBytes(r.Numbers)
				require.NoError(t, err)
				o.call("ask", g%2)
				copy(o.at(g%2, "fitness"), numbers[:4*members])
				o.call("tell", g%2)
				o.call("mean", g%2)
				mean, err := graph.Eval(p.Strategy.Mean(state.Strategy))
				require.NoError(t, err)
				if slices.Contains(rounded, name) {
					want, err := graph.HostBytes(graph.Leaves(mean)[0])
					require.NoError(t, err)
					require.InDeltaSlice(t, floats(want), floats(o.at(g%2, "mean0")), 1e-4)
					continue
				}
				f, i := floats(numbers[:4*members]), 0
				for j, x := range f {
					if x > f[i] {
						i = j
					}
				}
				for leaf, x := range graph.Leaves(mean) {
					want, err := graph.HostBytes(x)
					require.NoError(t, err)
					require.Equal(t, want, o.at(g%2, fmt.Sprint("mean", leaf)), "mean after generation %d", g+1)
					if g == 0 {
						want, err = graph.HostBytes(graph.Leaves(state.Best.Genome)[leaf])
						require.NoError(t, err)
						all := o.at(g%2, fmt.Sprint("member", leaf))
						require.Equal(t, want, all[len(want)*i:len(want)*(i+1)], "the best member")
					}
				}
			}
		})
	}
}

// ran is what a generation returns.
type ran struct {
	State   generation.State
	Numbers *graph.Array
}

// Fitness that is not finite is the worst, and a member may be alone. If all is NaN, the mean stays.
func TestFitnessThatIsNotFinite(t *testing.T) {
	c := connect(t)
	o := c.object("strategy", searchOf("simplega", 2, 1))
	o.call("start", 0)
	o.call("ask", 0)
	members := floats(o.at(0, "member0"))
	binary.LittleEndian.PutUint32(o.at(0, "fitness"), math.Float32bits(float32(math.Inf(1))))
	binary.LittleEndian.PutUint32(o.at(0, "fitness")[4:], math.Float32bits(-3))
	o.call("tell", 0)
	o.call("mean", 0)
	require.Equal(t, members[8:], floats(o.at(0, "mean0")), "the finite one is the best")

	alone := c.object("strategy", searchOf("simplega", 1, 1))
	alone.call("start", 0)
	alone.call("ask", 0)
	binary.LittleEndian.PutUint32(alone.at(0, "fitness"), math.Float32bits(float32(math.NaN())))
	alone.call("tell", 0)
	alone.call("mean", 0)
	require.Equal(t, make([]float32, 8), floats(alone.at(0, "mean0")))
}

// Members are trees, whose leaves lie one after the other in a vector; a leaf may be one number.
func TestTrees(t *testing.T) {
	c := connect(t)
	whole := c.object("strategy", searchOf("pgpe", 4, 1))
	in := searchOf("pgpe", 4, 1)
	in.Leaves = []leaf{{DType: "float32", Shape: []int{}}, {DType: "float32", Shape: []int{2, 3}},
		{DType: "float32", Shape: []int{1}}}
	parts := c.object("strategy", in)
	for _, o := range []*shared{whole, parts} {
		o.call("start", 0)
		o.call("ask", 1)
	}
	all := floats(whole.at(1, "member0"))
	for i := range 4 {
		var member []float32
		member = append(member, floats(parts.at(1, "member0"))[i])
		member = append(member, floats(parts.at(1, "member1"))[6*i:6*i+6]...)
		member = append(member, floats(parts.at(1, "member2"))[i])
		require.Equal(t, all[8*i:8*i+8], member)
	}
}
