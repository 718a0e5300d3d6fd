package bench

import (
	"context"
	"fmt"
	"time"

	"xlarun/cmd/xlarun-bench/bench/gradbench"
	"xlarun/cmd/xlarun-bench/bench/numbers"
	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/precision"
	"xlarun/graph/random"
	"xlarun/rollout/ppo"
	"xlarun/rollout/selfplay"
	"xlarun/xlabridge"
)

// halfWorkloads are products, gradients and updates in bfloat16, and products and inference in bytes, each beside the
// same in float32. With XLARUN_KERNELS=-bf16,-int8 they are what the compiler makes of them alone.
func halfWorkloads(Options) (all []Workload) {
	beside := func(dtypes []graph.DType, name, what, unit string, work float64, open func(d graph.DType) openRunner) {
		for _, d := range dtypes {
			all = append(all, besideFloat32(Workload{Name: name + "-" + halfNames[d], What: what + ", " + halfNames[d],
				Work: work, Unit: unit, Open: open(d)}, name, d))
		}
	}
	half := []graph.DType{graph.BFloat16, graph.Float32}
	bytes := []graph.DType{graph.BFloat16, graph.Int8, graph.Float32}
	for _, n := range []int{512, 1024, 2048} {
		beside(bytes, fmt.Sprintf("dot-%d", n), fmt.Sprintf("the product of two matrices of %d x %d", n, n), "GFLOP",
			2*float64(n)*float64(n)*float64(n)/1e9, func(d graph.DType) openRunner { return squareProduct(n, d) })
	}
	for _, g := range gradbench.All() {
		if g.Name != "mlp" && g.Name != "cnn" {
			continue
		}
		beside(half, g.Name, g.What, "", 0, func(d graph.DType) openRunner {
			return halfProgram(func(in []any) any {
				return precision.Cast(graph.Float32, g.Apply(precision.Cast(d, in)))
			}, g.Args)
		})
	}
	beside(bytes, "inference", "784-512-512-10 applied to 256 rows, weights prepared", "", 0, inferenceOf)
	beside(half, "members", "a step of 1,024 members 4-256-256-2, each with weights of its own", "", 0, membersOf)
	for _, size := range []struct{ members, units int }{{256, 1000}, {16, 9990}} {
		what := fmt.Sprintf("a matrix of %d x %d with a perturbation of rank 1 for each of %d members", size.units,
			size.units, size.members)
		beside(half, fmt.Sprintf("low-rank-%d", size.members), what, "", 0,
			func(d graph.DType) openRunner { return lowRankOf(d, size.members, size.units) })
	}
	for _, padding := range []string{"valid", "same"} {
		for _, d := range half {
			name := map[string]string{"valid": "ppo-gather", "same": "ppo-gather-same"}[padding]
			w := ppoWorkload(name+"-"+halfNames[d], "Gather-v1, CNN with "+padding+" padding, 64 x 128, "+halfNames[d],
				func(c *ppo.Config) {
					c.Env, c.Shared, c.Policy, c.Envs, c.Horizon = "Gather-v1", true, "cnn:16,32", 64, 128
					c.Parted = c.Parted.With("policy.hidden", 128).With("policy.padding", padding)
					c.Precision = halfNames[d]
				}, "", "")
			all = append(all, besideFloat32(w, name, d))
		}
	}
	for _, units := range []int{256, 512} {
		for _, d := range half {
			name, policy := fmt.Sprintf("ppo-mlp-%d", units), fmt.Sprintf("mlp:%d,%d", units, units)
			w := ppoWorkload(name+"-"+halfNames[d], fmt.Sprintf("CartPole-v1, %s, 64 x 128, %s", policy, halfNames[d]),
				func(c *ppo.Config) { c.Policy, c.Envs, c.Precision = policy, 64, halfNames[d] }, "", "")
			all = append(all, besideFloat32(w, name, d))
		}
	}
	for _, n := range []int{6, 14} {
		for _, d := range half {
			name, k, network := fmt.Sprintf("selfplay-%d", n), map[int]int{6: 3, 14: 4}[n], "mlp:128,128"
			if n == 14 {
				network = "graph:32"
			}
			w := selfplayWorkload(name+"-"+halfNames[d], fmt.Sprintf("a training step, batch 256, %s, n = %d, %s",
				network, n, halfNames[d]), n, k, "gumbel", 32, selfplay.PhaseTraining, func(c *selfplay.Config) {
				c.Network, c.NumSimulations, c.TrainingBatchSize, c.Precision = network, 2, 256, halfNames[d]
			}, "")
			all = append(all, besideFloat32(w, name, d))
		}
	}
	return all
}

