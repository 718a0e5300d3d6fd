package core

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/lower"
)

// loss of one member, and the same of package graph.
func loss(w *Array) *Array { return Sum(Sin(Mul(Constant(1, 2, 3), Broadcast(w, 3)))) }

func graphLoss(w *graph.Array) *graph.Array {
	return graph.Sum(graph.Sin(graph.Mul(graph.Float32s([]float32{1, 2, 3}), w)))
}

// The gradients of a population equal those of package graph to the bit, and so does the program, but for the order of
// its lines and for nodes that package graph merges.
func TestEqualsPackageGraph(t *testing.T) {
	members := []float32{.5, -1, 2}
	g := Trace(VMap(Grad(loss)), Shape{3})
	p, err := graph.Trace("grads", graph.VMap(graph.Grad(graphLoss)), graph.Float32s(members))
	require.NoError(t, err)
	out, err := p.Interpret([]*graph.Array{graph.Float32s(members)}, nil)
	require.NoError(t, err)
	want, err := graph.Floats(out[0])
	require.NoError(t, err)
	for i, x := range g.Run(members) {
		require.Equal(t, float32(want[i]), x)
	}
	lowered, err := lower.Lower(p, graph.Target{})
	require.NoError(t, err)
	require.Equal(t, expression(t, lowered.StableHLO), expression(t, emitModule("grads", g)))
}

var (
	line   = regexp.MustCompile(`(%\d+) = "stablehlo\.(\w+)"\(([^)]*)\)(.*)`)
	result = regexp.MustCompile(`"func\.return"\((%\d+)\)`)
)

// expression writes the result of a module as one expression: each value by the op that makes it.
func expression(t *testing.T, module string) string {
	region := regexp.MustCompile(`(?s) \(\{.*?\}\)`)
	module = strings.NewReplacer("-> (", "-> ", ">)\n", ">\n").Replace(region.ReplaceAllString(module, " by adding"))
	value := map[string]string{"%arg0": "w"}
	for _, m := range line.FindAllStringSubmatch(module, -1) {
		inputs := strings.Split(m[3], ", ")
		for i, name := range inputs {
			inputs[i] = value[name]
		}
		value[m[1]] = m[2] + "(" + strings.Join(inputs, ", ") + ")" + m[4]
	}
	found := result.FindStringSubmatch(module)
	require.NotNil(t, found, module)
	require.NotEmpty(t, value[found[1]])
	return value[found[1]]
}

// The page quotes this package and what it prints.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/explanation/core.md")
	require.NoError(t, err)
	var source string
	for _, name := range []string{"core.go", "emit.go"} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.LessOrEqual(t, strings.Count(string(text), "\n"), 400, name)
		source += string(text)
	}
	quotes := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	require.Greater(t, len(quotes), 5)
	for _, q := range quotes[1:] { // the first one is the loss
		require.Contains(t, source, q[1])
	}
	text := emitModule("core", Trace(loss, Shape{}))
	text = text[strings.Index(text, "    %1"):strings.Index(text, "  }\n}\n")]
	printed := regexp.MustCompile("(?s)```text\n(.*?)```").FindStringSubmatch(string(page))[1]
	require.Equal(t, regexp.MustCompile(`(?m)^ {4}`).ReplaceAllString(text, ""), printed)
}

// A function that returns a value of the enclosing one gets it as a parameter.
func TestResultOfAnEnclosingFunction(t *testing.T) {
	g := Trace(func(x *Array) *Array { return VMap(func(*Array) *Array { return Sum(x) })(x) }, Shape{2})
	require.Equal(t, []float32{5, 5}, g.Run([]float32{2, 3}))
}
