package bench

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"xlarun/rollout/qd"
	"xlarun/xlabridge"
)

// qdWorkloads are generations of MAP-Elites with iso+line variation.
func qdWorkloads(Options) []Workload {
	all := []Workload{
		eliteWorkload("arm", "Arm-v0", "vector", "0,1", 1024, 1024),
		eliteWorkload("rastrigin", "Rastrigin-v0", "vector:-5.12,5.12", "-5.12,5.12", 1024, 1024),
		eliteWorkload("cartpole-256", "CartPole-v1", "mlp:16,16", "", 1024, 256),
		eliteWorkload("cartpole-1024", "CartPole-v1", "mlp:16,16", "", 1024, 1024),
	}
	for _, w := range all[1:3] { // a task of one step, and one of episodes
		w.Name, w.Start, w.Work = "start-"+w.Name, warmStart, 0
		w.What = "from the start of a process to the first of: " + w.What + "; its programs are cached"
		w.Peers = slices.Clone(w.Peers)
		w.Peers[0].Args = append(slices.Clone(w.Peers[0].Args), "1") // of one generation
		all = append(all, w)
	}
	// An insertion into many cells takes about as long as one into few.
	const few = "cells-1024"
	all = append(all, eliteWorkload(few, "Arm-v0", "vector", "0,1", 1024, 4096))
	for _, cells := range []int{10_000, 100_000} {
		w := eliteWorkload(fmt.Sprintf("cells-%d", cells), "Arm-v0", "vector", "0,1", cells, 4096)
		w.Peers = []Peer{{Name: "1,024 cells", Workload: few, Other: true}}
		all = append(all, w)
	}
	return all
}

// eliteWorkload is a generation of batch members for an archive of cells around centroids. bounds limit the genomes.
func eliteWorkload(name, env, policy, bounds string, cells, batch int) Workload {
	c := qd.DefaultConfig()
	c.Env, c.Policy, c.Batch, c.Archive = env, policy, batch, fmt.Sprintf("cvt:%d", cells)
	c.Parted = c.Parted.With("emitter.line-sigma", "0.1")
	if bounds != "" {
		c.Steps, c.Parted = 1, c.Parted.With("emitter.bounds", bounds)
	}
	return Workload{Name: name, Work: float64(batch), Unit: "members",
		What: fmt.Sprintf("a generation of MAP-Elites on %s, %d x %s, %d cells of a CVT", env, batch, policy, cells),
		Peers: []Peer{{Name: "QDax", JAX: true, Script: "qdax_mapelites.py", Other: true,
			Args: []string{env, strconv.Itoa(cells), strconv.Itoa(batch)}}},
		Open: func(ctx context.Context, _ *host, b xlabridge.Backend, o Options) (*Runner, error) {
			c := c
			c.Devices = o.Devices
			r, err := c.Start(ctx, b)
			if err != nil {
				return nil, err
			}
			return steps(ctx, r, 0), nil
		}}
}
