package rollout_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/rollout/policy/genome"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// plain is a genome in plain Go.
type plain struct {
	bias, response          []float64
	activation, aggregation []string
	from, to                []int
	weight                  []float64
	enabled                 []bool
	nodes                   int
}

// drawn returns a random genome of a network, without cycles if it is feed-forward, and its arrays.
func drawn(n *genome.Network, r *rand.Rand) (plain, genome.Genome) {
	ends := n.Inputs + n.Outputs
	p := plain{nodes: ends + r.IntN(n.Nodes-ends+1)}
	f32 := func(x float64) float64 { return float64(float32(x)) }
	number := make([]int32, n.Nodes)
	bias, response := make([]float32, n.Nodes), make([]float32, n.Nodes)
	act, agg := make([]int32, n.Nodes), make([]int32, n.Nodes)
	order := r.Perm(p.nodes) // a connection goes up in this order
	for i := range n.Nodes {
		if number[i] = genome.None; i >= p.nodes {
			continue
		}
		number[i] = int32(i)
		p.bias, p.response = append(p.bias, f32(r.NormFloat64())), append(p.response, f32(r.NormFloat64()))
		act[i], agg[i] = int32(r.IntN(len(n.Activations))), int32(r.IntN(len(n.Aggregations)))
		p.activation = append(p.activation, n.Activations[act[i]])
		p.aggregation = append(p.aggregation, n.Aggregations[agg[i]])
		bias[i], response[i] = float32(p.bias[i]), float32(p.response[i])
	}
	numbers := make([]int32, n.Connections)
	from, to := make([]int32, n.Connections), make([]int32, n.Connections)
	weight, enabled := make([]float32, n.Connections), make([]bool, n.Connections)
	taken := map[[2]int]bool{}
	for i, want := 0, r.IntN(n.Connections+1); i < n.Connections; i++ {
		numbers[i] = genome.None
		for tries := 0; i < want && tries < 20 && numbers[i] == genome.None; tries++ {
			a, b := r.IntN(p.nodes), n.Inputs+r.IntN(p.nodes-n.Inputs)
			up := a < n.Inputs || order[a] < order[b]
			if taken[[2]int{a, b}] || !n.Recurrent && !up {
				continue
			}
			taken[[2]int{a, b}] = true
			numbers[i], from[i], to[i] = int32(i), int32(a), int32(b)
			weight[i], enabled[i] = float32(r.NormFloat64()), r.IntN(4) > 0
			p.from, p.to = append(p.from, a), append(p.to, b)
			p.weight, p.enabled = append(p.weight, float64(weight[i])), append(p.enabled, enabled[i])
		}
	}
	return p, genome.Genome{
		Nodes: genome.Nodes{Number: graph.Int32s(number), Bias: graph.Float32s(bias),
			Response: graph.Float32s(response), Activation: graph.Int32s(act), Aggregation: graph.Int32s(agg)},
		Connections: genome.Connections{Number: graph.Int32s(numbers), From: graph.Int32s(from), To: graph.Int32s(to),
			Weight: graph.Float32s(weight), Enabled: graph.Of(enabled)},
	}
}

// activations are the activations in plain Go.
var activations = map[string]func(x float64) float64{
	"tanh": math.Tanh, "sin": math.Sin, "cos": math.Cos, "abs": math.Abs,
	"sigmoid":  func(x float64) float64 { return 1 / (1 + math.Exp(-x)) },
	"steep":    func(x float64) float64 { return 1 / (1 + math.Exp(-4.9*x)) },
	"relu":     func(x float64) float64 { return max(x, 0) },
	"identity": func(x float64) float64 { return x },
	"gauss":    func(x float64) float64 { return math.Exp(-x * x) },
	"square":   func(x float64) float64 { return x * x },
	"clamped":  func(x float64) float64 { return max(-1, min(x, 1)) },
	"hat":      func(x float64) float64 { return max(0, 1-math.Abs(x)) },
}

// join is an aggregation in plain Go.
func join(name string, terms []float64) float64 {
	if len(terms) == 0 {
		return map[string]float64{"product": 1}[name]
	}
	y := terms[0]
	for _, t := range terms[1:] {
		switch name {
		case "sum", "mean":
			y += t
		case "product":
			y *= t
		case "max":
			y = max(y, t)
		case "min":
			y = min(y, t)
		case "maxabs":
			if math.Abs(t) > math.Abs(y) {
				y = t
			}
		}
	}
	if name == "mean" {
		y /= float64(len(terms))
	}
	return y
}

// value is node i's value, given its sources' values.
func (p plain) value(i int, source func(int) float64) float64 {
	var terms []float64
	for k := range p.from {
		if p.enabled[k] && p.to[k] == i {
			terms = append(terms, p.weight[k]*source(p.from[k]))
		}
	}
	return activations[p.activation[i]](p.bias[i] + p.response[i]*join(p.aggregation[i], terms))
}

