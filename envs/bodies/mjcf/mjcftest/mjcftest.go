// Package mjcftest compares models.
package mjcftest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs/bodies"
)

// Equal requires two models to be one mechanism: numbers to 1e-9, in the same order. Principal axes may be others
// where they give the same tensor, quaternions may have the other sign, and pairs another order.
func Equal(t *testing.T, want, got *bodies.Model, name string) {
	t.Helper()
	a, b := text(want), text(got)
	for i := range min(len(a), len(b)) {
		require.Equal(t, a[i], b[i], name)
	}
	require.Equal(t, len(a), len(b), name)
}

// text has a line for each part of a model.
func text(m *bodies.Model) (lines []string) {
	add := func(part string, values ...any) {
		line := part
		for _, v := range values {
			switch v := v.(type) {
			case float64:
				line += " " + round(v)
			case []float64:
				for _, x := range v {
					line += " " + round(x)
				}
			default:
				line += fmt.Sprint(" ", v)
			}
		}
		lines = append(lines, line)
	}
	add("option", m.Timestep, m.Integrator, m.Gravity[:], m.Density, m.Viscosity, m.Impratio)
	for _, b := range m.Bodies {
		add("body", b.Name, b.Parent, b.Pos[:], sign(b.Quat), b.Mass, b.Com[:], tensor(b))
	}
	for _, j := range m.Joints {
		add("joint", j.Name, j.Type, j.Body, j.Pos[:], j.Axis[:], j.Ref, j.SpringRef, j.Stiffness, j.Damping,
			j.Armature)
		if j.Limited {
			add("limit", j.Range[:], j.Margin, j.Solref[:], j.Solimp[:])
		}
	}
	for _, g := range m.Geoms {
		add("geom", g.Name, g.Type, g.Body, g.Pos[:], sign(g.Quat), g.Friction[:], g.Condim, g.Priority, g.Margin,
			g.Solref[:], g.Solimp[:], g.Solmix)
		add("size", g.Size[:map[bodies.GeomType]int{bodies.Sphere: 1, bodies.Capsule: 2, bodies.Cylinder: 2}[g.Type]])
	}
	for _, s := range m.Sites {
		add("site", s.Name, s.Body, s.Pos[:])
	}
	for _, a := range m.Actuators {
		add("actuator", a.Name, a.Joint, a.Gear, a.Gain, a.Bias[:], a.ControlLimited, a.ControlRange[:], a.ForceLimited,
			a.ForceRange[:])
	}
	at := len(lines)
	for _, p := range m.Pairs {
		add("pair", slices.Min(p.Geoms[:]), slices.Max(p.Geoms[:]))
	}
	slices.Sort(lines[at:])
	return lines
}

// round has nine digits, and no sign of zero.
func round(x float64) string {
	if math.Abs(x) < 1e-10 {
		return "0"
	}
	return fmt.Sprintf("%.9g", x)
}

func sign(q [4]float64) []float64 {
	for _, x := range q {
		if math.Abs(x) > 1e-10 {
			for i := range q {
				q[i] *= math.Copysign(1, x)
			}
			break
		}
	}
	return q[:]
}

// tensor is the inertia about the centre of mass in the body's frame: xx yy zz xy xz yz.
func tensor(b bodies.Body) (out []float64) {
	w, x, y, z := b.ComQuat[0], b.ComQuat[1], b.ComQuat[2], b.ComQuat[3]
	m := [3][3]float64{{1 - 2*(y*y+z*z), 2 * (x*y - w*z), 2 * (x*z + w*y)},
		{2 * (x*y + w*z), 1 - 2*(x*x+z*z), 2 * (y*z - w*x)}, {2 * (x*z - w*y), 2 * (y*z + w*x), 1 - 2*(x*x+y*y)}}
	scale := max(b.Inertia[0], b.Inertia[1], b.Inertia[2])
	for _, ij := range [][2]int{{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}} {
		s := 0.0
		for k := range 3 {
			s += m[ij[0]][k] * b.Inertia[k] * m[ij[1]][k]
		}
		if math.Abs(s) < 1e-9*scale {
			s = 0
		}
		out = append(out, s)
	}
	return out
}
