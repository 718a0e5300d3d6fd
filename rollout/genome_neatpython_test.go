package rollout_test

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/rollout/policy/genome"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// pythonCase is a file of neat-python, and the outputs of its network: of each step, for the same inputs.
type pythonCase struct {
	File    string
	Inputs  []float64
	Outputs [][]float64
}

func pythonCases(t *testing.T) []pythonCase {
	t.Helper()
	f, err := os.Open("policy/genome/testdata/neat_python.json.gz")
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	var all struct{ Networks []pythonCase }
	require.NoError(t, json.NewDecoder(z).Decode(&all))
	return all.Networks
}

func TestGenomeNetworksOfNeatPython(t *testing.T) {
	client := xlatest.Open(t, 1)
	cases := pythonCases(t)
	require.Len(t, cases, 1000)
	for _, recurrent := range []bool{false, true} {
		name := "feed-forward"
		if recurrent {
			name = "recurrent"
		}
		t.Run(name, func(t *testing.T) {
			n := every
			n.Connections, n.Recurrent = 100, recurrent
			var leaves [][]*graph.Array
			var tree *graph.Tree
			var inputs []float32
			var own []pythonCase
			for i, c := range cases {
				d, err := genome.ReadDocument([]byte(c.File))
				require.NoError(t, err, "network %d", i)
				if d.Recurrent != recurrent {
					continue
				}
				g, err := n.Genome(d)
				require.NoError(t, err, "network %d", i)
				var flat []*graph.Array
				flat, tree = graph.Flatten(g)
				leaves, own = append(leaves, flat), append(own, c)
				for _, x := range c.Inputs {
					inputs = append(inputs, float32(x))
				}
			}
			require.Len(t, own, 500)
			steps := len(own[0].Outputs)
			stacked := make([]*graph.Array, len(leaves[0]))
			for k := range stacked {
				var column []*graph.Array
				for _, flat := range leaves {
					column = append(column, flat[k])
				}
				stacked[k] = graph.Stack(column, 0)
			}
			run := xlabridge.Jit2(client, graph.VMap2(func(g genome.Genome, x *graph.Array) *graph.Array {
				r := n.Prepare(g)
				if !recurrent {
					return n.FeedForward(r, x)
				}
				_, all := graph.Scan(func(v, _ *graph.Array) (*graph.Array, *graph.Array) {
					next := n.Step(r, v, x)
					return next, graph.SliceAxis(next, 0, 0, n.Outputs)
				}, n.Start(r), graph.Iota(steps))
				return graph.Flatten1D(all)
			}))
			y, err := run(tree.Unflatten(stacked).(genome.Genome), graph.Float32s(inputs, len(own), n.Inputs))
			require.NoError(t, err)
			got := floats(t, y)
			for i, c := range own {
				for s, want := range c.Outputs {
					at := (i*steps + s) * n.Outputs
					within(t, want, got[at:at+n.Outputs], c.File)
				}
			}
		})
	}
}

func TestGenomeFilesOfNeatPythonThatCannotBeRead(t *testing.T) {
	const start = `{"format_version":"1.0","network_type":"feedforward","topology":{"input_keys":[-1],` +
		`"output_keys":[0]},"connections":[{"from":-1,"to":0,"weight":1,"enabled":true}],"nodes":[{"id":0,`
	for _, c := range []struct{ name, text, want string }{
		{"type", `{"format_version":"1.0","network_type":"iznn"}`, "feedforward or recurrent"},
		{"version", `{"format_version":"2.0","network_type":"recurrent"}`, `format "2.0"`},
		{"activation", start + `"activation":{"name":"softplus"},"aggregation":{"name":"sum"}}]}`, "softplus"},
		{"own function", start + `"activation":{"name":"sin","custom":true},"aggregation":{"name":"sum"}}]}`,
			"genomes do not have"},
		{"aggregation", start + `"activation":{"name":"sin"},"aggregation":{"name":"median"}}]}`, "median"},
		{"no numbers", start + `"bias":"much"}]}`,
			"not a network of neat-python in JSON: line 1: nodes.bias is of the type string, want a number"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := genome.ReadDocument([]byte(c.text))
			require.ErrorContains(t, err, c.want)
		})
	}
}
