package sparse

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"xlarun/graph"
	"xlarun/rollout/plan"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
)

// Config is one experiment. Start from DefaultConfig.
type Config struct {
	Population     int       `set:"pop" min:"1" max:"1048576" help:"members of the population"`
	Updates        int       `set:"updates" program:"no" resume:"any" min:"1" max:"1073741823" help:"updates of SGD, each by --batch steps: a step is one example through all members"`
	TestEvery      int       `set:"test-every" program:"no" min:"1" max:"1073741823" zero:"a quarter of the updates, at most 10000; 500 without --updates" help:"updates between tests on the test data, of which one more comes at the end; a resumed run keeps its interval"`
	Batch          int       `set:"batch" min:"1" max:"65536" help:"examples of an update, the same for all members"`
	LearningRate   float64   `set:"lr" program:"no" above:"0" max:"3e38" help:"learning rate, of the mean cross-entropy of a batch"`
	Hidden         []int     `set:"hidden" min:"1" max:"65536" help:"widths of the hidden layers"`
	Density        []float64 `set:"density" above:"0" max:"1" help:"part of the connections that are there, a number for each layer; the last holds for all further ones"`
	MutateEvery    int       `set:"mutate-every" min:"1" max:"1073741823" zero:"never" help:"updates between mutations of the topologies; 0 for none"`
	MutateFraction float64   `set:"mutate-fraction" needs:"mutate-every=!0" min:"0" max:"1" help:"part of a member's own connections that a mutation replaces"`
	Shared         float64   `set:"shared" min:"0" max:"1" help:"part of the connections that all members have in common; mutations keep them"`
	Select         float64   `set:"select" min:"0" max:"0.5" zero:"none" help:"part of the members that a mutation replaces before it: the worst on held-out examples, by copies of the best; 0: none"`
	HeldOut        int       `set:"held-out" min:"1" max:"1073741823" needs:"select=!0" help:"examples of the training data that nobody learns from, for --select"`
	DType          string    `set:"dtype" oneof:"f32,bf16" help:"numbers that are multiplied (weights stay float32)"`
	Method         string    `set:"method" oneof:"auto,kernel,masked,blocks" help:"how: kernel (the connections alone, on cpu), masked (dense matrices), blocks (dense blocks of gathered inputs), auto"`
	// Tune says how the method "auto" is chosen.
	run.Planning
}

// Methods are the values of Config.Method. "kernel" computes the connections alone, in C on CPU; "masked" multiplies
// dense matrices; "blocks" multiplies small dense blocks of gathered inputs. "auto" is a stored or measured method, as
// Tune says, else kernel, or masked on backends without kernels. Results of methods differ in the last digits.
var Methods = []string{"auto", "kernel", "masked", "blocks"}

// DTypes are the values of Config.DType.
var DTypes = []string{"f32", "bf16"}

// DefaultConfig trains 200 networks of about 14,450 connections each.
func DefaultConfig() Config {
	return Config{Population: 200, Updates: 2000, Batch: 64, Hidden: []int{128, 64}, Density: []float64{.1, .5},
		LearningRate: .5,
		MutateEvery:  250, MutateFraction: .05, HeldOut: 5000, DType: "f32", Method: "auto", Planning: run.Defaults()}
}

// Check finds the first mistake in the config, a *settings.Error, before anything is traced or compiled.
func (c Config) Check(on plan.Machine) error {
	if err := settings.Check(&c); err != nil {
		return err
	}
	if float32(c.LearningRate) == 0 {
		return settings.Wrong("lr", c.LearningRate, "a number above 0 that a float32 holds")
	}
	if c.Select > 0 && c.MutateEvery == 0 {
		return settings.Wrong("select", c.Select, "--mutate-every above 0: members are selected when they mutate")
	}
	if n := len(c.Density); n == 0 || n > len(c.Hidden)+1 {
		density, _ := settings.Lookup(&c, "density")
		return &settings.Error{Key: "density", Got: cmp.Or(density.Text(), "nothing"),
			Wants: fmt.Sprintf("1 to %d numbers, as there are %d layers: %d hidden and the last", len(c.Hidden)+1,
				len(c.Hidden)+1, len(c.Hidden))}
	}
	if on.Devices > 0 && c.Devices > on.Devices {
		return settings.Wrong("devices", c.Devices, "at most the %d that the backend was opened with", on.Devices)
	}
	if c.Method == "kernel" && !on.CPU {
		return settings.Wrong("method", c.Method, "masked, blocks or auto: kernels in C run on the cpu backend only")
	}
	return nil
}

// checkHeldOut refuses to hold out all of n training examples.
func (c Config) checkHeldOut(n int) error {
	if c.Select > 0 && c.HeldOut >= n {
		return settings.Wrong("held-out", c.HeldOut, "fewer than the %d examples of the training data", n)
	}
	return nil
}

// Given lists the settings that fix the plan.
func (c Config) Given() []string {
	if c.Method != "auto" {
		return []string{"method"}
	}
	return nil
}

const (
	mostTestEvery = 10000     // the largest default of TestEvery
	unbounded     = 1<<30 - 1 // Updates of a run that has another end, such as a time
)

// testEvery returns TestEvery or its default. It does not follow from the config of a run that was resumed with more
// updates, so it is written into the config of a run.
func (c Config) testEvery() int {
	if c.TestEvery > 0 {
		return c.TestEvery
	}
	updates := c.Updates
	if updates == unbounded {
		updates = DefaultConfig().Updates
	}
	return min((updates+3)/4, mostTestEvery)
}

// methodOf returns the method of a name.
func (c Config) methodOf(name string, s Shape) method {
	d := graph.Float32
	if c.DType == "bf16" {
		d = graph.BFloat16
	}
	switch name {
	case "kernel":
		return kernelMethod{s, d}
	case "blocks":
		return blocksOf(s, d, maxFill)
	}
	return maskedMethod{s, d}
}

// Shape returns the layers of a member that learns from d.
func (c Config) Shape(d Data) Shape {
	density := slices.Clone(c.Density)
	for len(density) <= len(c.Hidden) {
		density = append(density, density[len(density)-1])
	}
	return ShapeOf(append(append([]int{d.Train.Pixels}, c.Hidden...), d.Classes()), density)
}

// Purpose describes the programs: all that the choice of the method depends on, except the machine. s is c.Shape of the
// data.
func (c Config) Purpose(s Shape) string {
	var text strings.Builder
	fmt.Fprintf(&text, "sparse %d x %d", c.Population, s[0].In)
	for _, l := range s {
		fmt.Fprintf(&text, "-%d", l.Out)
	}
	text.WriteString(", connections")
	for _, l := range s {
		fmt.Fprintf(&text, " %d", l.Connections)
	}
	fmt.Fprintf(&text, ", batch %d, %s", c.Batch, c.DType)
	return text.String()
}

// Programs returns the config without settings that do not change the programs. Experiments on the same data need the
// same programs if it is equal.
func (c Config) Programs() Config {
	c.Seed, c.LearningRate, c.Updates, c.TestEvery, c.Tune, c.Memory = 0, 0, 0, 0, "", 0
	if c.Select == 0 {
		c.HeldOut = 0
	} else {
		c.Select = 1
	}
	if c.MutateEvery == 0 {
		c.MutateFraction = 0
	} else {
		c.MutateEvery = 1
	}
	return c
}
