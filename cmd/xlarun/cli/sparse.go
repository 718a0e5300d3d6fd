package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/machine"
	"xlarun/rollout/sparse"
	"xlarun/third_party/fetch/data"
)

// sparseFlags are the flags of the sparse command; those of the experiment itself are in config.
type sparseFlags struct {
	runFlags
	config  sparse.Config
	density string
	data    string
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
	o.addMemory(f)
	f.Int64Var(&c.Seed, "seed", c.Seed, "seed of every random number")
	f.StringVar(&o.data, "data", "", "folder with MNIST's four IDX files (default: fetched once)")
	o.AddDevices(f)
	o.addOutput(f, "sparse")
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
				return console.BadInput("got the argument %q, wants none", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			r := &sparseRun{commandRun: commandRun{app: a, start: machine.ProcessStart()}, flags: &o}
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
	commandRun
	flags *sparseFlags
	data  sparse.Data
}

// resolve fills the experiment in, from the command line and the config file, and checks all that can be checked before a
// backend is opened or a data set read. The text is the config file that repeats it.
func (o *sparseFlags) resolve(flags *pflag.FlagSet) (text string, err error) {
	if o.file != "" {
		if err := applyFile(flags, o.file); err != nil {
			return "", err
		}
	}
	if err := o.Check(); err != nil {
		return "", err
	}
	if o.config.Density, err = parseDensity(o.density, len(o.config.Hidden)+1); err != nil {
		return "", err
	}
	o.config.Devices = o.Devices
	if o.config.Memory, err = o.memoryBudget(); err != nil {
		return "", err
	}
	if err := o.config.Check(); err != nil {
		return "", sparseError(err)
	}
	if o.config.Method == "kernel" && o.Backend != "cpu" {
		return "", console.BadInput("--method got \"kernel\", which runs on the cpu backend only: use masked, blocks or auto, or --backend cpu")
	}
	return resolvedConfig(flags)
}

// prepare resolves the experiment, reads the data that --data names, and makes the run's folder.
func (r *sparseRun) prepare(flags *pflag.FlagSet) (err error) {
	o := r.flags
	if r.config, err = o.resolve(flags); err != nil {
		return err
	}
	r.given = flags
	if o.data != "" {
		if r.data, err = readPictures(o.data); err != nil {
			return err
		}
	}
	r.folder, err = r.newFolder(&o.runFlags, "sparse")
	return err
}

// readPictures reads the folder that --data names.
func readPictures(dir string) (sparse.Data, error) {
	d, err := sparse.ReadIDX(dir)
	if err != nil {
		return d, console.BadInput("--data %w", err)
	}
	return d, nil
}

// fetchPictures fetches MNIST, where it is not there, and reads it.
func fetchPictures(ctx context.Context, l console.Listener) (sparse.Data, error) {
	dir, err := plugin.Data(ctx, "mnist", plugin.Request{Progress: l.Download, Notice: l.Notice})
	if err != nil {
		if ctx.Err() != nil {
			return sparse.Data{}, console.ErrInterrupted
		}
		return sparse.Data{}, err
	}
	l.Notice("reading the pictures")
	return sparse.ReadIDX(dir)
}

// parseDensity reads one number for all layers, or one for each.
func parseDensity(text string, layers int) ([]float64, error) {
	var out []float64
	parts := strings.Split(text, ",")
	for _, part := range parts {
		x, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || !(x > 0 && x <= 1) {
			return nil, console.BadInput("--density got %q, wants numbers above 0, at most 1, such as 0.1,0.5,0.5", text)
		}
		out = append(out, x)
	}
	for len(parts) == 1 && len(out) < layers {
		out = append(out, out[0])
	}
	if len(out) != layers {
		return nil, console.BadInput("--density got %q, wants one number, or one for each of the %d layers", text, layers)
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

// sparseError words an error of the config's with the flag's name, and leaves others as they are.
func sparseError(err error) error {
	if c, ok := errors.AsType[*sparse.ConfigError](err); ok {
		return badKey(sparseKeys, c.Key, c.Got, c.Wants)
	}
	return err
}

func (r *sparseRun) setup() string {
	c := r.flags.config
	return fmt.Sprintf("%d networks, density %s, batch %d, %d steps, %s, seed %d", c.Population, joinFloats(c.Density), c.Batch, c.Steps, c.DType, c.Seed)
}

// run trains.
func (r *sparseRun) run(ctx context.Context) error {
	s := newSparseSession(r)
	return supervise(ctx, s.work, s.finish)
}
