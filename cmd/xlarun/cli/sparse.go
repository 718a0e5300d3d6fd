package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"xlarun/cmd/xlarun/runfolder"
	"xlarun/rollout/sparse"
)

// sparseFlags are the flags of the sparse command; those of the experiment itself are in config.
type sparseFlags struct {
	backendOptions
	config  sparse.Config
	density string
	memory  string // as it was typed
	data    string
	file    string
	out     string
	json    bool
}

// sparseKeys maps the fields of sparse.Config to the flags that set them, for its errors.
var sparseKeys = map[string]string{
	"Population": "pop", "Steps": "steps", "Batch": "batch", "Density": "density", "LearningRate": "lr", "MutateEvery": "mutate-every",
	"MutateFraction": "mutate-fraction", "DType": "dtype", "Method": "method", "Tune": "tune", "Memory": "memory", "Seed": "seed", "Devices": "devices",
}

func (o *sparseFlags) add(f *pflag.FlagSet) {
	c := &o.config
	*c = sparse.DefaultConfig()
	f.SortFlags = false
	f.IntVar(&c.Population, "pop", c.Population, "members of the population")
	f.IntVar(&c.Steps, "steps", c.Steps, "steps of SGD")
	f.IntVar(&c.Batch, "batch", c.Batch, "examples of a step")
	f.Float64Var(&c.LearningRate, "lr", c.LearningRate, "learning rate")
	f.StringVar(&o.density, "density", joinFloats(c.Density), "part of the connections that are there: one number, or one a layer")
	f.IntVar(&c.MutateEvery, "mutate-every", c.MutateEvery, "steps between mutations of the topologies; 0 for none")
	f.Float64Var(&c.MutateFraction, "mutate-fraction", c.MutateFraction, "part of the connections that a mutation replaces")
	f.StringVar(&c.DType, "dtype", c.DType, "numbers that are multiplied: "+strings.Join(sparse.DTypes, ", "))
	f.StringVar(&c.Method, "method", c.Method, "how: kernel (the connections alone, on cpu), masked (dense matrices), blocks (dense blocks of gathered inputs), auto")
	f.StringVar(&c.Tune, "tune", c.Tune, "how auto is settled: auto (what an earlier quick or full stored, else kernel where it runs, else masked), off (the same\n"+
		"without what is stored), quick (measure for up to 3 s and store), full (up to 60 s); another method changes last digits")
	f.StringVar(&o.memory, "memory", "", `memory that the run's arrays may take on all devices, as 2G or 500MiB (default what is free)`)
	f.Int64Var(&c.Seed, "seed", c.Seed, "seed of every random number")
	f.StringVar(&o.data, "data", "", "folder with MNIST's four IDX files (default: fetched once)")
	o.addFlags(f)
	f.IntVar(&o.devices, "devices", 0, "devices to run on; 0 for all, on cpu one a core")
	f.StringVar(&o.file, "config", "", "TOML file of such flags; those of the command line win")
	f.StringVar(&o.out, "out", "", `folder of the run, "none" for no folder (default "runs/TIME-sparse")`)
	f.BoolVar(&o.json, "json", false, "end stdout with one line of JSON, the result")
}

func sparseCommand(a *app) *cobra.Command {
	var o sparseFlags
	cmd := &cobra.Command{
		Use:   "sparse",
		Short: "Train a population of sparse networks on MNIST",
		Long: "Sparse trains a population of networks 784-128-64-10, each with connections of its own, on MNIST: SGD on the same batches\n" +
			"for all, and now and then each member drops its weakest connections and grows others. A step of steps/s is one example\n" +
			"through the forward and backward pass of every member.",
		Example: "  xlarun sparse\n  xlarun sparse --pop 50 --steps 1000 --mutate-every 100 --seed 3",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return badInput("got the argument %q, wants none", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			r := &sparseRun{app: a, flags: &o, start: processStart()}
			if err := r.prepare(cmd.Flags()); err != nil {
				return err
			}
			return r.run(cmd.Context())
		},
	}
	o.add(cmd.Flags())
	return cmd
}

// sparseRun is one run of the sparse command.
type sparseRun struct {
	*app
	flags  *sparseFlags
	start  time.Time // of the process
	given  *pflag.FlagSet
	config string // resolved, TOML
	data   sparse.Data
	folder *runfolder.Folder
}

