package scalars_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/scalars"
)

type num = scalars.Num

var (
	add, sub, mul, div = scalars.Add, scalars.Sub, scalars.Mul, scalars.Div
	known              = scalars.Known
)

// along is x + h*d.
func along(x []num, h num, d []num) []num {
	out := make([]num, len(x))
	for i := range x {
		out[i] = add(x[i], mul(h, d[i]))
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
	carry, _ := scalars.Scan(rows, append(append(append([]num{}, y...), y...), y...), func(c, row []num) (next, last []num) {
		start, at, sum := c[:n], c[n:2*n], c[2*n:]
		d := f(at)
		sum = along(sum, row[0], d)
		at = along(start, row[1], d)
		end := scalars.Lt(known(.5), row[2])
		for i := range n {
			next = append(next, scalars.Select(end, sum[i], start[i]))
		}
		for i := range n {
			next = append(next, scalars.Select(end, sum[i], at[i]))
		}
		return append(next, sum...), nil
	})
	return carry[:n]
}

// lorenz is the derivative of Lorenz's system.
func lorenz(y []num) []num {
	return []num{mul(known(10), sub(y[1], y[0])), sub(mul(y[0], sub(known(28), y[2])), y[1]),
		sub(mul(y[0], y[1]), mul(known(8./3), y[2]))}
}

// acrobot is the derivative of two links' angles and velocities under a torque at the elbow.
func acrobot(torque num) func(y []num) []num {
	return func(y []num) []num {
		sin2, cos2 := scalars.Sin(y[1]), scalars.Cos(y[1])
		d1 := add(known(3.5), cos2)
		d2 := add(known(1.25), mul(known(.5), cos2))
		phi2 := mul(known(4.9), scalars.Sin(add(y[0], y[1])))
		phi1 := sub(add(mul(known(14.7), scalars.Sin(y[0])), phi2),
			mul(mul(known(.5), sin2), mul(y[3], add(y[3], mul(known(2), y[2])))))
		ratio := div(d2, d1)
		acc2 := div(sub(add(torque, mul(ratio, phi1)), add(mul(mul(known(.5), sin2), mul(y[2], y[2])), phi2)),
			sub(known(1.25), mul(d2, ratio)))
		return []num{y[2], y[3], scalars.Neg(div(add(mul(d2, acc2), phi1), d1)), acc2}
	}
}

// system is a function of a state and a control.
type system struct {
	name  string
	state []float64
	f     func(y, u []num) []num
}

var systems = []system{
	{"lorenz", []float64{1, 2, 20}, func(y, _ []num) []num { return rungeKutta(lorenz, y, .01, 5) }},
	{"acrobot", []float64{.3, -.7, .5, 1}, func(y, u []num) []num { return rungeKutta(acrobot(u[0]), y, .05, 2) }},
}

func knowns(x ...float64) []num {
	out := make([]num, len(x))
	for i := range x {
		out[i] = known(x[i])
	}
	return out
}

func values(t *testing.T, x []num) []float64 {
	out := make([]float64, len(x))
	for i := range x {
		v, known := x[i].Value()
		require.True(t, known)
		out[i] = v
	}
	return out
}

func (s system) program() *scalars.Program {
	return scalars.Record([]int{len(s.state), 1}, func(in [][]num) [][]num { return [][]num{s.f(in[0], in[1])} })
}

// The ops of a recorded function come to what the function of known numbers comes to.
func TestOpsAreTheKnownNumbers(t *testing.T) {
	for _, s := range systems {
		want := values(t, s.f(knowns(s.state...), knowns(.5)))
		p := s.program()
		got, err := graph.Eval(p.Ops(graph.Float64s(s.state, len(s.state)), graph.Float64s([]float64{.5}, 1))[0])
		require.NoError(t, err)
		x, err := graph.ToTensor(got)
		require.NoError(t, err)
		for i := range want {
			require.InDelta(t, want[i], x.F(i), 1e-12*math.Max(1, math.Abs(want[i])), s.name)
		}
	}
}
