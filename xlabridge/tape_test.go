package xlabridge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/scalars"
	"xlarun/internal/long"
	"xlarun/xlabridge/kernels"
)

type num = scalars.Num

// Sizes of the one program that runs all tapes of these tests: vectors of tapeWidth numbers, tapes that are filled up.
const tapeWidth, tapeWords, tapeNumbers = 8, 1 << 14, 600

// tapeRunner runs tapes in float32 and float64, for members for which only holds; nil: all.
type tapeRunner func(t *testing.T, p *scalars.Program, members [][]float64, only []bool) (single, double [][]float64)

func newTapeRunner(c *Client) tapeRunner {
	type args struct{ Single, Double, Only, Code, Numbers *array }
	type results struct{ Single, Double *array }
	kernel := &graph.Kernel{Target: "xlarun_tape", Shared: 2}
	run := Jit(c, func(a args) results {
		call := func(x *array) *array {
			return graph.VMap(func(in [2]*array) *array {
				return graph.WithKernel(kernel, func(in []*array) []*array { return in[:1] }, in[0], in[1], a.Code,
					a.Numbers)[0]
			})([2]*array{x, a.Only})
		}
		return results{call(a.Single), call(a.Double)}
	})
	return func(t *testing.T, p *scalars.Program, members [][]float64, only []bool) (single, double [][]float64) {
		tape := p.Tape()
		code := make([]int32, tapeWords)
		numbers := make([]float64, tapeNumbers)
		require.Less(t, len(tape.Code), tapeWords)
		require.Less(t, len(tape.Numbers), tapeNumbers)
		copy(code, tape.Code)
		copy(numbers, tape.Numbers)
		var flat []float64
		for _, m := range members {
			require.Len(t, m, tapeWidth)
			flat = append(flat, m...)
		}
		x := graph.Float64s(flat, len(members), tapeWidth)
		if only == nil {
			only = slices.Repeat([]bool{true}, len(members))
		}
		got, err := run(args{graph.Convert(x, graph.Float32), x, graph.Of(only), graph.Of(code),
			graph.Float64s(numbers, len(numbers))})
		require.NoError(t, err)
		rows := func(a *array) (out [][]float64) {
			all := floats(t, a)
			for len(all) > 0 {
				out, all = append(out, all[:tapeWidth]), all[tapeWidth:]
			}
			return out
		}
		return rows(got.Single), rows(got.Double)
	}
}

// ofWidth is a program with vectors of tapeWidth.
func ofWidth(f func(x []num) []num) *scalars.Program {
	return scalars.Record([]int{tapeWidth}, func(in [][]num) [][]num {
		out := append(f(in[0]), make([]num, tapeWidth)...)
		return [][]num{out[:tapeWidth]}
	})
}

func knownNums(x []float64) []num {
	out := make([]num, len(x))
	for i := range x {
		out[i] = scalars.Known(x[i])
	}
	return out
}

// equalBits are the same bytes, all NaN being one.
func equalBits(x, y float64) bool {
	return math.Float64bits(x) == math.Float64bits(y) || math.IsNaN(x) && math.IsNaN(y)
}

func requireBits(t *testing.T, want, have []float64, format string, args ...any) {
	t.Helper()
	for i := range want {
		if !equalBits(want[i], have[i]) {
			require.Fail(t, "different bytes", "%s: result %d is %v, want %v", fmt.Sprintf(format, args...), i,
				have[i], want[i])
		}
	}
}

// tapeFloat is the arithmetic of a type on numbers that it has. Small numbers are zero, as in XLA's threads.
type tapeFloat struct{ wide bool }

func (f tapeFloat) round(x float64) float64 {
	least := 0x1p-1022
	if !f.wide {
		x, least = float64(float32(x)), 0x1p-126
	}
	if math.Abs(x) < least {
		return math.Copysign(0, x)
	}
	return x
}

func (f tapeFloat) fma(x, y, z float64) float64 {
	if f.wide {
		return f.round(math.FMA(x, y, z))
	}
	// The product is exact. The sum is rounded to odd, so that rounding it to float32 is the only rounding.
	p := x * y
	s := p + z
	if back := s - p; !math.IsInf(s, 0) && !math.IsNaN(s) {
		if rest := (p - (s - back)) + (z - back); rest != 0 && math.Float64bits(s)&1 == 0 {
			s = math.Nextafter(s, math.Copysign(math.Inf(1), rest))
		}
	}
	return f.round(s)
}

// The polynomials of xlabridge/kernels/tape_types.h.
var (
	tapeParts = map[bool][]float64{false: {0x1.921fb6p+1, -0x1.777a5cp-24, -0x1.ee59dap-49},
		true: {0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53, -0x1.f1976b7ed8fbcp-109}}
	tapeSine = map[bool][]float64{false: {2.605780537e-6, -1.980960224e-4, 8.333066478e-3, -1.666665971e-1},
		true: {1 / 51090942171709440000., -1 / 121645100408832000., 1 / 355687428096000., -1 / 1307674368000.,
			1 / 6227020800., -1 / 39916800., 1 / 362880., -1 / 5040., 1 / 120., -1 / 6.}}
)

