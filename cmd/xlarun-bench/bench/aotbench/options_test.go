package aotbench

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun-bench/bench/genericbench"
	"xlarun/graph"
	"xlarun/graph/lower"
	"xlarun/graph/stablehlo"
	"xlarun/rollout/run"
	"xlarun/rollout/sparse"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

var update = flag.Bool("update", false, "write what programs are compiled with instead of comparing it")

const optionsFile = "testdata/options.txt"

// recorder interprets programs as if it were a CPU of one device, and notes what an XLA client would compile them with.
type recorder struct {
	xlabridge.Reference
	t      *testing.T
	client *xlabridge.Client
	kind   string
	lines  map[string]string
}

func (r *recorder) Backend() string { return "cpu" }

func (r *recorder) Compile(p *graph.Program, o xlabridge.CompileOptions) (*xlabridge.Compiled, error) {
	r.note(r.kind+" "+p.Name, p, o)
	return r.Reference.Compile(p, o)
}

func (r *recorder) note(name string, p *graph.Program, o xlabridge.CompileOptions) {
	if _, ok := r.lines[name]; !ok {
		l, err := lower.Lower(p, r.client.Target())
		require.NoError(r.t, err, name)
		require.Empty(r.t, lower.Repeated(l.Graph), name)
		r.exports(name, p)
		r.lines[name] = xlatest.CompiledWith(r.t, r.client, p, o)
	}
}

// exports holds that what lower.Export writes of a program is read again as a function of its arguments.
func (r *recorder) exports(name string, p *graph.Program) {
	var text strings.Builder
	require.NoError(r.t, lower.Export(&text, p), name)
	f, err := stablehlo.Parse(name, text.String())
	require.NoError(r.t, err, name)
	var in []*graph.Array
	for _, s := range f.Inputs() {
		in = append(in, graph.Abstract(s))
	}
	require.Len(r.t, in, len(p.Inputs)-len(p.Captured), name)
	again, err := graph.Trace(name, func(in []*graph.Array) []*graph.Array { return f.Call(in...) }, in)
	require.NoError(r.t, err, name)
	require.Equal(r.t, fmt.Sprint(p.Outputs), fmt.Sprint(again.Outputs), name)
}

// The target, the compiler's options and the key in the cache of programs stay what they are: another key makes all
// programs of users compile anew, and other options give other last digits. The programs are those of bench generic,
// and those that each kind of run starts with. After a change that is meant, write them anew with -update.
func TestWhatProgramsAreCompiledWith(t *testing.T) {
	r := &recorder{t: t, client: xlatest.OpenCPU(t, 1), lines: map[string]string{}}
	for _, p := range genericbench.All() {
		traced, err := graph.Trace(p.Name, p.Apply, p.In())
		require.NoError(t, err, p.Name)
		r.note("generic "+p.Name, traced, xlabridge.CompileOptions{}.ForJit(r.client))
	}
	rows := append(small(), Row{Kind: "sparse",
		Settings: map[string]string{"method": "masked", "dtype": "f32", "pop": "8", "batch": "4"}})
	for _, k := range run.Kinds() {
		i := slices.IndexFunc(rows, func(x Row) bool { return x.Kind == k.Name })
		require.GreaterOrEqual(t, i, 0, k.Name)
		r.kind = k.Name
		e := k.New()
		require.NoError(t, rows[i].set(e))
		if s, ok := e.(*sparse.Experiment); ok {
			few := sparse.Images{Pixels: 16, Data: make([]byte, 40*16), Labels: make([]byte, 40)}
			few.Labels[1] = 1
			s.Data = sparse.Data{Train: few, Test: few}
		}
		x, err := e.Job().Start(t.Context(), r)
		require.NoError(t, err, k.Name)
		require.NoError(t, x.Close())
	}
	var lines []string
	for name, line := range r.lines {
		lines = append(lines, name+"\t"+line+"\n")
	}
	slices.Sort(lines)
	if *update {
		require.NoError(t, os.WriteFile(optionsFile, []byte(strings.Join(lines, "")), 0o644))
		return
	}
	want, err := os.ReadFile(optionsFile)
	require.NoError(t, err)
	had := slices.Collect(strings.Lines(string(want)))
	changed := func(lines, of []string) []string {
		return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return slices.Contains(of, line) })
	}
	require.Empty(t, changed(lines, had), "these are new: run the test with -update, and say why in the commit")
	require.Empty(t, changed(had, lines), "these are gone: run the test with -update, and say why in the commit")
}
