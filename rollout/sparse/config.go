package sparse

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"xlarun/graph"
	"xlarun/rollout/evolve"
)

// Config is one experiment. Start from DefaultConfig.
type Config struct {
	Population     int
	Steps          int       // of SGD
	Batch          int       // examples of a step, the same for all members
	Hidden         []int     // widths of the hidden layers
	Density        []float64 // part of the connections that each layer has, above 0, at most 1
	LearningRate   float64   // of the mean cross-entropy of a batch
	MutateEvery    int       // steps between mutations; 0: none
	MutateFraction float64   // part of each layer's connections that a mutation replaces
	DType          string    // "f32", or "bf16" for products of bfloat16 (weights stay float32)
	Method         string    // one of Methods
	Tune           string    // one of evolve.Tunes: how Method "auto" is settled
	Seed           int64
	Devices        int   // devices to run on; 0: all of the backend's
	Memory         int64 // bytes that the run's arrays may take on all devices; 0: what is free
}

// Methods are the values of Config.Method: "kernel" computes the connections alone, in C on CPU; "masked" multiplies
// dense matrices; "blocks" multiplies small dense blocks of gathered inputs where connections are few. "auto" is what was
// stored or is measured, as Config.Tune says, else the fixed rule: kernel where it can run, else masked. Methods differ
// in the last digits.
var Methods = []string{"auto", "kernel", "masked", "blocks"}

// DTypes are the values of Config.DType.
var DTypes = []string{"f32", "bf16"}

// DefaultConfig is 200 networks of about 14,450 connections each.
func DefaultConfig() Config {
	return Config{Population: 200, Steps: 2000, Batch: 64, Hidden: []int{128, 64}, Density: []float64{.1, .5, .5}, LearningRate: .5,
		MutateEvery: 250, MutateFraction: .05, DType: "f32", Method: "auto", Tune: evolve.TuneAuto}
}

// ConfigError is what is wrong with one field of a Config.
type ConfigError = evolve.ConfigError

func wrong(key, got, wants string) *ConfigError {
	return &ConfigError{Key: key, Got: got, Wants: wants}
}

const (
	maxPopulation = 1 << 20
	maxBatch      = 1 << 16
	maxDevices    = 1024
)

// Check finds the first mistake in the config, a *ConfigError, before anything is traced or compiled.
func (c Config) Check() error {
	for _, f := range []struct {
		key                string
		value, least, most int
		zero               string
	}{
		{"Population", c.Population, 1, maxPopulation, ""},
		{"Steps", c.Steps, 1, math.MaxInt32 / 2, ""},
		{"Batch", c.Batch, 1, maxBatch, ""},
		{"MutateEvery", c.MutateEvery, 0, math.MaxInt32 / 2, ", 0 for never"},
		{"Devices", c.Devices, 0, maxDevices, ", 0 for all"},
	} {
		if f.value < f.least || f.value > f.most {
			return wrong(f.key, fmt.Sprint(f.value), fmt.Sprintf("a whole number from %d to %d%s", f.least, f.most, f.zero))
		}
	}
	for _, h := range c.Hidden {
		if h < 1 || h > 1<<16 {
			return wrong("Hidden", fmt.Sprint(h), "widths from 1 to 65536")
		}
	}
	if len(c.Density) != len(c.Hidden)+1 {
		return wrong("Density", fmt.Sprintf("%d numbers", len(c.Density)), fmt.Sprintf("one for each of the %d layers", len(c.Hidden)+1))
	}
	for _, d := range c.Density {
		if !(d > 0 && d <= 1) {
			return wrong("Density", fmt.Sprint(d), "numbers above 0, at most 1")
		}
	}
	if !(c.LearningRate > 0) || c.LearningRate > math.MaxFloat32 || float32(c.LearningRate) == 0 {
		return wrong("LearningRate", fmt.Sprint(c.LearningRate), "a number above 0 that a float32 holds")
	}
	if !(c.MutateFraction >= 0 && c.MutateFraction <= 1) {
		return wrong("MutateFraction", fmt.Sprint(c.MutateFraction), "a number from 0 to 1")
	}
	if !slices.Contains(DTypes, c.DType) {
		return wrong("DType", fmt.Sprintf("%q", c.DType), "one of "+strings.Join(DTypes, ", "))
	}
	if !slices.Contains(Methods, c.Method) {
		return wrong("Method", fmt.Sprintf("%q", c.Method), "one of "+strings.Join(Methods, ", "))
	}
	if !slices.Contains(evolve.Tunes(), c.Tune) {
		return wrong("Tune", fmt.Sprintf("%q", c.Tune), "one of "+strings.Join(evolve.Tunes(), ", "))
	}
	if c.Memory < 0 {
		return wrong("Memory", fmt.Sprint(c.Memory), "a number of bytes, 0 for what is free")
	}
	return nil
}

// methodOf is the method of that name.
func (c Config) methodOf(name string, s Shape) method {
	d := graph.Float32
	if c.DType == "bf16" {
		d = graph.BFloat16
	}
	switch name {
	case "kernel":
		return kernelMethod{s, d}
	case "blocks":
		return blocksOf(s, d)
	}
	return maskedMethod{s, d}
}

// Shape is the layers of a member that learns from d.
func (c Config) Shape(d Data) Shape {
	return ShapeOf(append(append([]int{d.Train.Pixels}, c.Hidden...), d.Classes()), c.Density)
}

// Purpose says in a few words what the programs of the experiment are for, with all that the choice of the method depends
// on but for the machine; s is c.Shape of its data.
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

// Programs is the config less what a change of compiles no other programs: two experiments on the same data need the
// same programs where it is the same for both.
func (c Config) Programs() Config {
	c.Seed, c.LearningRate, c.Steps = 0, 0, min(c.Steps, maxRound)
	if c.MutateEvery == 0 {
		c.MutateFraction = 0
	} else {
		c.MutateEvery = 1
	}
	return c
}
