// Package aotbench compiles programs for devices that are not there, and counts their kernels and their memory.
package aotbench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"xlarun/cmd/xlarun-bench/bench/neurobench"
	"xlarun/cmd/xlarun/console"
	"xlarun/rollout/evolve"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
	"xlarun/xlabridge/hlo"
	"xlarun/xlabridge/topology"
)

// Row is a program whose kernels are counted.
type Row struct {
	Name, What string
	// Kind and Settings are the experiment, as on the command line of xlarun inspect.
	Kind     string
	Settings map[string]string
	// Open compiles the program instead of Kind; nil: Kind does.
	Open func(ctx context.Context, b xlabridge.Backend, tune string) (plan string, err error)
	// Program is the name of the program; "": the first.
	Program string
	// Turns chooses the loop of which a step is counted, by its number of steps; 0: the whole program.
	Turns int64
	// Without leaves out the loop of so many steps, where the whole program is counted; 0: nothing.
	Without int64
	// Period says how often a round runs the loops of unknown length: every Period-th one does. params is the number of
	// a member's parameters. nil: every round runs them.
	Period func(params int) int
	// Eight: for eight devices. Else for one.
	Eight bool
	// Script and Args are the JAX program for the same work, of third_party/peers; "": there is none.
	Script string
	Args   string
	// PeerTurns is Turns for the JAX program; 0: it is Turns.
	PeerTurns int64
}

// Result says what a program became.
type Result struct {
	Topology string `json:"target"`
	// Kernels is the number of launches that are counted: in a step of the row's loop with the loops inside it, or in a
	// run of the program. Loops of unknown length count as one turn.
	Kernels float64 `json:"kernels"`
	// Mean is the mean number of launches of a round, where only one of several rounds runs the loops of unknown
	// length; 0: all rounds are alike.
	Mean float64 `json:"mean_kernels,omitempty"`
	// Parts are the kernels of a turn of the loop and of the loops inside it, times their turns: "18 + 4 x 6".
	Parts       string         `json:"parts"`
	Temporaries int64          `json:"temporary_bytes"`
	Arguments   int64          `json:"argument_bytes"`
	Collectives map[string]int `json:"collectives,omitempty"` // in a run, by their kind
	Seconds     float64        `json:"compile_seconds"`
	// Peer is what the JAX program for the same work became; nil: it was not compiled. PeerFailed says why.
	Peer       *Result `json:"peer,omitempty"`
	PeerFailed string  `json:"peer_failed,omitempty"`
	// Plan is the layout in words; "": the kind has none.
	Plan string `json:"plan,omitempty"`
	// Device is what the program is on the device itself; nil: it was only compiled without it.
	Device *OnDevice `json:"device,omitempty"`
}

// OnDevice is a program that was compiled on its device, and run there if it has rounds.
type OnDevice struct {
	Kernels     float64 `json:"kernels"`
	Temporaries int64   `json:"temporary_bytes"`
	// Peak is of the device's memory after the round; 0: the plugin does not say, or nothing was run.
	Peak int64 `json:"peak_bytes,omitempty"`
	// Round is the time of a round; 0: nothing was run, because the row has no rounds.
	Round float64 `json:"round_seconds,omitempty"`
}

// Options say what is compiled with.
type Options struct {
	Offline bool
	Plugin  string
	Tune    string // how plans of evolve are chosen: "off" by the rule, "quick" by the compiler's numbers
	Notice  func(string)
	// Here compiles for the devices of this machine and runs a round, instead of compiling for a target.
	Here bool
}

