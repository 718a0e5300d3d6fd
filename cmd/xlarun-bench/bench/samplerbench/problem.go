// Package samplerbench has problems on which samplers of studies are compared: ten functions of black-box optimization
// benchmarking (Hansen, Finck, Ros and Auger, "Real-parameter black-box optimization benchmarking 2009: noiseless
// functions definitions", RR-6829, INRIA) in float64 and 2 to 10 dimensions, and a table of searches on CartPole-v1.
// Whatever an instance has is in its fields, so that a peer in another language minimizes the same.
package samplerbench

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"

	"xlarun/studies/study"
)

// Bound is the end of each dimension's range, on both sides of 0.
const Bound = 5.

// Problem is something to minimize whose least value is 0.
type Problem struct {
	Name string
	Dims int // of a function
}

// Problems are the functions, each in one dimension, and the table.
func Problems() []Problem {
	return []Problem{
		{"sphere", 5}, {"ellipsoid", 5}, {"rastrigin", 3}, {"bueche_rastrigin", 4}, {"linear_slope", 5},
		{"attractive_sector", 5}, {"step_ellipsoid", 4},
		{"rosenbrock", 4}, {"different_powers", 10}, {"ellipsoid_rotated", 2}, {TableName, 0},
	}
}

// Instance is a problem with its optimum and rotations.
type Instance struct {
	Optimum []float64   `json:"optimum,omitempty"`
	R       [][]float64 `json:"r,omitempty"` // rotations, orthogonal
	Q       [][]float64 `json:"q,omitempty"`
}

// Instance returns the instance of a seed.
func (p Problem) Instance(seed int) (in Instance) {
	if p.Name == TableName {
		return in
	}
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s/%d", p.Name, p.Dims) // a hash takes all
	r := rand.New(rand.NewPCG(uint64(seed), h.Sum64()))
	most := 4.
	if p.Name == "rosenbrock" {
		most = 3
	}
	for i := range p.Dims {
		x := most * (2*r.Float64() - 1)
		switch {
		case p.Name == "linear_slope":
			x = math.Copysign(Bound, x)
		case p.Name == "bueche_rastrigin" && i%2 == 0:
			x = math.Abs(x)
		}
		in.Optimum = append(in.Optimum, x)
	}
	in.R, in.Q = rotation(r, p.Dims), rotation(r, p.Dims)
	return in
}

// rotation makes an orthogonal matrix of normal draws (Gram and Schmidt).
func rotation(r *rand.Rand, n int) (m [][]float64) {
	for len(m) < n {
		row := make([]float64, n)
		for i := range row {
			row[i] = r.NormFloat64()
		}
		for range 2 { // once more for what rounding has left
			for _, other := range m {
				along := dot(row, other)
				for i := range row {
					row[i] -= along * other[i]
				}
			}
		}
		length := math.Sqrt(dot(row, row))
		for i := range row {
			row[i] /= length
		}
		m = append(m, row)
	}
	return m
}

// TableName is the problem whose values are looked up.
const TableName = "cartpole_table"

// Table is the table: the fitness of searches by strategy, and by places of the step size and of the learning rate on
// grids of equal ratios.
type Table struct {
	Strategies []string               `json:"strategies"`
	Values     map[string][][]float64 `json:"values"`
	Most       float64                `json:"most"` // the highest of all
}

//go:embed cartpole.json
var cartpole []byte

// CartPole reads the table.
func CartPole() (t Table, err error) {
	err = json.Unmarshal(cartpole, &t)
	for _, rows := range t.Values {
		for _, row := range rows {
			t.Most = max(t.Most, slices.Max(row))
		}
	}
	return t, err
}

// Objective is the problem as a study's trials meet it.
func (p Problem) Objective(in Instance) (func(*study.Trial) ([]float64, error), error) {
	if p.Name == TableName {
		t, err := CartPole()
		return t.objective, err
	}
	f, ok := functions[p.Name]
	if !ok {
		return nil, fmt.Errorf("there is no problem %q", p.Name)
	}
	return func(t *study.Trial) ([]float64, error) {
		x := make([]float64, p.Dims)
		for i := range x {
			var err error
			if x[i], err = t.SuggestFloat(fmt.Sprint("x", i), -Bound, Bound); err != nil {
				return nil, err
			}
		}
		return []float64{f(x, in)}, nil
	}, nil
}

// Value is a function's at a place; NaN for a problem that is none.
func (p Problem) Value(x []float64, in Instance) float64 {
	if f, ok := functions[p.Name]; ok {
		return f(x, in)
	}
	return math.NaN()
}

func (t Table) objective(trial *study.Trial) ([]float64, error) {
	names := make([]any, len(t.Strategies))
	for i, name := range t.Strategies {
		names[i] = name
	}
	name, err := trial.SuggestCategorical("strategy", names...)
	if err != nil {
		return nil, err
	}
	rows := t.Values[name.(string)]
	sigma, err := trial.SuggestInt("sigma", 0, int64(len(rows)-1))
	if err != nil {
		return nil, err
	}
	rate, err := trial.SuggestInt("rate", 0, int64(len(rows[0])-1))
	if err != nil {
		return nil, err
	}
	return []float64{t.Most - rows[sigma][rate]}, nil
}