// halfNames are the names of workloads by dtype.
var halfNames = map[graph.DType]string{graph.BFloat16: "bf16", graph.Int8: "int8", graph.Float32: "f32"}

// besideFloat32 compares a workload with the one in float32, which runs by itself only if it is named.
func besideFloat32(w Workload, name string, d graph.DType) Workload {
	if d == graph.Float32 {
		w.Peers = nil
		return explicit(w)
	}
	w.Peers = []Peer{{Name: "float32", Workload: name + "-f32", Other: true}}
	return w
}

// squareProduct is a product of n x n numbers of a dtype. That of bytes is int32.
func squareProduct(n int, d graph.DType) openRunner {
	return halfProgram(func(in []any) any {
		x, y := in[0].(*graph.Array), in[1].(*graph.Array)
		if d == graph.Int8 {
			return graph.DotGeneral(x, y, nil, nil, []int{1}, []int{0}, graph.PreferredDType(graph.Int32))
		}
		return graph.Dot(x, y)
	}, func() []any {
		scale := 1.
		if d == graph.Int8 {
			scale = 127
		}
		return []any{numbers.Uniform(1, scale, n, n).Convert(d), numbers.Uniform(2, scale, n, n).Convert(d)}
	})
}

// inferenceOf is a network's results in a dtype, from inputs in float32 and weights that were converted before.
func inferenceOf(d graph.DType) openRunner {
	return halfProgram(func(in []any) any {
		x := in[0].(*graph.Array)
		if d == graph.BFloat16 {
			x = x.Convert(d)
		}
		return in[1].(nn.Layer).Apply(x).Convert(graph.Float32)
	}, func() []any {
		m := nn.NewMLP(random.New(1), []int{784, 512, 512, 10}, nn.Hidden("relu"))
		x := numbers.Uniform(3, 1, 256, 784)
		if d == graph.Int8 {
			return []any{x, m.Quantize()}
		}
		return []any{x, precision.Cast(d, m)}
	})
}

// membersOf is a step of members with weights of their own, in a dtype, as evolve computes it in float32.
func membersOf(d graph.DType) openRunner {
	const members = 1024
	return halfProgram(func(in []any) any {
		step := func(m nn.MLP, x *graph.Array) *graph.Array { return m.Apply(x) }
		return graph.VMap2(step)(in[0].(nn.MLP), in[1].(*graph.Array).Convert(d)).Convert(graph.Float32)
	}, func() []any {
		m := graph.VMap(func(key random.Key) nn.MLP {
			return nn.NewMLP(key, []int{4, 256, 256, 2}, nn.Hidden("tanh"))
		})(random.Split(random.New(1), members))
		return []any{precision.Cast(d, m), numbers.Uniform(3, 1, members, 4)}
	})
}

// lowRankOf is what members with perturbations of rank 1 do with one matrix, x·M + (x·a)·b, as the strategy eggroll has
// it in float32. The matrix has the dtype d, the perturbations are added in float32.
func lowRankOf(d graph.DType, members, units int) openRunner {
	return halfProgram(func(in []any) any {
		m, all := in[0].(*graph.Array), in[1].([3]*graph.Array)
		return graph.VMap(func(one [3]*graph.Array) *graph.Array {
			x, a, b := one[0], one[1], one[2]
			y := graph.DotGeneral(x.Convert(d), m, nil, nil, []int{0}, []int{0}, graph.PreferredDType(graph.Float32))
			return y.Add(graph.Dot(x, a).Mul(b))
		})(all)
	}, func() []any {
		return []any{numbers.Uniform(1, 1, units, units).Convert(d), [3]*graph.Array{
			numbers.Uniform(2, 1, members, units), numbers.Uniform(3, 1, members, units),
			numbers.Uniform(4, 1, members, units)}}
	})
}

// halfProgram compiles a function for a program that runs alone.
func halfProgram(f func([]any) any, args func() []any) openRunner {
	return func(_ context.Context, _ *host, b xlabridge.Backend, _ Options) (*Runner, error) {
		in, start := args(), time.Now()
		p, err := graph.TraceArgs("half", in, graph.TraceOptions{}, f)
		if err != nil {
			return nil, err
		}
		return compileProgram(b, xlabridge.CompileOptions{AllCores: true}, start, p, in, nil)
	}
}
