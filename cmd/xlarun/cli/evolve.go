package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/machine"
	"xlarun/envs"
	"xlarun/graph"
	"xlarun/rollout/evolve"
	"xlarun/xlabridge"
)

// evolveFlags are the flags of the evolve command; those of the experiment itself are in config.
type evolveFlags struct {
	runFlags
	config evolve.Config
	jit    bool
	target float64
}

// configKeys maps the fields of evolve.Config to the flags that set them, for its errors.
var configKeys = map[string]string{
	"Env": "env", "Policy": "policy", "Strategy": "strategy", "Population": "pop", "Generations": "generations",
	"Steps": "steps", "Episodes": "episodes", "Seed": "seed", "Devices": "devices", "Tile": "tile",
	"LearningRate": "learning-rate", "Sigma": "sigma", "SigmaDecay": "sigma-decay",
	"StdLearningRate": "std-learning-rate", "LanesLast": "lanes-last", "Unroll": "unroll", "Tune": "tune", "Memory": "memory", "Keys": "keys",
}

func (o *evolveFlags) add(f *pflag.FlagSet) {
	c := &o.config
	d := evolve.DefaultConfig()
	f.SortFlags = false
	f.StringVar(&c.Env, "env", d.Env, "environment, also given as the argument: "+strings.Join(envs.IDs(), ", "))
	f.StringVar(&c.Policy, "policy", d.Policy, "network of a member")
	f.StringVar(&c.Strategy, "strategy", d.Strategy, "how the next population comes about: "+strings.Join(evolve.Strategies(), ", "))
	f.IntVar(&c.Population, "pop", d.Population, "members of the population")
	f.IntVar(&c.Generations, "generations", d.Generations, "generations at most")
	f.IntVar(&c.Steps, "steps", d.Steps, "environment steps of an episode")
	f.IntVar(&c.Episodes, "episodes", d.Episodes, "episodes of a member in a generation")
	f.Float64Var(&c.LearningRate, "learning-rate", d.LearningRate, "step size of the strategy's optimiser")
	f.Float64Var(&c.Sigma, "sigma", d.Sigma, "standard deviation of the strategy's noise")
	f.Float64Var(&c.SigmaDecay, "sigma-decay", d.SigmaDecay, "factor of sigma from one generation to the next")
	f.Float64Var(&c.StdLearningRate, "std-learning-rate", d.StdLearningRate, "step size of the noise's standard deviations, where the strategy learns them")
	f.Int64Var(&c.Seed, "seed", d.Seed, "seed of every random number")
	f.Float64Var(&o.target, "target", math.NaN(), "mean return at which the run ends; 0 for none (default the environment's)")
	o.AddDevices(f)
	f.IntVar(&c.Tile, "tile", d.Tile, "members that play together on a device; 0 to choose")
	f.BoolVar(&c.LanesLast, "lanes-last", d.LanesLast, "keep the members on the last axis; goes with --tile")
	f.IntVar(&c.Unroll, "unroll", d.Unroll, "steps in one turn of the loop; 0 to choose")
	f.StringVar(&c.Tune, "tune", d.Tune, "how tile, lanes and unroll are chosen where none is given: auto (what an earlier quick or full stored, else the rule),\n"+
		"off (the rule), quick (measure for up to 3 s and store), full (up to 60 s); another choice changes last digits")
	o.addMemory(f)
	f.StringVar(&c.Keys, "keys", d.Keys, "random keys count members over the whole population (global), or on each device (device: results depend on --devices)")
	f.BoolVar(&o.jit, "jit", true, "compile; --jit=false interprets op by op and stops at the first NaN")
	o.addOutput(f, "ENV")
}

