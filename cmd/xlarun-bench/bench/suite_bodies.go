package bench

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"xlarun/envs/bodies"
	"xlarun/envs/mujoco"
	"xlarun/graph"
	"xlarun/xlabridge"
)

// bodiesSteps are the steps of a run, each of some substeps. Members start at rest in the model's first position, and
// what contacts there are comes of their controls.
const bodiesSteps = 100

// bodiesPeers is the most members that MuJoCo runs for one of a workload: it computes them one by one, so that the time
// of the others follows.
const bodiesPeers = 32

// bodiesWorkloads are steps of Gymnasium's MuJoCo tasks without what is observed and rewarded.
func bodiesWorkloads(Options) (all []Workload) {
	for _, t := range []mujoco.Task{mujoco.HalfCheetah, mujoco.Hopper, mujoco.Walker2d, mujoco.Ant, mujoco.Humanoid,
		mujoco.Swimmer, mujoco.Reacher, mujoco.Pusher, mujoco.InvertedPendulum, mujoco.InvertedDoublePendulum} {
		name := strings.TrimSuffix(t.ID, "-v5")
		for _, members := range []int{256, 4096, 1, 8, 64} {
			w := Workload{Name: fmt.Sprintf("%s-%d", strings.ToLower(name), members), Unit: "substeps",
				What: fmt.Sprintf("%d steps of %d substeps of %d members of %s", bodiesSteps,
					t.FrameSkip, members, name),
				Work: float64(bodiesSteps * t.FrameSkip * members), Open: bodiesOf(t, members),
				Peers: []Peer{{Name: "MuJoCo", Script: "mujoco_steps.py", Other: true,
					Args: []string{name, strconv.Itoa(members), strconv.Itoa(bodiesSteps),
						strconv.Itoa(bodiesPeers)}}}}
			if members < 256 && name != "HalfCheetah" && name != "Hopper" && name != "Ant" {
				w = explicit(w)
			}
			all = append(all, w)
		}
	}
	// Their compilation takes minutes.
	jax := explicit(all[0])
	jax.Name, jax.Peers = "halfcheetah-jax", nil
	for _, p := range [][3]string{{"brax-spring", "brax", "spring"}, {"brax-generalized", "brax", "generalized"},
		{"mujoco-mjx", "mujoco-mjx", "mjx"}} {
		jax.Peers = append(jax.Peers, Peer{Name: p[0], Package: p[1], JAX: true, Script: "brax_steps.py", Other: true,
			Args: []string{p[2], "256", strconv.Itoa(bodiesSteps), strconv.Itoa(bodiesSteps / 10)}})
	}
	return append(all, jax)
}

// bodiesOf runs a task's members side by side, by controls that are sines of the step, the member and the actuator.
func bodiesOf(t mujoco.Task, members int) openRunner {
	return func(_ context.Context, _ *host, b xlabridge.Backend, _ Options) (*Runner, error) {
		start := time.Now()
		m := t.Model()
		position := m.Rest()
		_, nv, nu := m.Sizes()
		in := []any{graph.Arange(0, members, 1).Convert(graph.Float32),
			graph.Float64s(position, len(position)).Convert(graph.Float32)}
		p, err := graph.TraceArgs("bodies", in, graph.TraceOptions{}, func(in []any) any {
			member, first := in[0].(*graph.Array), in[1].(*graph.Array)
			still := graph.Zeros(graph.ShapeOf(graph.Float32, nv))
			run := graph.VMap(func(member *graph.Array) *graph.Array {
				phases := graph.Add(graph.Mul(graph.Arange(0, nu, 1).Convert(graph.Float32), 2.4),
					graph.Mul(member, .37))
				end, _ := graph.Scan(func(d bodies.Data, step *graph.Array) (bodies.Data, graph.None) {
					d, _ = m.Step(d, graph.Sin(graph.Add(phases, graph.Mul(step, .3))), bodies.Params{},
						bodies.Options{Skip: t.FrameSkip})
					return d, graph.None{}
				}, bodies.Data{Q: first, V: still, Warm: still}, graph.Arange(0, bodiesSteps, 1).Convert(graph.Float32))
				return graph.Mean(end.V)
			})
			return graph.Mean(run(member))
		})
		if err != nil {
			return nil, err
		}
		return compileProgram(b, xlabridge.CompileOptions{}, start, p, in, nil)
	}
}