// feedForward computes each output from its sources.
func (p plain) feedForward(n *genome.Network, x []float64) (out []float64) {
	var of func(i int) float64
	of = func(i int) float64 {
		if i < n.Inputs {
			return x[i]
		}
		return p.value(i, of)
	}
	for i := range n.Outputs {
		out = append(out, of(n.Inputs+i))
	}
	return out
}

var every = genome.Network{Inputs: 3, Outputs: 2, Nodes: 12, Connections: 20, Activations: genome.ActivationNames(),
	Hidden: len(genome.ActivationNames()), Aggregations: genome.AggregationNames()}

// within checks that outputs are equal to 1e-6 of their size.
func within(t *testing.T, want, got []float64, what string) {
	t.Helper()
	for i := range want {
		require.InDelta(t, want[i], got[i], 1e-6*max(1, math.Abs(want[i])), what)
	}
}

// genomes returns random genomes, each leaf with the members in front, and their inputs.
func genomes(n *genome.Network, members int, seed uint64) (all []plain, stacked genome.Genome, inputs *graph.Array) {
	r := rand.New(rand.NewPCG(seed, 1))
	var leaves [][]*graph.Array
	var tree *graph.Tree
	for range members {
		p, g := drawn(n, r)
		all = append(all, p)
		var own []*graph.Array
		own, tree = graph.Flatten(g)
		leaves = append(leaves, own)
	}
	stack := make([]*graph.Array, len(leaves[0]))
	for k := range stack {
		var column []*graph.Array
		for _, own := range leaves {
			column = append(column, own[k])
		}
		stack[k] = graph.Stack(column, 0)
	}
	return all, tree.Unflatten(stack).(genome.Genome), random.Normal(random.New(int64(seed)),
		graph.ShapeOf(graph.Float32, members, 3))
}

// backends returns XLA, and what checks the cases that XLA has in the long form only.
func backends(t *testing.T) (compiled, other xlabridge.Backend) {
	compiled, other = xlatest.Open(t, 1), &xlabridge.Reference{}
	if long.On() {
		other = compiled
	}
	return compiled, other
}

// Networks compute what loops in plain Go do. The short form compiles those of all aggregations with batch last;
// TestGenomeNetworksOfNeatPython compiles the rest.
func TestGenomeNetworksEqualPlainGo(t *testing.T) {
	client, reference := backends(t)
	const members = 300
	onlySums := every
	onlySums.Aggregations = []string{"sum"}
	for _, c := range []struct {
		name string
		genome.Network
	}{{"sums", onlySums}, {"all aggregations", every}} {
		t.Run(c.name, func(t *testing.T) {
			n := c.Network
			all, g, x := genomes(&n, members, 7)
			for name, option := range map[string][]graph.VMapOption{"first": nil, "last": {graph.BatchLast()}} {
				b := reference
				if len(n.Aggregations) > 1 && name == "last" {
					b = client
				}
				run := xlabridge.Jit2(b, graph.VMap2(func(g genome.Genome, x *graph.Array) *graph.Array {
					return n.FeedForward(n.Prepare(g), x)
				}, option...))
				y, err := run(g, x)
				require.NoError(t, err)
				got, in := floats(t, y), floats(t, x)
				for i, p := range all {
					within(t, p.feedForward(&n, in[3*i:3*i+3]), got[2*i:2*i+2], name)
				}
			}
		})
	}
	t.Run("recurrent", func(t *testing.T) {
		n := every
		n.Recurrent = true
		all, g, x := genomes(&n, members, 8)
		const steps = 4
		run := xlabridge.Jit2(reference, graph.VMap2(func(g genome.Genome, x *graph.Array) *graph.Array {
			r := n.Prepare(g)
			end, _ := graph.Scan(func(v, _ *graph.Array) (*graph.Array, graph.None) {
				return n.Step(r, v, x), graph.None{}
			}, n.Start(r), graph.Iota(steps))
			return graph.SliceAxis(end, 0, 0, n.Outputs)
		}))
		y, err := run(g, x)
		require.NoError(t, err)
		got, in := floats(t, y), floats(t, x)
		for i, p := range all {
			values := make([]float64, p.nodes)
			for range steps {
				copy(values, in[3*i:3*i+3])
				next := make([]float64, p.nodes)
				for k := n.Inputs; k < p.nodes; k++ {
					next[k] = float64(float32(p.value(k, func(j int) float64 { return values[j] })))
				}
				values = next
			}
			if want := values[3:5]; math.Abs(want[0])+math.Abs(want[1]) < 1e4 { // squares of squares overflow
				within(t, want, got[2*i:2*i+2], "steps")
			}
		}
	})
}

