package bbob

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/rollout/evolve/strategy"
	"xlarun/xlabridge"
)

func TestEach(t *testing.T) {
	name := os.Getenv("EACH")
	if name == "" {
		t.Skip()
	}
	c, err := xlabridge.Open(context.Background(), xlabridge.Options{Devices: 1})
	require.NoError(t, err)
	defer c.Close()
	s, err := strategy.Make(name, nil)
	require.NoError(t, err)
	for i := range Functions() {
		run := Search{s, Functions()[i : i+1], 10, 50, 300, 15}
		in, err := graph.Eval(run.NewInputs(1))
		require.NoError(t, err)
		p, err := graph.Trace("bbob", run.Run, in)
		require.NoError(t, err)
		start := time.Now()
		x, err := c.Compile(p, xlabridge.CompileOptions{NoCache: true}.ForJit(c, p))
		require.NoError(t, err)
		compile := time.Since(start)
		leaves, err := xlabridge.Put(c, 1, graph.Leaves(in))
		require.NoError(t, err)
		start = time.Now()
		_, err = x.Call(leaves)
		require.NoError(t, err)
		fmt.Println(run.Functions[0].Name, "compile", compile, "run", time.Since(start))
	}
}
