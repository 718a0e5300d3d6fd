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

// compiled is a program that is called repeatedly.
type compiled struct {
	program *xlabridge.Compiled
	args    []*graph.Array
	seconds float64 // to trace and compile
	checks  []float64
}

func (c *compiled) CompileSeconds() float64 { return c.seconds }
func (c *compiled) Checks() []float64       { return c.checks }

func (c *compiled) Run(n int) (seconds []float64, result float64, err error) {
	for range n {
		start := time.Now()
		out, err := c.program.Call(c.args)
		if err != nil {
			return nil, 0, err
		}
		seconds = append(seconds, time.Since(start).Seconds())
		xlabridge.Free(out)
	}
	return seconds, 0, nil
}

func (c *compiled) Close() error {
	xlabridge.Free(c.args)
	return c.program.Close()
}

// check calls the program once and keeps the numbers that peers must agree with.
func (c *compiled) check(measured func(out []*graph.Array) ([]float64, error)) error {
	out, err := c.program.Call(c.args)
	if err != nil {
		return err
	}
	defer xlabridge.Free(out)
	c.checks, err = measured(out)
	return err
}

// gradWorkloads are value and gradient of networks: the time of a call, and from the start of a process to its result.
func gradWorkloads(Options) (all []Workload) {
	for _, g := range gradbench.All() {
		w := Workload{Name: g.Name, What: g.What, Same: 1e-3,
			Peers: []Peer{{Name: "jax", Script: "jax_grad.py", Args: []string{g.Name}}},
			Open: func(_ context.Context, _ *host, b xlabridge.Backend, _ Options) (Runner, error) {
				args, start := g.Args(), time.Now()
				p, err := graph.TraceArgs(g.Name, args, graph.TraceOptions{}, g.Apply)
				if err != nil {
					return nil, err
				}
				c, err := compileProgram(b, xlabridge.CompileOptions{AllCores: true}, start, p, args)
				if err != nil {
					return nil, err
				}
				return c, c.check(gradbench.Checks)
			}}
		start := w
		start.Name, start.What, start.Start = g.Name+"-start-warm", "from the start of a process to the "+
			"first of: "+g.What+"; its programs are cached", warmStart
		all = append(all, w, start)
	}
	return all
}

// compileProgram compiles a program whose tracing began at start, and puts its arguments on the device.
func compileProgram(b xlabridge.Backend, o xlabridge.CompileOptions, start time.Time, p *graph.Program,
	args any) (*compiled, error) {
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
	return &compiled{program: x, args: graph.Leaves(put), seconds: seconds}, nil
}

func genericWorkloads(Options) (all []Workload) {
	for _, p := range genericbench.All() {
		all = append(all, Workload{Name: p.Name, What: "a call of the program " + p.Name, Same: genericbench.Tolerance,
			Peers: []Peer{{Name: "jax", Script: "jax_generic.py", Args: []string{p.Name}}},
			Open: func(_ context.Context, _ *host, b xlabridge.Backend, _ Options) (Runner, error) {
				if err := genericbench.WarmUp(b); err != nil {
					return nil, err
				}
				in, start := p.In(), time.Now()
				traced, err := graph.Trace(p.Name, p.Apply, in)
				if err != nil {
					return nil, err
				}
				options := xlabridge.CompileOptions{NoCache: true}.ForJit(b)
				c, err := compileProgram(b, options, start, traced, in)
				if err != nil {
					return nil, err
				}
				return c, c.check(genericbench.Checks)
			}})
	}
	return all
}

func spikingWorkloads(Options) (all []Workload) {
	for _, s := range spikingbench.All() {
		w := Workload{Name: s.Name, What: s.What, Work: s.Work, Unit: "steps", Same: 2e-2}
		for _, p := range s.Peers {
			w.Peers = append(w.Peers, Peer{Name: p.Name, Script: "spiking_jax.py", Other: !p.Same,
				Args: append([]string{p.Name}, s.Args...)})
		}
		w.Open = func(ctx context.Context, _ *host, b xlabridge.Backend, o Options) (Runner, error) {
			r, err := s.Open(ctx, b, neurobench.Options{Devices: o.Devices, Tune: o.Tune})
			if err != nil {
				return nil, err
			}
			return resultChecked{r}, nil
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
		Open: func(ctx context.Context, _ *host, b xlabridge.Backend, o Options) (Runner, error) {
			c := neurobench.Experiment("Forage-L0-v1", "spiking:32,16", members, steps,
				neurobench.Options{Devices: o.Devices, Tune: o.Tune})
			return neurobench.OpenPlay(ctx, b, c.With("policy.dynamics", dynamics))
		}}
}

// resultChecked is a Runner whose result peers must agree with.
type resultChecked struct{ Runner }

// Checks returns the result. A run that fails has none.
func (r resultChecked) Checks() []float64 {
	_, result, err := r.Run(1)
	if err != nil {
		return nil
	}
	return []float64{result}
}

func neuroWorkloads(o Options) (all []Workload) {
	for _, n := range neurobench.All(o.Size) {
		all = append(all, Workload{Name: n.Name, What: n.What, Work: n.Work, Unit: "steps",
			Peers: []Peer{{Name: n.Peer, Script: "neuro_jax.py", Args: n.PeerArgs}},
			Open: func(ctx context.Context, _ *host, b xlabridge.Backend, o Options) (Runner, error) {
				return n.Open(ctx, b, neurobench.Options{Devices: o.Devices, Tune: o.Tune})
			}})
	}
	return all
}