func (f tapeFloat) sine(x float64, cosine bool) float64 {
	ahead := 0.
	if cosine {
		ahead = .5
	}
	rounder, far := 0x1.8p52, 0x1p26
	if !f.wide {
		rounder, far = 0x1.8p23, 8192
	}
	switch {
	case !(math.Abs(x) <= far) && cosine:
		return f.round(math.Cos(x))
	case !(math.Abs(x) <= far):
		return f.round(math.Sin(x))
	}
	reciprocal := f.round(1 / math.Pi)
	n := f.round(f.round(f.fma(x, reciprocal, ahead)+rounder) - rounder)
	odd := math.Mod(n, 2) != 0
	n -= ahead
	r := x
	for _, part := range tapeParts[f.wide] {
		r = f.fma(-n, part, r)
	}
	z := f.round(r * r)
	p := 0.
	for i, c := range tapeSine[f.wide] {
		if c = f.round(c); i == 0 {
			p = c
		} else {
			p = f.fma(p, z, c)
		}
	}
	y := f.fma(f.round(r*z), p, r)
	if odd {
		y = -y
	}
	if x == 0 && !cosine {
		return x
	}
	return y
}

// interpret runs a tape for one member, an instruction at a time.
func (f tapeFloat) interpret(tape *scalars.Tape, in []float64) []float64 {
	values, constants, words := tape.Code[0], tape.Code[1], tape.Code[2]
	code, outs := tape.Code[3:3+words], tape.Code[3+words:]
	reg := make([]float64, values+constants)
	for i, x := range in {
		reg[i] = f.round(x)
	}
	for i := range constants {
		reg[values+i] = f.round(tape.Numbers[i])
	}
	truth := map[bool]float64{true: 1}
	type loop struct{ start, trips, done int }
	var loops []loop
	for at := 0; at < len(code); {
		c := code[at:]
		x := func(i int) float64 { return reg[c[i]] }
		three := func(y float64) { reg[c[1]] = y; at += 5 }
		two := func(y float64) { reg[c[1]] = y; at += 4 }
		one := func(y float64) { reg[c[1]] = y; at += 3 }
		switch c[0] {
		case 0:
			two(f.round(x(2) + x(3)))
		case 1:
			two(f.round(x(2) - x(3)))
		case 2:
			two(f.round(x(2) * x(3)))
		case 3:
			two(f.round(x(2) / x(3)))
		case 4:
			two(min(x(2), x(3)))
		case 5:
			two(max(x(2), x(3)))
		case 6:
			one(-x(2))
		case 7:
			one(math.Abs(x(2)))
		case 8:
			one(f.round(math.Sqrt(x(2))))
		case 9:
			one(f.sine(x(2), false))
		case 10:
			one(f.sine(x(2), true))
		case 11:
			two(truth[x(2) < x(3)])
		case 12:
			two(truth[x(2) <= x(3)])
		case 13:
			two(truth[x(2) == x(3)])
		case 14:
			two(x(2) * x(3))
		case 15:
			two(max(x(2), x(3)))
		case 16:
			one(1 - x(2))
		case 17:
			if x(2) != 0 {
				three(x(3))
			} else {
				three(x(4))
			}
		case 18:
			three(f.fma(x(2), x(3), x(4)))
		case 19:
			three(f.fma(x(2), x(3), -x(4)))
		case 20:
			three(f.fma(-x(2), x(3), x(4)))
		case 21:
			sum, n := 0., int(c[2])
			for k := range n {
				i, j := c[3+2*k], c[4+2*k]
				x := 0.
				if i < 0 {
					x = -reg[^i]
				} else {
					x = reg[i]
				}
				switch {
				case k > 0:
					sum = f.fma(x, reg[j], sum)
				case j < 0:
					sum = x
				default:
					sum = f.round(x * reg[j])
				}
			}
			reg[c[1]] = sum
			at += 3 + 2*n
		case 22:
			one(x(2))
		case 23:
			reg[c[1]] = 1
			at += 2
		case 24:
			two(f.round(tape.Numbers[int(c[2])+int(c[3])*loops[len(loops)-1].done]))
		case 25:
			at += 2
			loops = append(loops, loop{at, int(c[1]), 0})
		case 26, 27:
			l := &loops[len(loops)-1]
			l.done++
			if l.done < l.trips && (c[0] == 26 || x(1) != 0) {
				at = l.start
				continue
			}
			loops = loops[:len(loops)-1]
			if at++; c[0] == 27 {
				at += 3 + int(c[2])
			}
		case 28:
			at += 3
			if x(1) == 0 {
				at += int(c[2])
			}
		}
	}
	result := make([]float64, len(outs))
	for i, r := range outs {
		result[i] = reg[r]
	}
	return result
}

