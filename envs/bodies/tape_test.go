package bodies

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/scalars"
	"xlarun/third_party/oracles"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// Sizes of the one program that runs all tasks: states that are filled up, tapes that are.
const tapeWidth, tapeMembers, tapeWords, tapeNumbers = 96, 24, 1 << 19, 1 << 12

// bound is that of a task: where Pusher's arm touches, see TestStepsAreMuJoCos.
func bound(name string, of float64) float64 {
	if name == "Pusher" {
		return .05
	}
	return of
}

// Tapes of all tasks come to MuJoCo's velocities, in float64 to 1e-11, in float32 to 1e-5 in most states and to 3e-3
// where a contact begins within rounding of a stage; and what a member comes to does not depend on the others.
func TestTapesAreMuJoCos(t *testing.T) {
	client := xlatest.OpenCPU(t, 1)
	type args struct{ X, Code, Numbers *graph.Array }
	type results struct{ Single, Double *graph.Array }
	kernel := &graph.Kernel{Target: "xlarun_tape", Shared: 2}
	run := xlabridge.Jit(client, func(a args) results {
		call := func(x *graph.Array) *graph.Array {
			return graph.VMap(func(x *graph.Array) *graph.Array {
				return graph.WithKernel(kernel, func(in []*graph.Array) []*graph.Array { return in[:1] }, x, a.Code,
					a.Numbers)[0]
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
		var away []float64
		for n := range tapeMembers {
			want := v[member(n)+1]
			require.LessOrEqual(t, oracles.Apart(double[n][nq:nq+nv], want), bound(x.Name, 1e-11), "%s %d", x.Name, n)
			away = append(away, oracles.Apart(single[n][nq:nq+nv], want))
		}
		slices.Sort(away)
		require.LessOrEqual(t, away[tapeMembers/2], 1e-5, "%s in float32, median", x.Name)
		require.LessOrEqual(t, away[tapeMembers-1], bound(x.Name, 3e-3), "%s in float32, worst", x.Name)
		back := func(n int) int { return (7*n + 5) % tapeMembers }
		single2, double2 := both(back)
		for n := range tapeMembers {
			require.Equal(t, single[back(n)], single2[n])
			require.Equal(t, double[back(n)], double2[n])
		}
	}
}

// A step of arrays is one call of the kernel, and its parameters may differ from member to member.
func TestStepsOfMembersWithTheirMasses(t *testing.T) {
	client := xlatest.OpenCPU(t, 1)
	x := taskOf(t, "Hopper")
	type args struct{ Q, V, U, Mass *graph.Array }
	type results struct{ V, Force, Travel *graph.Array }
	run := xlabridge.Jit(client, func(a args) results {
		return graph.VMap(func(a args) results {
			d, f := x.Model.Step(Data{a.Q, a.V, graph.ZerosLike(a.V)}, a.U, Params{Mass: a.Mass},
				Options{Skip: x.Skip, Frames: Contacts})
			return results{d.V, f.Force, f.Travel}
		})(a)
	})
	const i = 60
	q, v, u := rows(x.Qpos)[i], rows(x.Qvel)[i], rows(x.Control)[i]
	scales := []float64{1, 1.5, 1}
	var a [4][]float64
	for _, scale := range scales {
		a[0], a[1], a[2] = append(a[0], q...), append(a[1], v...), append(a[2], u...)
		for _, b := range x.Model.Bodies {
			a[3] = append(a[3], scale*b.Mass)
		}
	}
	at := func(i int) *graph.Array { return graph.Float64s(a[i], len(scales), len(a[i])/len(scales)) }
	got, err := run(args{at(0), at(1), at(2), at(3)})
	require.NoError(t, err)
	for n, scale := range scales {
		m := *x.Model
		m.Bodies = slices.Clone(m.Bodies)
		for b := range m.Bodies {
			m.Bodies[b].Mass *= scale
		}
		s := m.dynamics(m.values(), 4)
		control := knowns(u)
		end, seen, travel := s.substeps(state{knowns(q), knowns(v), make([]num, len(v))}, control, x.Skip)
		for _, c := range []struct {
			got  *graph.Array
			want []num
		}{{got.V, end.v}, {got.Force, s.outputs(seen, control).force}, {got.Travel, travel}} {
			all, err := graph.Floats(c.got.Index(n))
			require.NoError(t, err)
			require.LessOrEqual(t, oracles.Apart(all, numbers(c.want)), 1e-10)
		}
	}
}