// Measure compiles a row for a target.
func Measure(ctx context.Context, r Row, on topology.Topology, o Options) (Result, error) {
	out := Result{Topology: on.Name}
	var programs []*xlabridge.Compiled
	var loops []hlo.Loop
	var failed error
	open := xlabridge.Options{Backend: on.Backend, Topology: &on, Zeros: true, NoCache: true,
		Offline: o.Offline, PluginPath: o.Plugin, Notice: o.Notice, Compiled: func(x *xlabridge.Compiled) {
			if r.Program != "" && x.Program.Name != r.Program || len(programs) > 0 {
				return
			}
			programs = append(programs, x)
			var m xlabridge.ProgramMemory
			if m, failed = x.Executable.Memory(); failed == nil {
				loops, failed = x.Executable.Loops()
			}
			out.Temporaries, out.Arguments, out.Seconds = m.Temporaries, m.Arguments, x.Executable.Info().Seconds
		}}
	if o.Here {
		open.Topology, open.Zeros = nil, false
	}
	b, err := xlabridge.Open(ctx, open)
	if err != nil {
		return out, err
	}
	defer func() { _ = b.Close() }()
	var device OnDevice
	period := 1
	if r.Open != nil {
		out.Plan, err = r.Open(ctx, b, o.Tune)
	} else {
		out.Plan, err = r.start(ctx, b, o.Tune, func(x run.Run) error {
			if params, ok := x.Profile().Fact("parameters").(int); ok && r.Period != nil {
				period = r.Period(params)
			}
			if !o.Here {
				return nil
			}
			var err error
			device, err = runRound(ctx, b, x)
			return err
		})
	}
	if err == nil {
		err = failed
	}
	if err == nil && len(programs) == 0 {
		err = fmt.Errorf("no program %q was compiled", r.Program)
	}
	if err != nil {
		return out, err
	}
	out.count(loops, r.Turns, r.Without)
	out.average(loops, r.Without, period)
	if o.Here {
		device.Kernels, device.Temporaries = out.Kernels, out.Temporaries
		out.Device = &device
	}
	return out, nil
}

// runRound runs two rounds and times the second one.
func runRound(ctx context.Context, b *xlabridge.Client, x run.Run) (out OnDevice, err error) {
	for range 2 {
		start := time.Now()
		if _, err := x.Step(ctx); err != nil {
			return out, err
		}
		out.Round = time.Since(start).Seconds()
	}
	m, err := b.Memory(0)
	out.Peak = m.Peak
	return out, err
}

// start starts the row's experiment, which compiles its programs, hands the run to use and returns its plan.
func (r Row) start(ctx context.Context, b xlabridge.Backend, tune string, use func(run.Run) error) (string, error) {
	kind, ok := run.Lookup(r.Kind)
	if !ok {
		return "", fmt.Errorf("there is no kind of run %q", r.Kind)
	}
	e := kind.New()
	if err := r.set(e); err != nil {
		return "", err
	}
	if f, ok := settings.Lookup(e, "tune"); ok {
		if err := f.Set(tune); err != nil {
			return "", err
		}
	}
	job := e.Job()
	if job.Fetch != nil {
		if err := job.Fetch(ctx, console.Notices{Writer: io.Discard}); err != nil {
			return "", err
		}
	}
	x, err := job.Start(ctx, b)
	if err != nil {
		return "", run.OutOfMemory(err, e, job)
	}
	return x.Profile().Plan, errors.Join(use(x), x.Close())
}

// set sets the row's settings in an experiment of its kind.
func (r Row) set(e run.Experiment) error {
	devices := "1"
	if r.Eight {
		devices = "8"
	}
	given := map[string]string{"devices": devices}
	for name, value := range r.Settings {
		given[name] = value
	}
	for _, name := range slices.Sorted(maps.Keys(given)) { // a part's name comes before its settings
		value := given[name]
		f, ok := settings.Lookup(e, name)
		if !ok {
			return fmt.Errorf("%s has no setting %q", r.Kind, name)
		}
		if err := f.Set(value); err != nil {
			return err
		}
	}
	return nil
}

// mostUnrolled is the most steps in a turn of a loop.
const mostUnrolled = 16

// unrolled returns the steps in a turn of the loop with so many steps; 0: it is another loop.
func unrolled(l hlo.Loop, steps int64) int64 {
	if l.Depth == 0 || l.Trips == 0 || steps == 0 {
		return 0
	}
	if n := steps / l.Trips; n >= 1 && n <= mostUnrolled && n*l.Trips == steps {
		return n
	}
	return 0
}