// check compares a program's tape, for some members in tiles, with the interpretation of each member.
func (run tapeRunner) check(t *testing.T, name string, p *scalars.Program, members [][]float64) {
	t.Helper()
	single, double := run(t, p, members, nil)
	tape := p.Tape()
	for k, x := range members {
		for i, have := range [][]float64{single[k], double[k]} {
			f := tapeFloat{wide: i == 1}
			for j := range have { // what is not computed may be small
				have[j] = f.round(have[j])
			}
			requireBits(t, f.interpret(tape, x), have, "%s, type %d, member %d %v", name, i, k, x)
		}
	}
}

// eachTapeSet runs a test with each instruction set that the processor has.
func eachTapeSet(t *testing.T, f func(t *testing.T)) {
	for i, name := range kernels.VectorSets() {
		kernels.UseTapeSet(i)
		t.Run(name, f)
	}
	kernels.UseTapeSet(-1)
}

// Every instruction is IEEE arithmetic, for each pair of numbers that are special, on each instruction set.
func TestTapeInstructions(t *testing.T) {
	run := newTapeRunner(always(open(t, Options{})))
	inf := math.Inf(1)
	special := []float64{0, math.Copysign(0, -1), 1, -1, .1, -2.5, 3e38, -1e300, inf, -inf, math.NaN(), 0x1p-126,
		0x1p-1022, 1e-40, 5e-324, 7, 1234.5, -8191.9}
	var members [][]float64
	for _, x := range special {
		for _, y := range special {
			members = append(members, []float64{x, y, special[len(members)%len(special)], -.75, 3, 0, 0, 0})
		}
	}
	members = members[:256]
	choose := func(c scalars.Cond) num { return scalars.Select(c, scalars.Known(1), scalars.Known(2)) }
	programs := map[string]func(x []num) []num{
		"binary": func(x []num) []num {
			a, b := x[0], x[1]
			return []num{scalars.Add(a, b), scalars.Sub(a, b), scalars.Mul(a, b), scalars.Div(a, b), scalars.Min(a, b),
				scalars.Max(a, b), scalars.Neg(a), scalars.Abs(a)}
		},
		"unary": func(x []num) []num {
			near := scalars.Select(scalars.Le(scalars.Abs(x[0]), scalars.Known(8192)), x[0], x[1])
			near = scalars.Clamp(scalars.Known(-8192), near, scalars.Known(8192)) // the library computes the others
			return []num{scalars.Sqrt(x[0]), scalars.Sin(near), scalars.Cos(near), scalars.Neg(scalars.Sin(near))}
		},
		"conditions": func(x []num) []num {
			lt, le, eq := scalars.Lt(x[0], x[1]), scalars.Le(x[0], x[1]), scalars.Eq(x[0], x[1])
			return []num{choose(lt), choose(le), choose(eq), choose(scalars.And(le, scalars.Not(eq))),
				choose(scalars.Or(lt, eq)), scalars.Select(lt, x[2], x[1]), choose(scalars.Not(lt))}
		},
	}
	for i, sum := range []func(p, q, z num) num{
		func(p, q, z num) num { return scalars.Add(p, z) }, func(p, q, z num) num { return scalars.Sub(p, z) },
		func(p, q, z num) num { return scalars.Sub(z, p) }, func(p, q, z num) num { return scalars.Sub(p, q) },
		func(p, q, z num) num { return scalars.Sub(scalars.Sub(z, p), q) },
		func(p, q, z num) num { return scalars.Sub(q, scalars.Sub(z, p)) },
		func(p, q, z num) num { return scalars.Sum(z, p, z, q) },
	} {
		programs[fmt.Sprintf("sum %d", i)] = func(x []num) []num {
			return []num{sum(scalars.Mul(x[0], x[1]), scalars.Mul(x[2], x[3]), x[4])}
		}
	}
	eachTapeSet(t, func(t *testing.T) {
		for name, f := range programs {
			run.check(t, name, ofWidth(f), members)
		}
	})
}

// along is x + h*d.
func along(x []num, h num, d []num) []num {
	out := make([]num, len(x))
	for i := range x {
		out[i] = scalars.Add(x[i], scalars.Mul(h, d[i]))
	}
	return out
}

// rungeKutta takes steps of size h by one copy of the derivative f: a row of the tableau is the weight of a stage, the
// length of the way to the next one, and whether it is the last.
func rungeKutta(f func(y []num) []num, y []num, h float64, steps int) []num {
	var rows [][]float64
	for range steps {
		rows = append(rows, []float64{h / 6, h / 2, 0}, []float64{h / 3, h / 2, 0}, []float64{h / 3, h, 0},
			[]float64{h / 6, 0, 1})
	}
	n := len(y)
	init := append(append(append([]num{}, y...), y...), y...)
	carry, _ := scalars.Scan(rows, init, func(c, row []num) (next, last []num) {
		d := f(c[n : 2*n])
		sum, end := along(c[2*n:], row[0], d), scalars.Lt(scalars.Known(.5), row[2])
		for i := range n {
			next = append(next, scalars.Select(end, sum[i], c[i]))
		}
		for i, y := range along(c[:n], row[1], d) {
			next = append(next, scalars.Select(end, sum[i], y))
		}
		return append(next, sum...), nil
	})
	return carry[:n]
}