func evolveCommand(a *app) *cobra.Command {
	var o evolveFlags
	cmd := &cobra.Command{
		Use:   "evolve [ENV]",
		Short: "Evolve a population in an environment until it is solved",
		Long: "Evolve trains a population of policies in an environment, each generation one compiled call, until the mean return\n" +
			"reaches the target or the generations are over. The run's folder holds the resolved config, metrics, checkpoints and\n" +
			"the best member.",
		Example: "  xlarun evolve CartPole-v1\n  xlarun evolve Acrobot-v1 --policy mlp:64,64 --pop 1024 --seed 3",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return console.BadInput("got %d arguments (%s), wants one environment", len(args), strings.Join(args, ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			r := &evolveRun{commandRun: commandRun{app: a, start: machine.ProcessStart()}, flags: &o}
			if err := r.prepare(cmd.Flags(), args); err != nil {
				return err
			}
			return r.run(cmd.Context())
		},
	}
	o.add(cmd.Flags())
	return cmd
}

// resolve fills the experiment in, from the argument, the command line and the config file, and checks all that can be
// checked before a backend is opened. The text is the config file that repeats it.
func (o *evolveFlags) resolve(flags *pflag.FlagSet, args []string) (text string, err error) {
	if len(args) == 1 {
		if flags.Changed("env") && o.config.Env != args[0] {
			return "", console.BadInput("got the environment %s and --env %s: give one of them", args[0], o.config.Env)
		}
		if err := flags.Set("env", args[0]); err != nil {
			return "", console.UsageError{Err: err}
		}
	}
	if o.file != "" {
		if err := applyFile(flags, o.file); err != nil {
			return "", err
		}
	}
	if !o.jit {
		if flags.Changed("backend") && o.Backend != console.Reference {
			return "", console.BadInput("--jit=false interprets, so it does not go with --backend %s: leave one of them out", o.Backend)
		}
		o.Backend = console.Reference
	}
	if err := o.Check(); err != nil {
		return "", err
	}
	o.config.Devices = o.Devices
	if o.config.Memory, err = o.memoryBudget(); err != nil {
		return "", err
	}
	if err := o.config.Check(); err != nil {
		return "", configError(err)
	}
	env, err := envs.Make(o.config.Env)
	if err != nil {
		return "", console.UsageError{Err: err}
	}
	switch {
	case !flags.Changed("target"):
		o.target = env.Spec().RewardThreshold
	case o.target == 0:
		o.target = math.NaN()
	}
	if !math.IsNaN(o.target) { // the resolved config has the number
		_ = flags.Set("target", fmt.Sprint(o.target))
	} else {
		_ = flags.Set("target", "0")
		o.target = math.NaN()
	}
	return resolvedConfig(flags)
}

// prepare resolves the experiment and makes the run's folder.
func (r *evolveRun) prepare(flags *pflag.FlagSet, args []string) (err error) {
	o := r.flags
	if r.config, err = o.resolve(flags, args); err != nil {
		return err
	}
	r.given = flags
	r.folder, err = r.newFolder(&o.runFlags, o.config.Env)
	return err
}

// configError words an error of evolve.Config.Check with the flag's name.
func configError(err error) error {
	c, ok := errors.AsType[*evolve.ConfigError](err)
	if !ok {
		return console.UsageError{Err: err}
	}
	return badKey(configKeys, c.Key, c.Got, c.Wants)
}

// evolveRun is one run of the evolve command.
type evolveRun struct {
	commandRun
	flags *evolveFlags
}

// evolveResult is the line that --json ends with.
type evolveResult struct {
	Env             string  `json:"env"`
	Strategy        string  `json:"strategy"`
	Population      int     `json:"population"`
	Generations     int     `json:"generations"`
	BestFitness     number  `json:"best_fitness"`
	MeanFitness     number  `json:"mean_fitness"`
	EnvSteps        int64   `json:"env_steps"`
	StepsPerSecond  number  `json:"steps_per_second"`
	TraceSeconds    float64 `json:"trace_seconds"`
	CompileSeconds  float64 `json:"compile_seconds"`
	Cache           string  `json:"cache"`
	TimeToFirst     float64 `json:"time_to_first_generation_seconds"`
	WallSeconds     float64 `json:"wall_seconds"`
	PeakMemoryBytes int64   `json:"peak_memory_bytes"`
	Devices         int     `json:"devices"`
}

// recordPlan puts the plan that runs into the resolved config.
func (r *evolveRun) recordPlan(p evolve.Profile) error {
	return r.record(map[string]any{"tile": p.Tile, "lanes-last": p.LanesLast, "unroll": p.Unroll})
}

// engine is one evolution under way: evolve.Evolution, or a test's.
type engine interface {
	// Step runs one generation.
	Step() (evolve.Metrics, error)
	Profile() evolve.Profile
	// Snapshot copies the state to the host.
	Snapshot() (evolve.Snapshot, error)
	// Best is the best member so far, and its fitness.
	Best() (params any, fitness float64, err error)
	// MemberAt is the number of the member that is played in a lane of a tile.
	MemberAt(tile, lane int) int
	// WarmUp runs a generation and puts the state back; Phases times the parts of one.
	WarmUp() (seconds float64, err error)
	Phases(repeats int) ([]evolve.Phase, error)
	// Program and CompileInfo say what was compiled.
	Program() *graph.Program
	CompileInfo() xlabridge.CompileInfo
	Close() error
}

func (r *evolveRun) setup() string {
	c := r.flags.config
	return fmt.Sprintf("%d x %s, %s, %d steps, seed %d", c.Population, c.Policy, c.Strategy, c.Steps, c.Seed)
}

// run runs the evolution.
func (r *evolveRun) run(ctx context.Context) error {
	s := newSession(r)
	return supervise(ctx, s.work, s.finish)
}
