package bench

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/bench/genericbench"
	"xlarun/cmd/xlarun/console"
)

func TestJAXLines(t *testing.T) {
	f := func(run, compile float64, peak int64) genericbench.Figures {
		return genericbench.Figures{Name: "lorenz", Run: run, Compile: compile, Peak: peak}
	}
	l := newJAXLine([]genericbench.Figures{f(1, 10, 100), f(4, 10, 100), f(2, 10, 100)}, []genericbench.Figures{f(2, 5, 200), f(4, 5, 200), f(6, 5, 200)})
	require.EqualValues(t, 2, l.Ours.Run)
	require.EqualValues(t, 2, l.RunRatio, "the median of 2, 1 and 3")
	require.EqualValues(t, .5, l.CompileRatio)
	require.EqualValues(t, 2, l.PeakRatio)
	slow := newJAXLine([]genericbench.Figures{f(2, 5, 100)}, []genericbench.Figures{f(1, 10, 200)})
	alone := newJAXLine([]genericbench.Figures{f(2, 5, 100)}, nil)
	s := jaxSummary([]jaxLine{l, slow, alone})
	require.InDelta(t, 1, s.Run, 1e-12, "the geometric mean of 2 and 1/2")
	require.Equal(t, []string{"lorenz"}, s.Slower)
	require.Zero(t, jaxSummary([]jaxLine{alone}).Run)
}

func TestBenchJAXRefuses(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"lorens"}, `there is no program "lorens", did you mean lorenz?`},
		{[]string{"--repeats", "0"}, "--repeats got 0, wants 1 or more"},
	} {
		b := newBed(t)
		require.Equal(t, console.StatusUsage, b.do(append([]string{"jax"}, c.args...)...))
		require.Contains(t, b.err.String(), "xlarun bench jax: "+c.want)
		require.Zero(t, b.opened)
	}
}

// One process as bench jax measures it, on the CPU plugin.
func TestJAXOneOnTheRealThing(t *testing.T) {
	var out, errs bytes.Buffer
	s := console.Streams{Out: &out, Err: &errs, Env: os.Getenv}
	require.Equal(t, console.StatusOK, do(s, Command(s, console.OpenBackend), "jax", "--one", "gae"), "%s", &errs)
	var f genericbench.Figures
	require.NoError(t, json.Unmarshal(out.Bytes(), &f))
	require.Equal(t, "gae", f.Name)
	require.Positive(t, f.Run)
	require.Len(t, f.Sums, 2)
}