// lorenz is the derivative of Lorenz's system.
func lorenz(y []num) []num {
	k, mul, sub := scalars.Known, scalars.Mul, scalars.Sub
	return []num{mul(k(10), sub(y[1], y[0])), sub(mul(y[0], sub(k(28), y[2])), y[1]),
		sub(mul(y[0], y[1]), mul(k(8./3), y[2]))}
}

// acrobot is the derivative of two links' angles and velocities (envs/classic) under a torque at the elbow.
func acrobot(torque num) func(y []num) []num {
	k, add, sub, mul, div := scalars.Known, scalars.Add, scalars.Sub, scalars.Mul, scalars.Div
	return func(y []num) []num {
		sin2, cos2 := mul(k(.5), scalars.Sin(y[1])), mul(k(.5), scalars.Cos(y[1]))
		d1, d2 := add(k(3.5), mul(k(2), cos2)), add(k(1.25), cos2)
		phi2 := mul(k(4.9), scalars.Sin(add(y[0], y[1])))
		phi1 := sub(add(mul(k(14.7), scalars.Sin(y[0])), phi2), mul(sin2, mul(y[3], add(y[3], mul(k(2), y[2])))))
		ratio := div(d2, d1)
		acc2 := div(sub(add(torque, mul(ratio, phi1)), add(mul(sin2, mul(y[2], y[2])), phi2)),
			sub(k(1.25), mul(d2, ratio)))
		return []num{y[2], y[3], scalars.Neg(div(add(mul(d2, acc2), phi1), d1)), acc2}
	}
}

// cubeRoot is Newton's iteration, which takes from one to twenty turns, and the number of turns.
func cubeRoot(x num) (root, turns num) {
	k, add, sub, mul, div := scalars.Known, scalars.Add, scalars.Sub, scalars.Mul, scalars.Div
	out := scalars.Repeat(20, []num{k(1), k(0)}, func(c []num) ([]num, scalars.Cond) {
		step := div(sub(mul(c[0], mul(c[0], c[0])), x), mul(k(3), mul(c[0], c[0])))
		return []num{sub(c[0], step), add(c[1], k(1))}, scalars.Gt(scalars.Abs(step), k(1e-4))
	})
	return out[0], out[1]
}

// tapeSystems are functions with loops of both kinds, and where members begin.
var tapeSystems = []struct {
	name string
	f    func(x []num) []num
	// tolerance of float64, relative
	tolerance float64
}{
	{"lorenz", func(x []num) []num { return rungeKutta(lorenz, x[:3], .01, 5) }, 1e-13},
	{"acrobot", func(x []num) []num { return rungeKutta(acrobot(x[4]), x[:4], .05, 2) }, 1e-13},
	{"cube root", func(x []num) []num {
		root, turns := cubeRoot(x[5])
		return []num{root, turns}
	}, 1e-15},
	{"when", func(x []num) []num {
		k := scalars.Known
		return scalars.When(scalars.Gt(x[0], k(4)), func() []num {
			root, _ := cubeRoot(x[5])
			return []num{root, x[1], scalars.Sin(x[2])}
		}, []num{k(-1), x[2], x[1]})
	}, 1e-15},
	{"a loop with a carry that a When changes and nothing reads then", func(x []num) []num {
		k, add, mul := scalars.Known, scalars.Add, scalars.Mul
		touches := scalars.Lt(x[1], x[2])
		weight := scalars.Select(touches, x[5], k(0))
		out := scalars.Repeat(9, []num{x[0], k(1), x[3], k(0)}, func(c []num) ([]num, scalars.Cond) {
			sums := scalars.When(touches, func() []num {
				return []num{add(c[0], mul(weight, c[2])), add(x[4], mul(weight, c[0])), add(x[4], weight)}
			}, []num{c[0], x[4], x[4]})
			half := mul(k(.5), sums[0])
			far := scalars.When(touches, func() []num { return []num{add(c[2], half), scalars.Min(half, c[2])} },
				[]num{c[2], half})
			return []num{half, add(c[1], k(1)), far[0], add(far[1], mul(sums[1], sums[2]))},
				scalars.Gt(scalars.Abs(half), k(1))
		})
		return []num{out[0], out[1], out[3]}
	}, 1e-13},
	{"a sum reads what a When would change", func(x []num) []num {
		a := scalars.Abs(x[5])
		minus := scalars.Neg(a)
		b := scalars.When(scalars.Lt(x[0], x[1]), func() []num { return x[2:3] }, []num{a})
		return []num{b[0], scalars.Sub(minus, x[3]), minus}
	}, 1e-15},
	{"a loop that is known to end", func(x []num) []num {
		return scalars.Repeat(4, x[:2], func(c []num) ([]num, scalars.Cond) {
			return []num{c[1], scalars.Add(c[0], c[1])}, scalars.Truth(false)
		})
	}, 1e-15},
	{"an inner loop that returns the outer carry", func(x []num) []num {
		rows := [][]float64{{1}, {2}}
		carry, _ := scalars.Scan(rows, x[:2], func(outer, _ []num) (next, last []num) {
			inner, last := scalars.Scan(rows, x[2:3], func(c, row []num) (next, last []num) {
				return []num{scalars.Add(c[0], row[0])}, []num{outer[0]}
			})
			return []num{scalars.Add(outer[1], inner[0]), last[0]}, nil
		})
		return carry
	}, 1e-15},
}

