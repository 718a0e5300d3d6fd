package bench

import (
	"context"
	"fmt"
	"time"

	"xlarun/cmd/xlarun-bench/bench/gradbench"
	"xlarun/cmd/xlarun-bench/bench/numbers"
	"xlarun/graph"
	"xlarun/graph/precision"
	"xlarun/rollout/ppo"
	"xlarun/xlabridge"
)

// halfWorkloads are products, gradients and updates in bfloat16, each beside the same in float32. With
// XLARUN_KERNELS=-bf16 they are what the compiler makes of bfloat16 alone.
func halfWorkloads(Options) (all []Workload) {
	beside := func(name, what, unit string, work float64, open func(d graph.DType) openRunner) {
		all = append(all,
			Workload{Name: name + "-bf16", What: what + ", bfloat16", Work: work, Unit: unit,
				Open:  open(graph.BFloat16),
				Peers: []Peer{{Name: "float32", Workload: name + "-f32", Other: true, Needed: 1, Aim: 1.5}}},
			explicit(Workload{Name: name + "-f32", What: what + ", float32", Work: work, Unit: unit,
				Open: open(graph.Float32)}))
	}
	for _, n := range []int{512, 1024, 2048} {
		beside(fmt.Sprintf("dot-%d", n), fmt.Sprintf("the product of two matrices of %d x %d", n, n), "GFLOP",
			2*float64(n)*float64(n)*float64(n)/1e9, func(d graph.DType) openRunner {
				return halfProgram(func(in []any) any {
					return graph.Dot(in[0].(*graph.Array), in[1].(*graph.Array))
				}, func() []any {
					return []any{numbers.Uniform(1, 1, n, n).Convert(d), numbers.Uniform(2, 1, n, n).Convert(d)}
				})
			})
	}
	for _, g := range gradbench.All() {
		if g.Name != "mlp" && g.Name != "cnn" {
			continue
		}
		beside(g.Name, g.What, "", 0, func(d graph.DType) openRunner {
			return halfProgram(func(in []any) any {
				return precision.Cast(graph.Float32, g.Apply(precision.Cast(d, in)))
			}, g.Args)
		})
	}
	for _, d := range []string{"bf16", "f32"} {
		w := ppoWorkload("ppo-gather-"+d, "Gather-v1, CNN with VALID padding, 64 x 128, "+d,
			func(c *ppo.Config) {
				c.Env, c.Shared, c.Policy, c.Envs, c.Horizon = "Gather-v1", true, "cnn:16,32", 64, 128
				c.Parted = c.Parted.With("policy.hidden", 128)
				c.Precision = d
			}, 0, 0, "", "")
		w.Peers = nil
		if d == "bf16" {
			w.Peers = []Peer{{Name: "float32", Workload: "ppo-gather-f32", Other: true, Needed: 1, Aim: 1.2}}
		} else {
			w.Explicit = true
		}
		all = append(all, w)
	}
	return all
}

// halfProgram compiles a function for a program that runs alone.
func halfProgram(f func([]any) any, args func() []any) openRunner {
	return func(_ context.Context, _ *host, b xlabridge.Backend, _ Options) (Runner, error) {
		in, start := args(), time.Now()
		p, err := graph.TraceArgs("half", in, graph.TraceOptions{}, f)
		if err != nil {
			return nil, err
		}
		return compileProgram(b, xlabridge.CompileOptions{AllCores: true}, start, p, in)
	}
}
