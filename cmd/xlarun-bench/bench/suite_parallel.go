package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"
)

// tier is the size of a trial: a population evolves for so many generations, once a seed.
type tier struct {
	name                           string
	population, generations, seeds int
}

var tiers = []tier{{"small", 200, 20, 2}, {"medium", 300, 50, 3}, {"large", 500, 150, 3}}

func (t tier) String() string {
	return fmt.Sprintf("%d x %d x %d", t.population, t.generations, t.seeds)
}

// spec is a study of trials of this size. as is how they run.
func (t tier) spec(trials int, as string) string {
	return studySpec(fmt.Sprintf("sampler = \"random\"\ntrials-as = %q\ntrials = %d\nseeds = %d", as, trials, t.seeds),
		fmt.Sprintf("policy = \"mlp:16,16\"\nsteps = 200\npop = %d\ngenerations = %d", t.population, t.generations))
}

// peer runs trials of this size in Python. threads is the number of BLAS threads of a worker, 0 for all cores.
func (t tier) peer(name, how string, threads, workers, trials int, more ...string) Peer {
	args := []string{how}
	for _, n := range []int{threads, workers, trials, t.population, t.generations, t.seeds} {
		args = append(args, strconv.Itoa(n))
	}
	return Peer{Name: name, Package: how, Script: "parallel_trials.py", Args: append(args, more...), Other: true}
}

// Sizes of the design (docs/notes/parallel-experiments.md).
var (
	parallelTrials  = []int{10, 100}
	parallelWorkers = []int{1, 2, 5, 10, 20}
)

// fewTrials and fewWorkers are the sizes of the rows that run unless others are named, with the smallest tier.
const fewTrials, fewWorkers = 10, 2

func parallelWorkloads(Options) []Workload {
	var all []Workload
	for _, t := range tiers {
		for _, trials := range parallelTrials {
			for _, n := range parallelWorkers {
				w := Workload{Name: fmt.Sprintf("%s-%d-%d", t.name, trials, n),
					Explicit: t.name != "small" || trials > fewTrials || n > fewWorkers,
					What: fmt.Sprintf("a study of %d trials of %v on CartPole-v1, 200 steps, by %d worker processes",
						trials, t, n),
					Work: float64(trials), Unit: "trials",
					Open: ownStudies(func(s *ownStudy) (float64, error) {
						return s.run(t.spec(trials, "processes"), "--workers", strconv.Itoa(n))
					})}
				if n == 1 {
					w.Peers = []Peer{t.peer("loop", "loop", 1, n, trials)}
				} else {
					for _, how := range []string{"pool", "threads", "ray"} {
						w.Peers = append(w.Peers, t.peer(how, how, 1, n, trials),
							t.peer(how+"-free", how, 0, n, trials))
					}
				}
				all = append(all, w)
			}
		}
	}
	small := tiers[0]
	lanes := Workload{Name: "small-lanes", What: fmt.Sprintf("a study of %d trials of %v as lanes of one program",
		fewTrials, small), Work: fewTrials, Unit: "trials", Open: ownStudies(func(s *ownStudy) (float64, error) {
		return s.run(small.spec(fewTrials, "vectorized"))
	})}
	cores := "0" // as many devices as there are cores
	nested := func(name, what, devices string, peers ...Peer) Workload {
		return Workload{Name: name, What: what, Peers: peers, Open: ownStudies(func(s *ownStudy) (float64, error) {
			return s.atOnce(2, func(i int) []string {
				return []string{"evolve", "CartPole-v1", "--pop", "500", "--generations", "60", "--steps", "200",
					"--target", "0", "--eval-episodes", "1", "--devices", devices, "--seed", strconv.Itoa(i)}
			})
		})}
	}
	blas := func(name string, threads int) Peer {
		return small.peer(name, "pool", threads, 2, 2, "covariance")
	}
	islands := func(name, what string, peers []Peer, processes int, args ...string) Workload {
		return Workload{Name: name, What: what, Work: 20 * 250 * 30, Unit: "members", Peers: peers,
			Open: ownStudies(func(s *ownStudy) (float64, error) {
				s.made++
				pool := filepath.Join(s.dir, fmt.Sprintf("pool-%d", s.made))
				if err := os.Mkdir(pool, 0o755); err != nil {
					return 0, err
				}
				return s.atOnce(processes, func(i int) []string {
					all := append(slices.Clone(args), "--pop", "250", "--generations", "30", "--steps", "200",
						"--target", "0", "--eval-episodes", "1", "--seed", strconv.Itoa(i))
					if processes > 1 {
						all = append(all, "--island", fmt.Sprintf("%02d", i), "--migration-dir", pool, "--devices", "1")
					}
					return all
				})
			})}
	}
	return append(all, lanes,
		Workload{Name: "coordination", What: "a trial that computes nothing, 16 at a time, in an SQLite file",
			Open: trivial("random", 0, 16)},
		nested("nested", "two searches of 500 members at once, a device each", "1",
			Peer{Name: "devices-free", Workload: "nested-free", Other: true}, blas("blas", 1), blas("blas-free", 0)),
		explicit(nested("nested-free", "the same with as many devices each as there are cores", cores)),
		islands("islands", "20 islands of 250 members in one program, 30 generations, 5 migrants every 10",
			[]Peer{{Name: "folder", Workload: "islands-folder", Other: true}}, 1, "islands", "CartPole-v1", "--islands",
			"20"),
		explicit(islands("islands-folder", "the same as 20 processes that share a folder", nil, 20, "evolve",
			"CartPole-v1")))
}

// atOnce runs command lines of ours at the same time, each a process, and returns the seconds until all have ended.
func (s *ownStudy) atOnce(processes int, args func(i int) []string) (float64, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	var all sync.WaitGroup
	failed := make([]error, processes)
	ctx, stop := context.WithCancel(s.ctx)
	defer stop()
	start := time.Now()
	for i := range processes {
		all.Go(func() {
			cmd := exec.CommandContext(ctx, self, append(args(i), "--out", "none")...)
			if _, failed[i] = outputOf(cmd); failed[i] != nil {
				stop()
			}
		})
	}
	all.Wait()
	return time.Since(start).Seconds(), errors.Join(failed...)
}