func tapeStarts(n int) (members [][]float64) {
	r := rand.New(rand.NewPCG(3, 4))
	for range n {
		m := make([]float64, tapeWidth)
		for i := range m {
			m[i] = float64(float32(4 * r.NormFloat64()))
		}
		m[5] = float64(float32(math.Exp(4 * m[5] / 4)))
		members = append(members, m)
	}
	return members
}

// A member's bytes are those of its own interpretation, whatever the members beside it, how many there are, and the
// instruction set; and they are close to what the function says of known numbers. Members of the loops end at different
// turns.
func TestTapeOfTiles(t *testing.T) {
	run := newTapeRunner(always(open(t, Options{})))
	all := tapeStarts(256)
	eachTapeSet(t, func(t *testing.T) {
		for _, s := range tapeSystems {
			p := ofWidth(s.f)
			for _, n := range []int{1, 7, 12, 25, 64, 256} {
				run.check(t, s.name, p, all[len(all)-n:])
			}
		}
	})
	for _, s := range tapeSystems {
		turns := map[float64]bool{}
		_, double := run(t, ofWidth(s.f), all, nil)
		for k, x := range all {
			for i, want := range s.f(knownNums(x)) {
				want, known := want.Value()
				require.True(t, known)
				within := s.tolerance * math.Max(1, math.Abs(want))
				require.InDelta(t, want, double[k][i], within, "%s, member %d", s.name, k)
			}
			turns[double[k][1]] = true
		}
		if s.name == "cube root" {
			require.Greater(t, len(turns), 5)
		}
	}
}

// In a program Call is the kernel's, on the interpreter the ops', under VMap and Scan and for several vectors, in both
// types; results are close.
func TestCallOfScalars(t *testing.T) {
	c := always(open(t, Options{}))
	p := scalars.Record([]int{4, 1}, func(in [][]num) [][]num {
		next := rungeKutta(acrobot(in[1][0]), in[0], .05, 2)
		return [][]num{next, {scalars.Add(scalars.Cos(next[0]), scalars.Cos(scalars.Add(next[0], next[1])))}}
	})
	episode := func(in [2]*array) [2]*array {
		end, heights := graph.Scan(func(y, u *array) (*array, *array) {
			out := p.Call(y, u)
			return out[0], out[1]
		}, in[0], in[1])
		return [2]*array{end, heights}
	}
	f := func(in [2][2]*array) [2][2]*array {
		return [2][2]*array{graph.VMap(episode)(in[0]), graph.VMap(episode)(in[1])}
	}
	var y, u []float64
	for _, m := range tapeStarts(5) {
		for i := range 4 {
			y = append(y, m[i]/8)
		}
		u = append(u, m[4:7]...)
	}
	ys, us := graph.Float64s(y, 5, 4), graph.Float64s(u, 5, 3, 1)
	single := func(x *array) *array { return graph.Convert(x, graph.Float32) }
	in := [2][2]*array{{single(ys), single(us)}, {ys, us}}
	l := lowered(t, c.Target(), f, in)
	require.Contains(t, l.StableHLO, "xlarun_tape")
	got, err := Jit(c, f)(in)
	require.NoError(t, err)
	want, err := graph.Eval(f(in))
	require.NoError(t, err)
	for k, tolerance := range []float64{2e-5, 1e-13} {
		for i := range 2 {
			have := floats(t, got[k][i])
			for j, x := range floats(t, want[k][i]) {
				require.InDelta(t, x, have[j], tolerance*math.Max(1, math.Abs(x)), "type %d, result %d, %d", k, i, j)
			}
		}
	}
}

