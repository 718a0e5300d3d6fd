package qd

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/envs/tasks"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/rollout/population"
	"xlarun/rollout/run/runtest"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// plain is a task of one step, in which nothing is rounded: the first number of the action is the reward, and the next
// two the descriptor.
type plain struct{ noisy }

func init() { envs.MustRegister(plain{}) }

func (plain) Spec() envs.Spec {
	return envs.Spec{ID: "Plain-v0", Observation: envs.Symmetric(1), MaxSteps: 1, Descriptor: envs.Symmetric(1, 2),
		Objectives: noisy{}.Spec().Objectives, Action: envs.Box{Low: []float64{-envs.Unbounded},
			High: []float64{envs.Unbounded}, Dims: []int{4}, DType: graph.Float32}}
}

func (n plain) Step(_ random.Key, s tasks.MultiState, action *graph.Array,
	p tasks.Params) (next tasks.MultiState, obs, reward, terminated, truncated *graph.Array) {
	next = tasks.MultiState{Descriptor: graph.SliceAxis(action, 0, 1, 3), Objectives: s.Objectives}
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	return next, n.Observe(next, p), action.Index(0), envs.True(), truncated
}

// generated is a generation of a search.
type generated struct {
	State   SearchState
	Numbers *graph.Array
}

// A search whose caller scores its members has the state of a run to the bit, given the same scores. Where a strategy
// searches, XLA rounds the two programs in different ways: it is so op by op.
func TestAskAndTellAreARun(t *testing.T) {
	for _, row := range []struct{ archive, emitter, strategy string }{{"grid:5,4", "isoline", ""},
		{"cvt:30", "searches", "cmaes"}, {"unstructured:50", "searches", "snes"}} {
		if !long.On() && row.strategy == "snes" {
			continue
		}
		t.Run(row.archive, func(t *testing.T) {
			b := xlabridge.Backend(&xlabridge.Reference{})
			if row.strategy == "" && long.On() {
				b = xlatest.OpenCPU(t, 1)
			}
			c := DefaultConfig()
			c.Env, c.Policy, c.Archive, c.Emitter = "Plain-v0", "vector:-1,1", row.archive, row.emitter
			c.Batch, c.Seed = 24, 7
			c.EvalEnvs, c.Steps, c.Devices = 0, 1, 1
			if row.strategy != "" {
				c.Strategy, c.Parted = row.strategy, c.Parted.With("emitter.searches", 2)
			}
			s := start(t, b, c)
			a, err := c.Search(plain{}.Spec().Descriptor, population.LayoutOf([]*graph.Array{graph.Zeros(
				graph.ShapeOf(graph.Float32, 4))}))
			require.NoError(t, err)
			p := s.program
			first, err := xlabridge.Jit(b, func(key random.Key) *graph.Array {
				play, _, _ := State{Key: random.SplitN(key, 2)[1], Generation: graph.Scalar(0, graph.Int32)}.keys()
				return graph.VMap(func(number *graph.Array) *graph.Array { return p.first(p.Play.Key(play, number)) })(
					graph.Iota(c.Batch))
			})(random.New(c.Seed))
			require.NoError(t, err)
			state, err := graph.Eval(a.Start(random.New(c.Seed), first))
			require.NoError(t, err)
			ask := xlabridge.Jit2(b, a.Ask)
			tell := xlabridge.Jit2(b, func(s SearchState, child Child) generated {
				x := child.Genome
				next, numbers := a.Tell(s, a.Inputs, child, x.Transpose(1, 0).Index(0), graph.SliceAxis(x, 1, 1, 3))
				return generated{next, numbers}
			})
			for range 4 {
				child, err := ask(state, a.Inputs)
				require.NoError(t, err)
				next, err := tell(state, child)
				require.NoError(t, err)
				state = next.State
				m, err := s.Step(t.Context())
				require.NoError(t, err)
				for i, number := range floats(t, next.Numbers) {
					require.InEpsilon(t, 1+runtest.Number(t, m, a.Metrics[i]), 1+number, 1e-6, a.Metrics[i]) // sums
				}
			}
			ran, err := s.Loop.State()
			require.NoError(t, err)
			want, tree := graph.Flatten(ran)
			for i, x := range graph.Leaves(state.State) {
				require.Equal(t, floats(t, want[i]), floats(t, x), tree.Path(i))
			}
		})
	}
}
