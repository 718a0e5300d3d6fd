package bench

import (
	"context"
	"fmt"
	"strings"

	"xlarun/cmd/xlarun-bench/bench/neurobench"
	"xlarun/xlabridge"
)

// pythonWorkloads are what Python programs do with our package, of this checkout or of the peers' Python, and with
// others.
func pythonWorkloads(Options) (all []Workload) {
	api := func(name, what, args string, peers ...string) {
		script := func(who string) Peer {
			p := Peer{Name: who, Script: "python_api.py", Args: strings.Fields(fmt.Sprintf(args, who)), Other: true}
			if strings.HasSuffix(who, "VectorEnv") {
				p.Package = "gymnasium"
			}
			return p
		}
		all = append(all, Workload{Name: name, What: what, Script: script("xlarun"), Peers: each(peers, script)})
	}
	api("ask-tell", "ask and tell of OpenES, 256 x 10,000, fitness given", "strategy %s 256 10000", "evosax")
	program := neurobench.Generations("openes", 10_000, 256)
	all[0].Peers = append(all[0].Peers, Peer{Name: "program", Workload: "generation", Other: true})
	all = append(all, explicit(Workload{Name: "generation", What: program.What,
		Open: func(ctx context.Context, _ *host, b xlabridge.Backend, _ Options) (*Runner, error) {
			return program.Open(ctx, b, neurobench.Options{Devices: 1})
		}}))
	for _, size := range []string{"256 10", "4096 10", "4096 1000"} {
		x := strings.Replace(size, " ", "x", 1)
		api("archive-"+x, "ask and tell of MAP-Elites, 2,500 cells, "+x, "archive %s "+size, "ribs")
	}
	for _, n := range []string{"64", "1024", "4096", "65536"} {
		peers := []string{"CartPoleVectorEnv", "envpool", "SyncVectorEnv"}
		if len(n) > 4 {
			peers = peers[:2] // the last takes four seconds
		}
		api("vector-"+n, "a step of a vector of "+n+" CartPole-v1", "vector %s "+n, peers...)
	}
	api("trials", "40 programs that sleep 0.2 s, 8 at a time", "trials %s 40 8 0.2", "optuna", "joblib", "ray", "tune")
	w := &all[len(all)-1]
	w.Script, w.Open = Peer{}, ownStudies(func(s *ownStudy) (float64, error) {
		return s.run(`name = "bench"
kind = "exec"
metric = "value"
command = ["sh", "-c", "sleep 0.2; echo '{\"value\": {x}}'"]
sampler = "random"
trials = 40

[[param]]
name = "x"
type = "float"
low = 0
high = 1
`, "--workers", "8")
	})
	return all
}