// count fills in the kernels of a step of the loop with so many steps, or of the whole program without a loop.
func (r *Result) count(loops []hlo.Loop, steps, without int64) {
	most := int64(-1)
	for i, l := range loops {
		n := unrolled(l, steps)
		if steps == 0 && i == 0 {
			n = 1
		}
		if n == 0 {
			continue
		}
		// The loop of the steps is the one with the most launches, if there are several.
		launches, parts := turnOf(loops, i, func(l hlo.Loop) bool { return unrolled(l, without) > 0 })
		if launches*l.Trips > most {
			most, r.Kernels, r.Parts = launches*l.Trips, float64(launches)/float64(n), parts
			if n > 1 {
				r.Parts = fmt.Sprintf("(%s) / %d", parts, n)
			}
		}
	}
	for _, l := range loops {
		for _, k := range l.Collectives {
			if r.Collectives == nil {
				r.Collectives = map[string]int{}
			}
			r.Collectives[k.Opcode]++
		}
	}
}

// average fills in Mean: one of so many rounds runs the loops of unknown length.
func (r *Result) average(loops []hlo.Loop, without int64, period int) {
	if period <= 1 {
		return
	}
	always, _ := turnOf(loops, 0, func(l hlo.Loop) bool { return l.Trips == 0 || unrolled(l, without) > 0 })
	r.Mean = float64(always) + (r.Kernels-float64(always))/float64(period)
}

// turnOf returns the launches of a turn of loop i with the loops inside it, and their parts. It leaves out loops and
// what is inside them.
func turnOf(loops []hlo.Loop, i int, left func(hlo.Loop) bool) (launches int64, parts string) {
	own := func(l hlo.Loop) int64 { return int64(len(l.Kernels) + len(l.Collectives)) }
	launches = own(loops[i])
	text := []string{fmt.Sprint(launches)}
	times := []int64{1}
	for _, l := range loops[i+1:] {
		depth := l.Depth - loops[i].Depth
		if depth <= 0 {
			break
		}
		times = append(times[:depth], times[depth-1]*max(1, l.Trips))
		if left(l) {
			times[depth] = 0
		}
		launches += times[depth] * own(l)
		if n := times[depth] * own(l); n > 0 {
			text = append(text, fmt.Sprintf("%d x %d", times[depth], own(l)))
		}
	}
	if len(text) > mostParts {
		text = append(text[:mostParts], "...")
	}
	return launches, strings.Join(text, " + ")
}

// mostParts is the most loops that Result.Parts names.
const mostParts = 8

// play is the row of a population of perceptrons that plays, without sampling and learning: JAX's program does the
// same.
func play(name string, population, hidden int) Row {
	return Row{Name: name, Program: "play", Turns: 500, Script: "gymnax_rollout.py",
		Args: fmt.Sprintf("%d 500 %d", population, hidden),
		What: fmt.Sprintf("a step of %d x mlp:%d,%d on CartPole-v1", population, hidden, hidden),
		Open: func(ctx context.Context, b xlabridge.Backend, tune string) (string, error) {
			c := evolve.DefaultConfig()
			c.Env, c.Strategy, c.Steps, c.Population = "CartPole-v1", "openes", 500, population
			c.Policy, c.Tune, c.Devices = fmt.Sprintf("mlp:%d,%d", hidden, hidden), tune, 1
			p, err := neurobench.OpenPlay(ctx, b, c)
			if err != nil {
				return "", err
			}
			return p.Plan, p.Close()
		}}
}

