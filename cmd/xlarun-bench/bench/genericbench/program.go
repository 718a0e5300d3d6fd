// Package genericbench has the programs of xlarun bench generic, as researchers write them in reinforcement learning,
// evolution, spiking networks, search, small-scale deep learning and simulation. third_party/peers/jax_generic.py has
// the same programs in JAX, with the same names and inputs.
package genericbench

import (
	"cmp"
	"math"
	"slices"

	g "xlarun/graph"
	"xlarun/xlabridge"
)

type (
	// A is an array.
	A = *g.Array
	// In holds the arguments or the results of a program.
	In = []A
)

// Program is a function and its arguments.
type Program struct {
	Name string
	// In makes the arguments.
	In func() In
	// Apply is the function.
	Apply func(In) In
}

var programs []Program

func add(name string, in func() In, f func(In) In) { programs = append(programs, Program{name, in, f}) }

// All lists the programs, by name.
func All() []Program {
	return slices.SortedFunc(slices.Values(programs), func(a, b Program) int { return cmp.Compare(a.Name, b.Name) })
}

// WarmUp compiles a small program: the first compilation of a process costs more.
func WarmUp(b xlabridge.Backend) error {
	_, err := xlabridge.Jit(b, func(x A) A { return g.Add(g.Sin(x), 1.) })(g.Zeros(g.ShapeOf(g.Float32, 2)))
	return err
}

// Tolerance is the relative tolerance between the checks of both sides: programs with chaotic states and branches lose
// digits.
const Tolerance = 6e-3

// Checks returns three numbers of each result, from its sum, its sum of magnitudes m and a weighted sum. The sums are
// taken relative to 1+m, and 1 is added to each, so that a relative tolerance serves them all.
func Checks(out In) (all []float64, err error) {
	for _, a := range out {
		v, err := g.Floats(a)
		if err != nil {
			return nil, err
		}
		sum, magnitude, weighted := 0., 0., 0.
		for i, x := range v {
			sum += x
			magnitude += math.Abs(x)
			weighted += x * float64(i%7-3)
		}
		all = append(all, 1+sum/(1+magnitude), 1+magnitude, 1+weighted/(1+3*magnitude))
	}
	return all, nil
}

// mix is the finalizer of splitmix64.
func mix(x uint64) uint64 {
	x += 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// gen draws float32 from (-scale, scale).
func gen(seed uint64, scale float64, dims ...int) A {
	v := make([]float32, g.ShapeOf(g.Float32, dims...).Size())
	for i := range v {
		v[i] = float32(scale * (float64(mix(seed<<32+uint64(i))>>11)/(1<<52) - 1))
	}
	return g.Float32s(v, dims...)
}

// geni draws int32 from 0 to n-1.
func geni(seed, n uint64, dims ...int) A {
	v := make([]int32, g.ShapeOf(g.Int32, dims...).Size())
	for i := range v {
		v[i] = int32(mix(seed<<32+uint64(i)) % n)
	}
	return g.Int32s(v, dims...)
}
