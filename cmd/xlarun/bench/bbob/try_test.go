package bbob

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/rollout/evolve/strategy"
	"xlarun/xlabridge"
)

func TestTry(t *testing.T) {
	name := os.Getenv("TRY")
	if name == "" {
		t.Skip()
	}
	num := func(k string, d int) int {
		if v, err := strconv.Atoi(os.Getenv(k)); err == nil {
			return v
		}
		return d
	}
	c, err := xlabridge.Open(context.Background(), xlabridge.Options{})
	require.NoError(t, err)
	defer c.Close()
	s, err := strategy.Make(name, nil)
	require.NoError(t, err)
	run := Search{s, Functions(), num("D", 10), num("POP", 50), num("GENS", 300), num("SEEDS", 15)}
	start := time.Now()
	in, err := graph.Eval(run.NewInputs(1))
	require.NoError(t, err)
	fmt.Println("inputs", time.Since(start))
	start = time.Now()
	p, err := graph.Trace("bbob", run.Run, in)
	require.NoError(t, err)
	fmt.Println("trace", time.Since(start), len(p.Graph.Nodes))
	start = time.Now()
	x, err := c.Compile(p, xlabridge.CompileOptions{NoCache: true}.ForJit(c, p))
	require.NoError(t, err)
	fmt.Println("compile", time.Since(start))
	leaves, err := xlabridge.Put(c, 1, graph.Leaves(in))
	require.NoError(t, err)
	start = time.Now()
	out, err := x.Call(leaves)
	require.NoError(t, err)
	v, err := graph.Floats(out[0])
	fmt.Println("run", time.Since(start))
	for i, f := range run.Functions {
		fmt.Printf("%s %.3g\n", f.Name, v[i*run.Seeds:(i+1)*run.Seeds][:min(6, run.Seeds)])
	}
}