// A value that overflows reaches the nodes that are connected with it, and no others, whatever the other lanes
// connect.
func TestGenomeOverflowStaysOnItsPath(t *testing.T) {
	n := genome.Network{Inputs: 1, Outputs: 2, Nodes: 5, Connections: 4, Activations: []string{"square"},
		Aggregations: []string{"sum"}}
	one := func(from, to []int32) genome.Genome {
		const room = 4
		g := n.First(random.New(0))
		g.Nodes.Number = graph.Iota(n.Nodes)
		place := graph.Iota(room)
		exists := place.Lt(len(from))
		pad := func(x []int32) *graph.Array { return graph.Int32s(append(x, make([]int32, room-len(x))...)) }
		g.Connections = genome.Connections{Number: graph.Select(exists, place, int32(genome.None)), From: pad(from),
			To: pad(to), Weight: graph.Full(graph.ShapeOf(graph.Float32, room), 1e30), Enabled: exists}
		return g
	}
	// The first overflows in nodes 3 and 1 and has nothing at output 2, which the second connects with node 3.
	genomes := []genome.Genome{one([]int32{0, 3}, []int32{3, 1}), one([]int32{3}, []int32{2})}
	stacked := graph.MapTree2(func(a, b *graph.Array) *graph.Array { return graph.Stack([]*graph.Array{a, b}, 0) },
		genomes[0], genomes[1])
	y := graph.VMap(func(g genome.Genome) *graph.Array {
		return n.FeedForward(n.Prepare(g), graph.Float32s([]float32{1}))
	})(stacked)
	require.Equal(t, []float64{math.Inf(1), 0, 0, 0}, floats(t, y))
}

// A network computes genomes with more room than its own, as Wider returns them, to the same bits. The long
// form compiles it.
func TestGenomeWider(t *testing.T) {
	_, b := backends(t)
	n := genome.Network{Inputs: 3, Outputs: 2, Nodes: 9, Connections: 20, Activations: genome.ActivationNames(),
		Aggregations: genome.AggregationNames()}
	wide := n
	wide.Nodes, wide.Connections = 40, 31
	r := rand.New(rand.NewPCG(21, 0))
	x := graph.Float32s([]float32{.3, -1, 2})
	outputs := func(g genome.Genome) *graph.Array { return n.FeedForward(n.Prepare(g), x) }
	small, large := xlabridge.Jit(b, outputs), xlabridge.Jit(b, outputs)
	for range 20 {
		_, g := drawn(&n, r)
		want, err := small(g)
		require.NoError(t, err)
		wider, err := graph.Eval(wide.Wider(g))
		require.NoError(t, err)
		nodes, connections := wider.Capacity()
		require.Equal(t, []int{40, 31}, []int{nodes, connections})
		got, err := large(wider)
		require.NoError(t, err)
		require.Equal(t, floats(t, want), floats(t, got))
		before, err := n.Document(g)
		require.NoError(t, err)
		after, err := n.Document(wider)
		require.NoError(t, err)
		require.Equal(t, before, after)
		reach, err := graph.Eval(wide.WiderReach(genome.FirstReach(g, n.Inputs)))
		require.NoError(t, err)
		require.Equal(t, []int{40, 2}, reach.Dims())
	}
}

// A NaN among a node's terms makes the node NaN, whatever its aggregation is and wherever the term stands.
func TestGenomeNaNStays(t *testing.T) {
	for _, aggregation := range genome.AggregationNames() {
		n := genome.Network{Inputs: 2, Outputs: 1, Nodes: 3, Connections: 2, Activations: []string{"identity"},
			Aggregations: []string{aggregation}}
		zero := []int32{0, 0, 0}
		g := genome.Genome{Nodes: genome.Nodes{Number: graph.Int32s([]int32{0, 1, 2}),
			Bias:     graph.Float32s([]float32{0, 0, 0}),
			Response: graph.Float32s([]float32{1, 1, 1}), Activation: graph.Int32s(zero),
			Aggregation: graph.Int32s(zero)},
			Connections: genome.Connections{Number: graph.Int32s([]int32{0, 1}), From: graph.Int32s([]int32{0, 1}),
				To:     graph.Int32s([]int32{2, 2}),
				Weight: graph.Float32s([]float32{1, 1}), Enabled: graph.Of([]bool{true, true})}}
		nan := float32(math.NaN())
		for _, x := range [][]float32{{nan, 2}, {2, nan}, {nan, nan}} {
			y, err := graph.Eval(n.FeedForward(n.Prepare(g), graph.Float32s(x)))
			require.NoError(t, err)
			require.True(t, math.IsNaN(floats(t, y)[0]), "%s of %v", aggregation, x)
			n := n
			n.Recurrent = true
			r := n.Prepare(g)
			v := n.Step(r, n.Start(r), graph.Float32s(x)) // the inputs
			y, err = graph.Eval(n.Step(r, v, graph.Float32s(x)))
			require.NoError(t, err)
			require.True(t, math.IsNaN(floats(t, y)[0]), "recurrent %s of %v", aggregation, x)
		}
	}
}
