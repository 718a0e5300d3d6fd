package policy

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/policy/genome"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// connection is a connection of a genome's document.
type connection struct {
	from, to int
	weight   float64
}

// document is the document of a genome whose nodes are inputs, then outputs, all with tanh.
func document(inputs, outputs int, connections ...connection) (d genome.Document) {
	for i := range inputs + outputs {
		kind := "input"
		if i >= inputs {
			kind = "output"
		}
		d.Nodes = append(d.Nodes, genome.NodeDocument{Number: i, Kind: kind, Response: 1, Activation: "tanh",
			Aggregation: "sum"})
	}
	for i, c := range connections {
		d.Connections = append(d.Connections, genome.ConnectionDocument{Innovation: i, From: c.from, To: c.to,
			Weight: c.weight, Enabled: true})
	}
	return d
}

// The perceptron that a genome draws, in plain Go: weight = tanh(1.5·gauss(x1 - x2 + .3) - .4·y1),
// bias = tanh(.7·x2).
func TestHyperNEATDraws(t *testing.T) {
	p, _, err := Make("hyperneat:3", settings.Values{"threshold": .25, "largest-weight": 2}, envs.Symmetric(1, 1),
		envs.Discrete{N: 2})
	require.NoError(t, err)
	h := NetworkOf(p).(*HyperNEAT)
	d := document(4, 3, connection{0, 6, 1}, connection{2, 6, -1}, connection{6, 4, 1.5}, connection{1, 4, -.4},
		connection{2, 5, .7})
	d.Nodes[6].Kind, d.Nodes[6].Activation, d.Nodes[6].Bias = "hidden", "gauss", .3
	g, err := h.pattern.Genome(d)
	require.NoError(t, err)
	numbers := func(w float64) float64 {
		if math.Abs(w) <= .25 {
			return 0
		}
		return math.Copysign((math.Abs(w)-.25)/.75*2, w)
	}
	weight := func(x1, y1, x2 float64) float64 {
		z := x1 - x2 + .3
		return numbers(math.Tanh(1.5*math.Exp(-z*z) - .4*y1))
	}
	bias := func(x2 float64) float64 { return numbers(math.Tanh(.7 * x2)) }
	in, layers := []float64{.6, -.9}, []int{2, 3, 2}
	values := in
	cut := 0
	for l := range 2 {
		var next []float64
		for j := range layers[l+1] {
			at := func(i, n int) float64 { return 2*float64(i)/float64(n-1) - 1 }
			to := at(j, layers[l+1])
			sum := bias(to)
			for i, v := range values {
				w := weight(at(i, layers[l]), float64(l)-1, to)
				if w == 0 {
					cut++
				}
				sum += w * v
			}
			if l == 0 {
				sum = math.Tanh(sum)
			}
			next = append(next, sum)
		}
		values = next
	}
	require.Greater(t, cut, 0, "a connection below the threshold")
	run := xlabridge.Jit2(xlatest.Open(t, 1), func(g genome.Genome, x *graph.Array) *graph.Array {
		_, out := p.Act(h.Prepare(g), graph.None{}, x, random.New(0))
		return out.Action
	})
	out, err := run(g, graph.Float32s([]float32{float32(in[0]), float32(in[1])}))
	require.NoError(t, err)
	require.InDeltaSlice(t, values, floats(t, out), 1e-5)
}

// What a genome has no room for, or no function.
func TestHyperNEATRefuses(t *testing.T) {
	_, _, err := Make("hyperneat", settings.Values{"connections": 7}, envs.Symmetric(1), envs.Discrete{N: 2})
	require.ErrorContains(t, err, "connections")
	_, _, err = Make("hyperneat", settings.Values{"activations": "softplus"}, envs.Symmetric(1), envs.Discrete{N: 2})
	require.ErrorContains(t, err, "softplus")
}
