package hlo

import (
	"slices"
	"strings"
)

// launching are the opcodes that a device starts as a kernel of its own. The others are views, constants or control.
// AllocateBuffer, a custom-call of TPUs, launches nothing.
var launching = []string{"fusion", "custom-call", "dot", "convolution", "copy", "sort", "reduce", "reduce-window",
	"scatter", "gather", "dynamic-slice", "dynamic-update-slice", "concatenate", "transpose", "pad", "slice", "iota",
	"broadcast", "select-and-scatter", "cholesky", "triangular-solve", "fft", "rng-bit-generator", "topk"}

// collectives are the opcodes that exchange data between devices. The start of an asynchronous one counts, its end does
// not.
var collectives = []string{"all-reduce", "all-gather", "all-to-all", "collective-permute", "reduce-scatter",
	"collective-broadcast", "ragged-all-to-all"}

// Kernel is an instruction that is launched.
type Kernel struct {
	Name   string `json:"name"`
	Opcode string `json:"opcode"` // or the target of a custom call
	Bytes  int64  `json:"bytes"`  // of its result
	Read   int64  `json:"read"`   // bytes of its arguments; a kernel may read a part of them
}

// Loop is a computation whose kernels are launched together: the entry of the program or the body of a loop, without
// the loops inside it.
type Loop struct {
	Name  string `json:"name"`
	Depth int    `json:"depth"` // 0: the entry
	// Trips is how often it runs each time the loop around it runs; 0: the compiler does not know.
	Trips       int64    `json:"trips,omitempty"`
	Kernels     []Kernel `json:"kernels"`
	Collectives []Kernel `json:"collectives,omitempty"`
	// Launches is the number of kernels and collectives that are launched in a run of the program, in this loop alone.
	// A loop of unknown length counts as one iteration; see AtLeast.
	Launches int64 `json:"launches"`
	// Seconds is the compiler's estimate for them; 0: it gives none. Cycles is the same in cycles of a TPU.
	Seconds float64 `json:"seconds,omitempty"`
	Cycles  float64 `json:"cycles,omitempty"`
}

// AtLeast reports whether a program may launch more than its loops count, because one of unknown length counts as one
// iteration.
func AtLeast(loops []Loop) bool {
	return slices.ContainsFunc(loops, func(l Loop) bool { return l.Trips == 0 })
}

// Loops returns the entry and all loops, each before those inside it.
func (m *Module) Loops() []Loop {
	return m.loops(nil, m.Entry, m.Entry.Name, 0, 1, 1)
}

// loops appends a computation that runs so many times, and the loops inside it.
func (m *Module) loops(all []Loop, c *Computation, name string, depth int, trips, times int64) []Loop {
	l := Loop{Name: name, Depth: depth, Trips: trips}
	inside := m.count(&l, c)
	l.Launches = times * int64(len(l.Kernels)+len(l.Collectives))
	l.Seconds *= float64(times)
	l.Cycles *= float64(times)
	all = append(all, l)
	for _, x := range inside {
		if body := m.called(x); len(body) > 0 { // the body comes before the condition
			trips := m.Trips(x)
			all = m.loops(all, body[0], x.Name, depth+1, trips, times*max(1, trips))
		}
	}
	return all
}

// count adds the kernels of a computation, and of those that it calls, to a loop. It returns the loops inside. Of a
// conditional, it counts the branch with the most kernels.
func (m *Module) count(l *Loop, c *Computation) (inside []*Instruction) {
	size := map[int64]int64{}
	for _, x := range c.Instructions {
		size[x.id] = x.Bytes
	}
	read := func(x *Instruction) (n int64) {
		for _, id := range x.operands {
			n += size[id]
		}
		return n
	}
	for _, x := range c.Instructions {
		opcode, _ := strings.CutSuffix(x.Opcode, "-start")
		switch {
		case x.Opcode == "while":
			inside = append(inside, x)
		case x.Opcode == "conditional":
			var most Loop
			var loops []*Instruction
			for _, branch := range m.called(x) {
				var one Loop
				if more := m.count(&one, branch); len(one.Kernels) >= len(most.Kernels) {
					most, loops = one, more
				}
			}
			l.add(most)
			inside = append(inside, loops...)
		case x.Opcode == "call" || x.Opcode == "async-start":
			for _, callee := range m.called(x) {
				inside = append(inside, m.count(l, callee)...)
			}
		case slices.Contains(collectives, opcode):
			l.Collectives = append(l.Collectives, Kernel{x.Name, opcode, x.Bytes, read(x)})
		case slices.Contains(launching, x.Opcode) && x.Target != "AllocateBuffer":
			k := Kernel{x.Name, x.Opcode, x.Bytes, read(x)}
			if x.Target != "" {
				k.Opcode = x.Target
			}
			l.add(Loop{Kernels: []Kernel{k}, Seconds: x.Microseconds() * 1e-6, Cycles: x.Cycles()})
		}
	}
	return inside
}

// add adds the kernels of another computation.
func (l *Loop) add(of Loop) {
	l.Kernels = append(l.Kernels, of.Kernels...)
	l.Collectives = append(l.Collectives, of.Collectives...)
	l.Seconds += of.Seconds
	l.Cycles += of.Cycles
}

// called returns the computations that an instruction calls.
func (m *Module) called(x *Instruction) []*Computation {
	var all []*Computation
	for _, id := range x.called {
		if c := m.byID[id]; c != nil {
			all = append(all, c)
		}
	}
	return all
}

// Estimate returns a time in seconds for all loops of a program: each launch takes the time in which memory of a
// bandwidth, in bytes a second, passes its arguments and its result, but at least the time of a launch. It is the roof
// of a device whose kernels wait for memory or launches, as those of small networks do; it leaves arithmetic out.
func Estimate(loops []Loop, bandwidth, launch float64) (seconds float64) {
	for _, l := range loops {
		if len(l.Kernels)+len(l.Collectives) == 0 {
			continue
		}
		times := float64(l.Launches) / float64(len(l.Kernels)+len(l.Collectives))
		for _, k := range slices.Concat(l.Kernels, l.Collectives) {
			seconds += times * max(launch, float64(k.Bytes+k.Read)/bandwidth)
		}
	}
	return seconds
}