// randomScalars is a function with every operation, with loops and Whens in each other. Of whole numbers it has only
// operations that are exact: then values stay below 1,000.
func randomScalars(seed uint64, whole bool) func(x []num) []num {
	var grow func(seed uint64, depth int, pool []num) []num
	grow = func(seed uint64, depth int, pool []num) []num {
		r := rand.New(rand.NewPCG(seed, 7))
		pool = append([]num{}, pool...)
		pick := func() num {
			if r.IntN(8) == 0 {
				return scalars.Known(float64(r.IntN(5) - 2))
			}
			return pool[max(r.IntN(len(pool)), r.IntN(len(pool)))]
		}
		condition := func() scalars.Cond {
			compare := []func(x, y num) scalars.Cond{scalars.Lt, scalars.Le, scalars.Eq}[r.IntN(3)]
			x := compare(pick(), pick())
			switch y := scalars.Lt(pick(), pick()); r.IntN(5) {
			case 0:
				return scalars.And(x, y)
			case 1:
				return scalars.Or(x, scalars.Not(y))
			}
			return x
		}
		bound := func(x num) num {
			if whole {
				return scalars.Clamp(scalars.Known(-30), x, scalars.Known(30))
			}
			return x
		}
		few := func() []num { return []num{pick(), pick(), pick()} }
		for range 4 + r.IntN(12) {
			inner := r.Uint64()
			kinds := 14
			if depth == 2 {
				kinds = 10
			}
			switch r.IntN(kinds) {
			case 0:
				pool = append(pool, bound(scalars.Add(pick(), pick())))
			case 1:
				pool = append(pool, bound(scalars.Sub(pick(), pick())))
			case 2, 3:
				pool = append(pool, bound(scalars.Mul(pick(), pick())))
			case 4, 5:
				n := 2 + r.IntN(4)
				x, y := make([]num, n), make([]num, n)
				for i := range n {
					if x[i], y[i] = pick(), pick(); r.IntN(3) == 0 {
						x[i] = scalars.Neg(x[i])
					}
				}
				pool = append(pool, bound(scalars.Sub(scalars.Dot(x, y), pick())))
			case 6:
				pool = append(pool, scalars.Select(condition(), pick(), pick()))
			case 7:
				pool = append(pool, scalars.Min(pick(), pick()), scalars.Max(pick(), pick()))
			case 8:
				pool = append(pool, scalars.Neg(scalars.Abs(pick())), scalars.Neg(pick()))
			case 9:
				if !whole {
					// The library computes the sines of other numbers.
					near := scalars.Clamp(scalars.Known(-8000), pick(), scalars.Known(8000))
					pool = append(pool, scalars.Sin(near), scalars.Cos(near), scalars.Sqrt(pick()),
						scalars.Div(pick(), pick()))
				}
			case 10:
				rows := [][]float64{{1, 2, 5}, {3, 2, -1}, {0, 2, 4}}[:1+r.IntN(3)]
				init := few()
				init[r.IntN(3)] = scalars.Known(0)
				carry, last := scalars.Scan(rows, init, func(carry, row []num) (next, last []num) {
					out := grow(inner, depth+1, append(append([]num{}, pool...), append(carry, row...)...))
					k := len(out)
					return []num{carry[1], out[k-1], out[k-2]}, []num{out[k-3], carry[0], row[0]}
				})
				pool = append(append(pool, carry...), bound(last[0]), last[1], last[2])
			case 11:
				pool = append(pool, scalars.Repeat(1+r.IntN(4), few(), func(carry []num) ([]num, scalars.Cond) {
					out := grow(inner, depth+1, append(append([]num{}, pool...), carry...))
					k := len(out)
					return []num{out[k-1], carry[0], out[k-2]}, scalars.Lt(out[k-1], out[k-3])
				})...)
			case 12:
				pool = append(pool, scalars.When(condition(), func() []num {
					out := grow(inner, depth+1, pool)
					return out[len(out)-3:]
				}, few())...)
			case 13: // a carry that a When changes, some of it by a choice, and that not all is read of then
				changes, other := condition(), pick()
				pool = append(pool, scalars.Repeat(1+r.IntN(4), few(), func(carry []num) ([]num, scalars.Cond) {
					out := scalars.When(changes, func() []num {
						out := grow(inner, depth+1, append(append([]num{}, pool...), carry...))
						x, y := out[len(out)-1], out[len(out)-2]
						return []num{bound(scalars.Sub(x, carry[0])), scalars.Select(scalars.Lt(x, y), x, carry[1]), y}
					}, carry)
					return out, scalars.Lt(bound(scalars.Add(out[0], out[2])), other)
				})[r.IntN(3):]...)
			}
		}
		return pool
	}
	return func(x []num) []num {
		out := grow(seed, 0, x)
		return out[len(out)-tapeWidth:]
	}
}

// withSpecials is members of which three in four have a number that is special.
func withSpecials(members [][]float64) [][]float64 {
	special := []float64{math.Copysign(0, -1), math.Inf(1), math.NaN(), math.Inf(-1), 0}
	for k, m := range members {
		if k%4 > 0 {
			m[k/4%tapeWidth] = special[k%len(special)]
		}
	}
	return members
}

// A member has the same bytes alone, among 300 others, and where others are left out, which come to zeros.
func TestTapeOfAMemberAlone(t *testing.T) {
	run := newTapeRunner(always(open(t, Options{})))
	functions := 8
	if long.On() {
		functions = 100
	}
	members := withSpecials(tapeStarts(301))
	only := make([]bool, len(members))
	for k := range only {
		only[k] = k%3 == 0
	}
	for seed := range uint64(functions) {
		p := ofWidth(randomScalars(seed, false))
		single, double := run(t, p, members, nil)
		single2, double2 := run(t, p, members, only)
		for k := range members {
			if !only[k] {
				single[k], double[k] = make([]float64, tapeWidth), make([]float64, tapeWidth)
			}
			requireBits(t, single[k], single2[k], "function %d, float32, member %d", seed, k)
			requireBits(t, double[k], double2[k], "function %d, float64, member %d", seed, k)
			if k%60 == 0 {
				single, double := run(t, p, members[k:k+1], nil)
				requireBits(t, single[0], single2[k], "function %d, float32, member %d alone", seed, k)
				requireBits(t, double[0], double2[k], "function %d, float64, member %d alone", seed, k)
			}
		}
	}
}

