package optim_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/optim"
	"xlarun/third_party/oracles"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

type tree = map[string]*graph.Array

var (
	floats = graphtest.Floats
	near   = graphtest.Near
)

// run is an optimizer's parameters, or their averages, after the given numbers of steps.
type run struct {
	Spec     spec
	Feedback bool
	Params   map[string]map[string]oracles.Array
}

func arrays(m map[string]oracles.Array) tree {
	out := tree{}
	for k, a := range m {
		out[k] = graph.Float32s(a.Float32s(), a.Shape...)
	}
	return out
}

// training is the carry of a run.
type training struct {
	Params tree
	State  optim.State
}

// step is one step with the gradient, to which feedback adds a tenth of the parameters.
func (c training) step(opt optim.Transform, g tree, feedback bool) training {
	if feedback {
		g = graph.MapTree2(func(g, p *graph.Array) *graph.Array { return g.Add(graph.Mul(.1, p)) }, g, c.Params)
	}
	c.Params, c.State = optim.Step(opt, c.Params, g, c.State)
	return c
}

// steps are what the run keeps after each of the 100 steps, taken in a Scan.
func (o run) steps(start, gradients tree) tree {
	opt := randomOptimizer(o.Spec)
	_, shown := graph.Scan(func(c training, g tree) (training, tree) {
		c = c.step(opt, g, o.Feedback)
		if o.Spec.name() == "schedule_free" {
			return c, optim.ScheduleFreeParams(c.State, c.Params, o.Spec.f("b1"))
		}
		return c, c.Params
	}, training{start, opt.Init(start)}, gradients)
	return shown
}

// TestAgreesWithOptax takes 100 steps with optimizers that are not among the random ones: ClipUp, which is evosax's,
// and the averages of ScheduleFree. third_party/oracles/optax_steps.py says what the fields hold.
func TestAgreesWithOptax(t *testing.T) {
	var v struct {
		Start, Gradients map[string]oracles.Array
		Optimizers       []run
	}
	require.NoError(t, oracles.Read("testdata/optax.json.gz", &v))
	require.Len(t, v.Optimizers, 3)
	for name, backend := range xlatest.Backends(t) {
		got, err := xlabridge.Jit2(backend, func(start, gradients tree) (out []tree) {
			for _, o := range v.Optimizers {
				out = append(out, o.steps(start, gradients))
			}
			return out
		})(arrays(v.Start), arrays(v.Gradients))
		require.NoError(t, err)
		for i, o := range v.Optimizers {
			t.Run(fmt.Sprintf("%s/%d %s", name, i, o.Spec.name()), func(t *testing.T) {
				require.Len(t, o.Params, 4)
				for step, want := range o.Params {
					n, err := strconv.Atoi(step)
					require.NoError(t, err)
					for leaf, a := range want {
						near(t, a.Floats(), floats(t, got[i][leaf].Index(n-1)), 5e-6, leaf, "after", n)
					}
				}
			})
		}
	}
}