// prepare resolves and checks everything that can be checked before a backend is opened or a data set fetched. It
// changes nothing on disk but for making the run's folder.
func (r *sparseRun) prepare(flags *pflag.FlagSet) error {
	o := r.flags
	if o.file != "" {
		if err := applyFile(flags, o.file); err != nil {
			return err
		}
	}
	if err := o.check(); err != nil {
		return err
	}
	var err error
	if o.config.Density, err = parseDensity(o.density, len(o.config.Hidden)+1); err != nil {
		return err
	}
	o.config.Devices = o.devices
	if o.memory != "" {
		if o.config.Memory, err = parseBytes(o.memory); err != nil || o.config.Memory <= 0 {
			return badInput("--memory got %q, wants a number of bytes such as 2G, 500M or 1.5GiB", o.memory)
		}
	}
	if err := o.config.Check(); err != nil {
		return sparseError(err)
	}
	if o.config.Method == "kernel" && o.backend != "cpu" {
		return badInput("--method got \"kernel\", which runs on the cpu backend only: use masked, blocks or auto, or --backend cpu")
	}
	if o.data != "" {
		if r.data, err = sparse.ReadIDX(o.data); err != nil {
			return badInput("--data %w", err)
		}
	}
	r.given = flags
	if r.config, err = resolvedConfig(flags); err != nil {
		return err
	}
	dir := o.out
	if dir == "" {
		dir = unused(filepath.Join("runs", r.now().Format("20060102-150405")+"-sparse"))
	}
	if dir == "none" {
		return nil
	}
	if r.folder, err = runfolder.Prepare(dir); err != nil {
		return badInput("--out %s cannot be written: %w; name another folder, or --out none for no folder", dir, err)
	}
	return nil
}

// parseDensity reads one number for all layers, or one for each.
func parseDensity(text string, layers int) ([]float64, error) {
	var out []float64
	parts := strings.Split(text, ",")
	for _, part := range parts {
		x, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || !(x > 0 && x <= 1) {
			return nil, badInput("--density got %q, wants numbers above 0, at most 1, such as 0.1,0.5,0.5", text)
		}
		out = append(out, x)
	}
	for len(parts) == 1 && len(out) < layers {
		out = append(out, out[0])
	}
	if len(out) != layers {
		return nil, badInput("--density got %q, wants one number, or one for each of the %d layers", text, layers)
	}
	return out, nil
}

func joinFloats(v []float64) string {
	var parts []string
	for _, x := range v {
		parts = append(parts, strconv.FormatFloat(x, 'g', -1, 64))
	}
	return strings.Join(parts, ",")
}

// sparseError words an error of sparse.Config.Check with the flag's name.
func sparseError(err error) error {
	c, ok := errors.AsType[*sparse.ConfigError](err)
	if !ok {
		return usageError{err}
	}
	key := c.Key
	if name, ok := sparseKeys[key]; ok {
		key = "--" + name
	}
	return badInput("%s got %s, wants %s", key, c.Got, c.Wants)
}

// recordMethod puts the method that runs into the resolved config: with it, the run repeats to the byte whatever is
// stored then.
func (r *sparseRun) recordMethod(p sparse.Profile) error {
	if err := r.given.Set("method", p.Method); err != nil {
		return err
	}
	text, err := resolvedConfig(r.given)
	if err == nil {
		r.config = text
	}
	return err
}

func (r *sparseRun) setup() string {
	c := r.flags.config
	return fmt.Sprintf("%d networks, density %s, batch %d, %d steps, %s, seed %d", c.Population, joinFloats(c.Density), c.Batch, c.Steps, c.DType, c.Seed)
}

// run trains in a goroutine of its own, so that an interrupt is heard while a call into the compiler or onto the devices
// is under way.
func (r *sparseRun) run(ctx context.Context) error {
	s := newSparseSession(r)
	done := make(chan error, 1)
	go func() { done <- s.work(ctx) }()
	select {
	case err := <-done:
		return s.finish(err)
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return s.finish(err)
	case <-time.After(grace / 2):
		return s.finish(errInterrupted)
	}
}