// Tapes of random functions have the bytes of their interpretation, and of whole numbers the values of the function of
// known numbers, of the tape and of the ops.
func TestTapeOfRandomFunctions(t *testing.T) {
	run := newTapeRunner(always(open(t, Options{})))
	functions := 12
	if long.On() {
		functions = 500
	}
	members := tapeStarts(64)
	whole := make([][]float64, len(members))
	for k, m := range members {
		for _, x := range m {
			whole[k] = append(whole[k], math.Round(math.Mod(x, 8)))
		}
	}
	members = withSpecials(members)
	for seed := range uint64(functions) {
		name := fmt.Sprintf("function %d", seed)
		run.check(t, name, ofWidth(randomScalars(seed, false)), members)
		f := randomScalars(seed, true)
		p := ofWidth(f)
		single, double := run(t, p, whole, nil)
		ops, err := graph.Eval(graph.VMap(func(x *array) *array { return p.Ops(x)[0] })(graph.Float64s(
			slices.Concat(whole[:8]...), 8, tapeWidth)))
		require.NoError(t, err)
		flat := floats(t, ops)
		for k, x := range whole {
			for i, y := range f(knownNums(x)) {
				want, _ := y.Value()
				have := []float64{single[k][i], double[k][i]}
				if k < 8 {
					have = append(have, flat[k*tapeWidth+i])
				}
				for _, x := range have {
					require.True(t, x == want, "%s of whole numbers, member %d, result %d: %v, not %v", name, k, i,
						have, want)
				}
			}
		}
	}
}

// Sines and cosines are as close as their type allows, for all sizes of angles.
func TestTapeSines(t *testing.T) {
	run := newTapeRunner(always(open(t, Options{})))
	r := rand.New(rand.NewPCG(5, 6))
	var members [][]float64
	for len(members) < 256 {
		m := make([]float64, tapeWidth)
		for i := range m {
			m[i] = float64(float32(math.Ldexp(r.NormFloat64(), r.IntN(40)-20)))
			if i == 7 {
				m[i] = math.Pi / 2 * float64(len(members)-128) // where one is zero
			}
		}
		members = append(members, m)
	}
	for name, of := range map[string]struct {
		f    func(num) num
		want func(float64) float64
	}{"sine": {scalars.Sin, math.Sin}, "cosine": {scalars.Cos, math.Cos}} {
		single, double := run(t, ofWidth(func(x []num) []num {
			out := make([]num, len(x))
			for i := range x {
				out[i] = of.f(x[i])
			}
			return out
		}), members, nil)
		for k, m := range members {
			for i, x := range m {
				require.InDelta(t, of.want(x), double[k][i], 2.5e-16, "%s of %v", name, x)
				narrow := of.want(float64(float32(x)))
				within := 1.3e-7 * math.Max(math.Abs(narrow), 1e-3)
				require.InDelta(t, narrow, single[k][i], within, "%s of float32 %v", name, x)
			}
		}
	}
}

// Members that are left out have zeros, and the others what they have alone: in the kernel, which runs the latter in
// full registers and then in narrower ones, as by ops.
func TestCallOfSomeMembers(t *testing.T) {
	c := always(open(t, Options{}))
	p := scalars.Record([]int{2}, func(in [][]num) [][]num {
		return [][]num{rungeKutta(acrobot(in[0][1]), []num{in[0][0], in[0][1], in[0][0], in[0][1]}, .05, 2), in[0]}
	})
	const members = 150
	type args struct{ Only, X *array }
	f := func(a args) [2]*array {
		return graph.VMap(func(a args) [2]*array {
			out := p.CallOnly(a.Only, a.X)
			return [2]*array{out[0], out[1]}
		})(a)
	}
	x := make([]float64, 2*members)
	for i := range x {
		x[i] = math.Sin(float64(i))
	}
	run := Jit(c, f)
	for _, d := range []graph.DType{graph.Float32, graph.Float64} {
		in := graph.Float64s(x, members, 2).Convert(d)
		all, err := run(args{graph.Ones(graph.ShapeOf(graph.Bool, members)), in})
		require.NoError(t, err)
		for _, count := range []int{0, 1, 70, 149} {
			only := make([]bool, members)
			for k := range count {
				only[k*37%members] = true
			}
			a := args{graph.Of(only), in}
			got, err := run(a)
			require.NoError(t, err)
			ops, err := graph.Eval(f(a))
			require.NoError(t, err)
			for i := range got {
				xs, err := graph.Floats(got[i])
				require.NoError(t, err)
				of, err := graph.Floats(all[i])
				require.NoError(t, err)
				near, err := graph.Floats(ops[i])
				require.NoError(t, err)
				for k := range xs {
					if !only[k*members/len(xs)] {
						of[k] = 0
					}
				}
				require.Equal(t, of, xs)
				require.InDeltaSlice(t, near, xs, 1e-4)
			}
		}
	}
}

