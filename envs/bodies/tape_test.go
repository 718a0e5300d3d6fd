package bodies

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/scalars"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// Sizes of the one program that runs all tasks: states that are filled up, tapes that are.
const tapeWidth, tapeMembers, tapeWords, tapeNumbers = 96, 24, 1 << 19, 1 << 12

// Tapes of all tasks come to MuJoCo's velocities, in float64 to 1e-11 and in float32 to the bounds here; and what a member
// comes to does not depend on the others.
func TestTapesAreMuJoCos(t *testing.T) {
	client := xlatest.OpenCPU(t, 1)
	type args struct{ X, Code, Numbers *graph.Array }
	type results struct{ Single, Double *graph.Array }
	kernel := &graph.Kernel{Target: "xlarun_tape", Shared: 2}
	run := xlabridge.Jit(client, func(a args) results {
		call := func(x *graph.Array) *graph.Array {
			return graph.VMap(func(x *graph.Array) *graph.Array {
				return graph.WithKernel(kernel, func(in []*graph.Array) []*graph.Array { return in[:1] }, x, a.Code, a.Numbers)[0]
			})(x)
		}
		return results{call(graph.Convert(a.X, graph.Float32)), call(a.X)}
	})
	for _, x := range tasks(t, 4) {
		nq, nv, nu := x.Model.Sizes()
		program := scalars.Record([]int{tapeWidth}, func(in [][]num) [][]num {
			at := state{in[0][:nq], in[0][nq : nq+nv], make([]num, nv)}
			out := x.Model.record(at, in[0][nq+nv:nq+nv+nu], make([][]num, 16), Options{Skip: x.Skip})
			return [][]num{append(append(append([]num(nil), out[0]...), out[1]...), make([]num, tapeWidth-nq-nv)...)}
		})
		tape := program.Tape()
		t.Log(x.Name, len(tape.Code), "words", len(tape.Numbers), "numbers")
		code, known := make([]int32, tapeWords), make([]float64, tapeNumbers)
		require.LessOrEqual(t, len(tape.Code), tapeWords)
		require.LessOrEqual(t, len(tape.Numbers), tapeNumbers)
		copy(code, tape.Code)
		copy(known, tape.Numbers)
		q, v, u := rows(x.Qpos), rows(x.Qvel), rows(x.Control)
		starts := x.Start.Floats()
		member := func(n int) int { return int(starts[n*(len(starts)-1)/(tapeMembers-1)]) }
		both := func(order func(n int) int) (single, double [][]float64) {
			flat := make([]float64, tapeMembers*tapeWidth)
			for n := range tapeMembers {
				i := member(order(n))
				copy(flat[n*tapeWidth:], append(append(append([]float64(nil), q[i]...), v[i]...), u[i]...))
			}
			out, err := run(args{graph.Float64s(flat, tapeMembers, tapeWidth), graph.Of(code),
				graph.Float64s(known, len(known))})
			require.NoError(t, err)
			split := func(a *graph.Array) (out [][]float64) {
				all, err := graph.Floats(a)
				require.NoError(t, err)
				for ; len(all) > 0; all = all[tapeWidth:] {
					out = append(out, all[:tapeWidth])
				}
				return out
			}
			return split(out.Single), split(out.Double)
		}
		single, double := both(func(n int) int { return n })
		for n := range tapeMembers {
			i := member(n)
			t.Log(x.Name, i, apart(double[n][nq:nq+nv], v[i+1]), apart(single[n][nq:nq+nv], v[i+1]))
		}
		back := func(n int) int { return (7*n + 5) % tapeMembers }
		single2, double2 := both(back)
		for n := range tapeMembers {
			require.Equal(t, single[back(n)], single2[n])
			require.Equal(t, double[back(n)], double2[n])
		}
	}
}
