package bench

import (
	"context"
	"fmt"
	"time"

	"xlarun/cmd/xlarun-bench/bench/genericbench"
	"xlarun/cmd/xlarun-bench/bench/gradbench"
	"xlarun/cmd/xlarun-bench/bench/neurobench"
	"xlarun/cmd/xlarun-bench/bench/spikingbench"
	"xlarun/graph"
	"xlarun/xlabridge"
)

// gradWorkloads are value and gradient of networks: the time of a call, and from the start of a process to its result.
func gradWorkloads(Options) (all []Workload) {
	for _, g := range gradbench.All() {
		w := Workload{Name: g.Name, What: g.What, Same: 1e-3, Flops: g.Flops,
			Peers: []Peer{{Name: "jax", Script: "jax_grad.py", Args: []string{g.Name}}},
			Open: func(_ context.Context, _ *host, b xlabridge.Backend, _ Options) (*Runner, error) {
				args, start := g.Args(), time.Now()
				p, err := graph.TraceArgs(g.Name, args, graph.TraceOptions{}, g.Apply)
				if err != nil {
					return nil, err
				}
				return compileProgram(b, xlabridge.CompileOptions{AllCores: true}, start, p, args, gradbench.Checks)
			}}
		start := w
		start.Name, start.What, start.Start, start.Flops = g.Name+"-start-warm", "from the start of a process to "+
			"the first of: "+g.What+"; its programs are cached", warmStart, 0
		all = append(all, w, start)
	}
	return all
}

// compileProgram compiles a program whose tracing began at start, and puts its arguments on the device. measured
// returns the numbers of its results that peers must agree with; nil: there are none.
func compileProgram(b xlabridge.Backend, o xlabridge.CompileOptions, start time.Time, p *graph.Program, args any,
	measured func(out []*graph.Array) ([]float64, error)) (*Runner, error) {
	x, err := b.Compile(p, o)
	if err != nil {
		return nil, err
	}
	seconds := time.Since(start).Seconds()
	put, err := xlabridge.Put(b, 1, args)
	if err != nil {
		_ = x.Close()
		return nil, err
	}
	r := neurobench.Calls(x, graph.Leaves(put), nil)
	r.Compile = &seconds
	if measured != nil {
		r.Checks = func() ([]float64, error) {
			out, err := x.Call(graph.Leaves(put))
			if err != nil {
				return nil, err
			}
			defer xlabridge.Free(out)
			return measured(out)
		}
	}
	return r, nil
}

func genericWorkloads(Options) (all []Workload) {
	for _, p := range genericbench.All() {
		all = append(all, Workload{Name: p.Name, What: "a call of the program " + p.Name, Same: genericbench.Tolerance,
			Peers: []Peer{{Name: "jax", Script: "jax_generic.py", Args: []string{p.Name}}},
			Open: func(_ context.Context, _ *host, b xlabridge.Backend, _ Options) (*Runner, error) {
				if err := genericbench.WarmUp(b); err != nil {
					return nil, err
				}
				in, start := p.In(), time.Now()
				traced, err := graph.Trace(p.Name, p.Apply, in)
				if err != nil {
					return nil, err
				}
				options := xlabridge.CompileOptions{NoCache: true}.ForJit(b)
				return compileProgram(b, options, start, traced, in, genericbench.Checks)
			}})
	}
	return all
}

func spikingWorkloads(Options) (all []Workload) {
	for _, s := range spikingbench.All() {
		w := Workload{Name: s.Name, What: s.What, Work: s.Work, Unit: "steps", Same: 2e-2}
		for _, p := range s.Peers {
			w.Peers = append(w.Peers, Peer{Name: p.Name, JAX: true, Script: "spiking_jax.py", Other: !p.Same,
				Args: append([]string{p.Name}, s.Args...)})
		}
		w.Open = func(ctx context.Context, _ *host, b xlabridge.Backend, o Options) (*Runner, error) {
			r, err := s.Open(ctx, b, neurobench.Options{Devices: o.Devices, Tune: o.Tune})
			if err != nil {
				return nil, err
			}
			r.Checks = func() ([]float64, error) {
				_, result, err := r.Run(1)
				return []float64{result}, err
			}
			return r, nil
		}
		all = append(all, w)
	}
	return append(all, dynamicsWorkload("mechanistic", "mechanistic:lif", Peer{Name: "fast", Workload: "dynamics-fast",
		Other: true}), explicit(dynamicsWorkload("fast", "fast")))
}

// dynamicsWorkload is a population of the policy spiking with a dynamics. The ratio to a peer is the share of its
// speed.
func dynamicsWorkload(name, dynamics string, peers ...Peer) Workload {
	const members, steps = 1024, 200
	return Workload{Name: "dynamics-" + name, Work: members * steps, Unit: "steps", Peers: peers,
		What: fmt.Sprintf("Forage-L0-v1, %d x spiking:32,16, %d steps of 8 substeps, dynamics %s", members, steps,
			dynamics),
		Open: func(ctx context.Context, _ *host, b xlabridge.Backend, o Options) (*Runner, error) {
			c := neurobench.Experiment("Forage-L0-v1", "spiking:32,16", members, steps,
				neurobench.Options{Devices: o.Devices, Tune: o.Tune})
			return neurobench.OpenPlay(ctx, b, c.With("policy.dynamics", dynamics))
		}}
}

func neuroWorkloads(o Options) (all []Workload) {
	for _, n := range neurobench.All(o.Size) {
		all = append(all, Workload{Name: n.Name, What: n.What, Work: n.Work, Unit: "steps",
			Peers: []Peer{{Name: n.Peer, JAX: true, Script: "neuro_jax.py", Args: n.PeerArgs}},
			Open: func(ctx context.Context, _ *host, b xlabridge.Backend, o Options) (*Runner, error) {
				return n.Open(ctx, b, neurobench.Options{Devices: o.Devices, Tune: o.Tune})
			}})
	}
	return all
}