// A tape that is damaged is an error: a word or more of it is any number, or it ends early.
func TestDamagedTapes(t *testing.T) {
	c := always(open(t, Options{}))
	p := scalars.Record([]int{tapeWidth}, func(in [][]num) [][]num {
		root, turns := cubeRoot(in[0][5])
		y := rungeKutta(lorenz, in[0][:3], .01, 2)
		w := scalars.When(scalars.Lt(y[0], root), func() []num { return []num{scalars.Sin(y[1])} }, y[:1])
		return [][]num{{root, turns, y[0], y[1], y[2], w[0], scalars.Known(1), scalars.Known(2)}}
	})
	tape := p.Tape()
	type args struct{ X, Code, Numbers *array }
	run := Jit(c, func(a args) *array {
		return graph.WithKernel(&graph.Kernel{Target: "xlarun_tape", Shared: 2},
			func(in []*array) []*array { return in[:1] }, a.X, a.Code, a.Numbers)[0]
	})
	call := func(code []int32) error {
		_, err := run(args{graph.Ones(graph.ShapeOf(graph.Float32, tapeWidth)), graph.Of(code),
			graph.Float64s(tape.Numbers, len(tape.Numbers))})
		return err
	}
	require.NoError(t, call(tape.Code))
	damaged := 0
	r := rand.New(rand.NewPCG(8, 9))
	for k := range 1500 {
		code := slices.Clone(tape.Code)
		at := k % len(code)
		code[at] = []int32{-1, math.MaxInt32, math.MinInt32, r.Int32N(100), code[at] + 1, int32(len(code))}[r.IntN(6)]
		if code[at] > 1000 && at > 0 && code[at-1] == 25 {
			continue // so many iterations are not wrong, but take long
		}
		if err := call(code); err != nil {
			require.ErrorContains(t, err, "xlarun_tape got a tape that is damaged")
			damaged++
		}
	}
	require.Greater(t, damaged, 500)

	// written is a tape of 9 registers, a constant and some instructions, as long as the other ones.
	written := func(instructions ...int32) []int32 {
		code := make([]int32, len(tape.Code))
		outs := append(slices.Clone(instructions), 0, 1, 2, 3, 4, 5, 6, 7)
		copy(code, append([]int32{9, 1, int32(len(instructions))}, outs...))
		return code
	}
	// A sound tape is remembered. Another one, whose sums of words and sums of these sums are the same, is not sound.
	code := written(slices.Repeat([]int32{22, 8, 2}, 16)...)
	require.NoError(t, call(code))
	code[4], code[20], code[36] = code[4]+1, code[20]-2, code[36]+1
	require.ErrorContains(t, call(code), "xlarun_tape got a tape that is damaged")
	// A loop whose iterations add register 1 to register 0 and compare with the constant, which is in register 9.
	loop := func(carry int32, list ...int32) []int32 {
		return written(append([]int32{23, 8, 25, 20, 0, 0, 0, 1, 11, 8, 0, 9, 27, 8, int32(len(list)), carry},
			list...)...)
	}
	require.NoError(t, call(loop(1, 0, 1, 9)))
	for _, list := range [][]int32{{0, 1}, {0, 9}, {1, 9}, {0, 1, 8}} {
		require.ErrorContains(t, call(loop(1, list...)), "xlarun_tape got a tape that is damaged", "%v", list)
	}
}

// The ops have derivatives, through both kinds of loops: those of finite differences of known numbers.
func TestDerivativesOfScalars(t *testing.T) {
	start := []float64{.3, -.4, .5, .6, -.2, 8, 0, 0}
	for _, s := range tapeSystems[:3] {
		p := ofWidth(s.f)
		got, err := graph.Eval(graph.Grad(func(x *array) *array {
			return graph.Sum(graph.Square(p.Ops(x)[0]))
		})(graph.Float64s(start, tapeWidth)))
		require.NoError(t, err)
		loss := func(i int, step float64) (sum float64) {
			x := slices.Clone(start)
			x[i] += step
			for _, y := range s.f(knownNums(x)) {
				value, _ := y.Value()
				sum += value * value
			}
			return sum
		}
		moved := 0
		for i, have := range floats(t, got) {
			want := (loss(i, 1e-5) - loss(i, -1e-5)) / 2e-5
			require.InDelta(t, want, have, 1e-6*math.Max(1, math.Abs(want)), "%s by number %d", s.name, i)
			if want != 0 {
				moved++
			}
		}
		require.Positive(t, moved)
	}
}

// What a When leaves as it is stays known, and is not part of it.
func TestWhenKeepsKnownNumbers(t *testing.T) {
	scalars.Record([]int{2}, func(in [][]num) [][]num {
		x := in[0]
		out := scalars.When(scalars.Lt(x[0], x[1]), func() []num { return []num{scalars.Known(3), x[1], x[0]} },
			[]num{scalars.Known(3), x[1], x[1]})
		three, known := out[0].Value()
		require.True(t, known)
		require.Equal(t, 3., three)
		require.Equal(t, x[1], out[1])
		_, known = out[2].Value()
		require.False(t, known)
		return [][]num{out}
	})
}
