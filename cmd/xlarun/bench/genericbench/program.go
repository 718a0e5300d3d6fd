// Package genericbench holds the programs of xlarun bench jax: what researchers in reinforcement learning, evolution, spiking
// networks, search, small-scale deep learning and simulation write, with vector states, in the plain way. third_party/peers/jax_generic.py
// has the same programs in JAX by the same names, over the same inputs.
package genericbench

import (
	"fmt"
	"math"
	"slices"
	"time"

	g "xlarun/graph"
	"xlarun/xlabridge"
)

type (
	// A is an array.
	A = *g.Array
	// In is what a program takes or gives.
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
	return slices.SortedFunc(slices.Values(programs), func(a, b Program) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
}

// Named finds a program by its name.
func Named(name string) (Program, bool) {
	i := slices.IndexFunc(programs, func(p Program) bool { return p.Name == name })
	if i < 0 {
		return Program{}, false
	}
	return programs[i], true
}

// Figures are what one process found.
type Figures struct {
	Name string `json:"name"`
	// Run is the median of calls, Compile the time to trace and compile, in seconds.
	Run     float64 `json:"run"`
	Compile float64 `json:"compile"`
	// Peak is the process's peak memory in bytes.
	Peak int64 `json:"peak"`
	// Sums are checksums of each result: the sum, the sum of magnitudes and a weighted sum.
	Sums [][3]float64 `json:"sums"`
}

// Times of calls: at least this many, and for at least so long, but no more than so long.
const (
	leastCalls = 15
	leastTime  = 1500 * time.Millisecond
	mostTime   = 20 * time.Second
)

// Measure compiles a program as Jit does by default, and calls it.
func (p Program) Measure(b xlabridge.Backend) (f Figures, err error) {
	f.Name = p.Name
	// The first compilation of a process costs more.
	if _, err = xlabridge.Jit1(b, func(x A) A { return g.Add(g.Sin(x), 1.) })(g.Zeros(g.ShapeOf(g.Float32, 2))); err != nil {
		return f, err
	}
	in, err := xlabridge.Put(b, 1, p.In())
	if err != nil {
		return f, err
	}
	start := time.Now()
	traced, err := g.Trace(p.Name, p.Apply, in)
	if err != nil {
		return f, err
	}
	x, err := b.Compile(traced, xlabridge.CompileOptions{NoCache: true}.ForJit(b, traced))
	if err != nil {
		return f, err
	}
	f.Compile = time.Since(start).Seconds()
	defer func() { _ = x.Close() }()
	run := func(in In) (In, error) { return x.Call(in) }
	out, err := run(in)
	if err != nil {
		return f, err
	}
	if f.Sums, err = sums(out); err != nil {
		return f, err
	}
	for range 2 {
		if out, err = run(in); err != nil {
			return f, err
		}
	}
	var seconds []float64
	start = time.Now()
	for len(seconds) < leastCalls || time.Since(start) < leastTime {
		began := time.Now()
		if out, err = run(in); err != nil {
			return f, err
		}
		seconds = append(seconds, time.Since(began).Seconds())
		if len(seconds) >= 5 && time.Since(start) > mostTime {
			break
		}
	}
	_ = out
	slices.Sort(seconds)
	f.Run = seconds[len(seconds)/2]
	m, err := xlabridge.ProcessMemory()
	f.Peak = m.Peak
	return f, err
}

// sums gives the checksums of arrays.
func sums(out In) (all [][3]float64, err error) {
	for _, a := range out {
		v, err := g.Floats(a)
		if err != nil {
			return nil, err
		}
		var s [3]float64
		for i, x := range v {
			s[0] += x
			s[1] += math.Abs(x)
			s[2] += x * float64(i%7-3)
		}
		all = append(all, s)
	}
	return all, nil
}

// Agree returns an error unless two sides have the same results but for rounding: relative to the sum of magnitudes, as
// programs with chaotic states and branches lose digits.
func Agree(ours, theirs Figures) error {
	const tolerance = 2e-3
	if len(ours.Sums) != len(theirs.Sums) {
		return fmt.Errorf("we have %d results, they %d: the two do not compute the same", len(ours.Sums), len(theirs.Sums))
	}
	for i, o := range ours.Sums {
		for k, t := range theirs.Sums[i] {
			if !(math.Abs(o[k]-t) <= tolerance*(1+3*math.Abs(theirs.Sums[i][1]))) {
				return fmt.Errorf("checksum %d of result %d is %v for us, %v for them: the two do not compute the same", k, i, o[k], t)
			}
		}
	}
	return nil
}

// mix is the finaliser of splitmix64.
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