// Rows lists the programs.
func Rows() []Row {
	step := func(name, what, env, policy, population, steps string, turns int64) Row {
		return Row{Name: name, What: "a step of " + what, Kind: "evolve", Turns: turns, Program: "generation",
			Settings: map[string]string{"env": env, "policy": policy, "pop": population, "steps": steps}}
	}
	generation := func(strategy, script, args string) Row {
		return Row{Name: "generation-" + strategy, Kind: "evolve", Program: "generation", Script: script, Args: args,
			What:     "a generation of " + strategy + ", 256 x mlp:16,16 on CartPole-v1, without its 500 steps",
			Without:  500,
			Settings: map[string]string{"env": "CartPole-v1", "strategy": strategy, "steps": "500"}}
	}
	whole := func(r Row) Row {
		r.Name, r.What, r.Without = "whole-"+strings.TrimPrefix(r.Name, "generation-"),
			strings.Replace(r.What, "without", "with", 1), 0
		return r
	}
	cmaes := generation("cmaes", "evosax_cartpole.py", "256 16 cmaes")
	cmaes.Period = func(params int) int { return (&strategy.CMAES{}).Period(params, 256) }
	ppo := func(name, what, script, args string, turns int64, given map[string]string) Row {
		return Row{Name: name, What: what, Kind: "ppo", Settings: given, Script: script, Args: args, PeerTurns: turns}
	}
	breakout := step("breakout", "Breakout, 1024 x cnn:16", "Breakout-MinAtar-v1", "cnn:16", "1024", "200", 200)
	breakout.Script, breakout.Args = "gymnax_breakout.py", "1024 200 16"
	forage := func(name, level, policy string) Row {
		env := "Forage-" + level + "-v1"
		r := step(name, env+", 1024 x "+policy, env, policy, "1024", "200", 200)
		r.Script, r.Args = "forage_jax.py", fmt.Sprintf("play %s 1024 200 %s", level, policy)
		return r
	}
	return []Row{
		play("play-1024", 1024, 64),
		play("play-65536", 65536, 64),
		forage("forage", "L2", "gru:16"),
		breakout,
		forage("spiking", "L0", "spiking:32,16"),
		ppo("ppo-cartpole", "an update of PPO on CartPole-v1, 4 x 128", "gymnax_ppo.py",
			"CartPole-v1 500000 4 128 1", 976, map[string]string{"env": "CartPole-v1"}),
		ppo("ppo-gather", "an update of PPO on Gather-v1, cnn:16,32, 64 x 128", "gridworld_ppo_jax.py",
			"float32 SAME select matmul", 5, map[string]string{"env": "Gather-v1", "shared": "true",
				"policy": "cnn:16,32", "envs": "64", "horizon": "128"}),
		{Name: "search", What: "a simulation of Gumbel search, n = 6, k = 3, 64 games", Kind: "selfplay",
			Turns: 50, Settings: map[string]string{"vertices": "6", "k": "3", "num-simulations": "50",
				"num-episodes": "64", "game-batch-size": "64", "search": "gumbel"},
			Script: "selfplay_jax.py", Args: "search 6 3 64 50 gumbel"},
		generation("openes", "evosax_cartpole.py", "256 16"),
		cmaes,
		generation("eggroll", "", ""),
		whole(generation("openes", "evosax_cartpole.py", "256 16")),
		whole(cmaes),
		{Name: "eight-openes", What: "collectives of a generation of openes on 8 devices", Kind: "evolve", Eight: true,
			Program: "generation", Settings: map[string]string{"env": "CartPole-v1", "pop": "65536", "steps": "500"}},
		{Name: "eight-cmaes", What: "collectives of a generation of cmaes on 8 devices", Kind: "evolve", Eight: true,
			Program: "generation", Settings: map[string]string{"env": "CartPole-v1", "pop": "65536", "steps": "500",
				"strategy": "cmaes"}},
	}
}

// Of says what a program of the row became, whose loops another program has counted.
func (r Row) Of(target string, loops []hlo.Loop, temporaries int64, seconds float64) Result {
	out := Result{Topology: target, Temporaries: temporaries, Seconds: seconds}
	turns := r.Turns
	if r.PeerTurns != 0 {
		turns = r.PeerTurns
	}
	out.count(loops, turns, r.Without)
	return out
}
