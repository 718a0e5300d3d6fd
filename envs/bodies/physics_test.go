package bodies

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/third_party/oracles"
)

func taskOf(t *testing.T, name string) task {
	all := tasks(t, 4)
	i := slices.IndexFunc(all, func(x task) bool { return x.Name == name })
	require.GreaterOrEqual(t, i, 0)
	return all[i]
}

// A body in free flight that nothing damps keeps its energy: the kinetic one and that of its height.
func TestEnergyStays(t *testing.T) {
	m := taskOf(t, "Ant").Model
	m.Pairs, m.Actuators, m.Timestep = nil, nil, 1e-3
	for j := range m.Joints {
		m.Joints[j].Damping, m.Joints[j].Limited = 0, false
	}
	s := m.dynamics(m.values(), 4)
	random := rand.New(rand.NewPCG(1, 2))
	x := state{q: knowns(m.Rest())}
	for range s.dofs {
		x.v, x.warm = append(x.v, k(random.NormFloat64())), append(x.warm, num{})
	}
	energy := func(x state) float64 {
		f := s.kinematics(x.q)
		total := mul(k(.5), dot(x.v, s.massMatrix(f).times(x.v)))
		for b := range m.Bodies {
			total = add(total, mul(mul(s.mass[b], k(9.81)), add(f.origin[b][2], f.com[b][2])))
		}
		out, _ := total.Value()
		return out
	}
	before := energy(x)
	x, _, _ = s.substeps(x, nil, 200)
	require.InEpsilon(t, before, energy(x), 1e-9)
}

// The ops of a free body at rest have derivatives: by a speed its place moves, and its quaternion at half the rate.
func TestDerivativesAtRest(t *testing.T) {
	m := taskOf(t, "Ant").Model
	m.Bodies, m.Joints, m.Geoms, m.Pairs, m.Actuators = m.Bodies[:2], m.Joints[:1], nil, nil, nil
	require.Equal(t, []any{RK4, Free}, []any{m.Integrator, m.Joints[0].Type})
	at := func(x []float64) *graph.Array { return graph.Float64s(x, len(x)) }
	still := at(make([]float64, 6))
	got, err := graph.Floats(graph.Grad(func(v *graph.Array) *graph.Array {
		d, _ := m.Step(Data{at(m.Rest()), v, still}, at(nil), Params{}, Options{Ops: true})
		return graph.Sum(d.Q)
	})(still))
	require.NoError(t, err)
	h := m.Timestep
	require.InDeltaSlice(t, []float64{h, h, h, h / 2, h / 2, h / 2}, got, 1e-12)
}

// At the solver's optimum rows push where they are active only, none pulls, and forces and accelerations agree.
func TestContactsAreComplementary(t *testing.T) {
	for _, name := range []string{"Ant", "Humanoid"} {
		x := taskOf(t, name)
		s := x.Model.dynamics(x.Model.values(), 4)
		q, v, u := rows(x.Qpos), rows(x.Qvel), rows(x.Control)
		pushing := 0
		for i := 0; i < len(q); i += 20 {
			p, acc, force := s.forward(state{knowns(q[i]), knowns(v[i]), make([]num, len(s.dofs))}, knowns(u[i]))
			excess := along(p.jacobian(acc), k(-1), p.reference)
			push := numbers(pushes(active(p.weight, excess), excess))
			for n, x := range numbers(excess) {
				require.GreaterOrEqual(t, push[n], 0.)
				require.Equal(t, x < 0, push[n] > 0)
				if push[n] > 0 {
					pushing++
				}
			}
			pushed := along(p.smooth, k(1), p.forces(knowns(push)))
			require.LessOrEqual(t, oracles.Apart(numbers(pushed), numbers(force)), 1e-9)
			require.LessOrEqual(t, oracles.Apart(numbers(p.mass.times(acc)), numbers(force)), 1e-9)
		}
		require.Greater(t, pushing, 20, name)
	}
}

// Ant with the same control on opposite legs stays above its place, and opposite legs move alike.
func TestSymmetricBodiesMoveSymmetrically(t *testing.T) {
	x := taskOf(t, "Ant")
	m := x.Model
	s := m.dynamics(m.values(), 4)
	q := []float64{0, 0, .75, 1, 0, 0, 0, 0, 1, 0, -1, 0, -1, 0, 1}
	at := state{knowns(q), make([]num, 14), make([]num, 14)}
	for step := range 15 {
		control := make([]num, 8)
		for i, a := range m.Actuators {
			leg, ankle := (a.Joint-1)/2, (a.Joint-1)%2 == 1
			u := math.Sin(float64(step+leg%2) + 2)
			if ankle && leg >= 2 { // its axis is that of the opposite leg
				u = -u
			}
			control[i] = k(u)
		}
		at, _, _ = s.substeps(at, control, x.Skip)
	}
	got := numbers(at.q)
	require.Greater(t, math.Abs(got[7]), .05)
	require.LessOrEqual(t, oracles.Apart([]float64{got[0], got[1], got[4], got[5], got[7], got[8], got[9], got[10]},
		[]float64{0, 0, 0, 0, got[11], -got[12], got[13], -got[14]}), 1e-9)
}

// A contact has MuJoCo's least friction if its geoms have less, and accelerations are numbers.
func TestLeastFriction(t *testing.T) {
	x := taskOf(t, "HalfCheetah")
	with := func(friction float64) (out []float64) {
		v := x.Model.values()
		for i := range v.friction {
			v.friction[i] = k(friction)
		}
		s := x.Model.dynamics(v, 4)
		q, v0, u := rows(x.Qpos), rows(x.Qvel), rows(x.Control)
		for i := 0; i < len(q); i += 20 {
			_, acc, _ := s.forward(state{knowns(q[i]), knowns(v0[i]), make([]num, len(s.dofs))}, knowns(u[i]))
			out = append(out, numbers(acc)...)
		}
		return out
	}
	want := with(1e-5)
	require.Equal(t, want, with(0))
	require.NotEqual(t, want, with(.1))
	for _, a := range want {
		require.Less(t, math.Abs(a), 1e5)
	}
}

// Numbers that are inputs come to what a model with these numbers comes to, and derivatives pass them.
func TestParamsAreTheModelsNumbers(t *testing.T) {
	x := taskOf(t, "Hopper")
	q, v, u := rows(x.Qpos), rows(x.Qvel), rows(x.Control)
	at := func(x []float64) *graph.Array { return graph.Float64s(x, len(x)) }
	step := func(m *Model, i int, p Params) []float64 {
		d, f := m.Step(Data{at(q[i]), at(v[i]), at(make([]float64, 6))}, at(u[i]), p, Options{Skip: 2,
			Frames: Contacts, Ops: true})
		out, err := graph.Floats(graph.Concatenate(0, d.V, f.Force.Reshape(30)))
		require.NoError(t, err)
		return out
	}
	other := *x.Model
	other.Bodies, other.Geoms, other.Joints = slices.Clone(other.Bodies), slices.Clone(other.Geoms),
		slices.Clone(other.Joints)
	for b := range other.Bodies {
		other.Bodies[b].Mass *= 1.5
		other.Bodies[b].Pos[2] *= 1.25
	}
	for g := range other.Geoms {
		other.Geoms[g].Friction[0] *= .5
		other.Geoms[g].Size[1] *= 1.25
	}
	for j := range other.Joints {
		other.Joints[j].Damping *= 2
	}
	other.Gravity[2] = -5
	p := other.Params()
	p = Params{Mass: p.Mass, Pos: p.Pos, Friction: p.Friction, Size: p.Size, Damping: p.Damping, Gravity: p.Gravity}
	for _, i := range []int{3, 60} {
		want := step(&other, i, Params{})
		require.LessOrEqual(t, oracles.Apart(step(x.Model, i, p), want), 1e-4, "float32 numbers") // of 1.5 and so on
		require.Greater(t, oracles.Apart(step(x.Model, i, Params{}), want), 1e-2)
	}
	pendulum := taskOf(t, "InvertedPendulum").Model
	last := func(mass *graph.Array) *graph.Array {
		d, _ := pendulum.Step(Data{at([]float64{.1, .2}), at([]float64{.3, -.5}), at([]float64{0, 0})},
			at([]float64{1}),
			Params{Mass: mass}, Options{Skip: 2, Ops: true})
		return d.V.Index(1)
	}
	mass := []float64{0, 10, 5}
	got, err := graph.Floats(graph.Grad(last)(at(mass)))
	require.NoError(t, err)
	value := func(by float64) float64 {
		out, err := graph.Float(last(at([]float64{0, 10, 5 + by})))
		require.NoError(t, err)
		return out
	}
	require.InEpsilon(t, (value(1e-5)-value(-1e-5))/2e-5, got[2], 1e-6)
}

// A contact has the numbers of the geom with the higher priority, or those of both mixed: what MuJoCo 4.0 has in
// mjData.contact of a sphere on a plane. Check once took the greater condim, and refused the fifth and the sixth.
func TestContactOfTwoGeoms(t *testing.T) {
	type touch struct {
		friction float64
		ref      [2]float64
		imp      [5]float64
	}
	floor := touch{.3, [2]float64{.03, .8}, [5]float64{.8, .9, .01, .4, 3}}
	foot := touch{.7, [2]float64{.05, 1.2}, [5]float64{.6, .7, .02, .5, 3}}
	both := touch{.7, [2]float64{.035, .9}, [5]float64{.75, .85, .0125, .425, 3}} // solmix 3 and 1
	for _, c := range []struct {
		priority, condim [2]int // of the floor and the foot
		want             touch
		dim              int
	}{
		{[2]int{0, 0}, [2]int{1, 3}, both, 3}, {[2]int{1, 1}, [2]int{3, 1}, both, 3},
		{[2]int{1, 0}, [2]int{1, 3}, floor, 1}, {[2]int{1, 0}, [2]int{3, 1}, floor, 3},
		{[2]int{2, 1}, [2]int{3, 4}, floor, 3}, {[2]int{0, 1}, [2]int{6, 3}, foot, 3},
		{[2]int{0, 1}, [2]int{1, 3}, foot, 3}, {[2]int{0, 1}, [2]int{3, 1}, foot, 1},
	} {
		m := taskOf(t, "Ant").Model
		for i := range m.Geoms {
			of, n := foot, min(i, 1)
			if i == 0 {
				of = floor
			}
			g := &m.Geoms[i]
			g.Priority, g.Condim, g.Friction[0] = c.priority[n], c.condim[n], of.friction
			g.Solref, g.Solimp, g.Solmix = of.ref, of.imp, []float64{3, 1}[n]
		}
		require.NoError(t, m.Check(), "%+v", c)
		s := m.dynamics(m.values(), 4)
		f := s.kinematics(knowns(m.Rest()))
		got := s.meet(f, s.segments(f), m.Pairs[0])[0]
		friction, _ := got.friction.Value()
		require.Equal(t, []any{c.dim, c.want.friction}, []any{got.dim, friction}, "%+v", c)
		numbers := func(r rule) []float64 {
			return []float64{r.low, r.high, r.width, r.mid, float64(r.power), r.stiffness, r.damping}
		}
		require.InEpsilonSlice(t, numbers(s.rule(c.want.ref, c.want.imp)), numbers(got.rule), 1e-12, "%+v", c)
	}
}

// What is not computed is refused by element and name.
func TestCheckRefuses(t *testing.T) {
	for _, c := range []struct {
		change func(m *Model)
		want   string
	}{
		{func(m *Model) { m.Integrator = "implicit" }, `option: integrator "implicit": want Euler or RK4`},
		{func(m *Model) { m.Impratio = 10 }, `option: impratio 10: want 1`},
		{func(m *Model) { m.Timestep = 0 }, `option: timestep 0: want more than 0`},
		{func(m *Model) { m.Bodies[1].Parent = 3 }, `body "torso": parent 3: want one of the bodies before`},
		{func(m *Model) { m.Bodies[1].Mass = -1 }, `body "torso": mass -1: want at least 0`},
		{func(m *Model) { m.Joints[0].Type = "ball" }, `joint "root": type "ball": want free, slide or hinge`},
		{func(m *Model) { m.Joints[1].Range, m.Joints[1].Margin = [2]float64{0, .01}, .01 },
			`joint "hip_1": range [0 0.01]: want one wider than two margins of 0.01`},
		{func(m *Model) { m.Geoms[0].Condim = 2 }, `geom "floor": condim 2: want 1 or 3`}, // which no pair has
		{func(m *Model) { m.Geoms[1].Condim = 4 },
			`geom "torso_geom": condim 4 for contacts with geom "floor": want 1 or 3`},
		{func(m *Model) { m.Geoms[1].Type = "box" },
			`geom "torso_geom": type "box" of a geom that may touch others: want plane, sphere, capsule ` +
				`or cylinder`},
		{func(m *Model) { m.Geoms[2].Type, m.Pairs = Cylinder, []Pair{{[2]int{2, 1}}} },
			`geom "torso_geom": contact of a sphere with geom "aux_1_geom", a cylinder: want one of plane with ` +
				`sphere, plane with capsule, plane with cylinder, sphere with sphere, sphere with capsule, ` +
				`capsule with capsule, capsule with cylinder, or no contact (contype, conaffinity)`},
		{func(m *Model) { m.Geoms[1].Solimp[4] = 2.5 },
			`geom "torso_geom": solimp [0.9 0.95 0.001 0.5 2.5]: want a power that is one of 1, 2 … 8`},
		{func(m *Model) { m.Geoms[1].Type = Cylinder },
			`geom "torso_geom": a cylinder that may touch geom "floor", a plane: want it to slide along the plane ` +
				`only, or no contact (contype, conaffinity)`},
		{func(m *Model) { m.Pairs[0].Geoms[1] = 99 }, `pair: geoms [0 99]: want two of 14`},
		{func(m *Model) { m.Actuators[0].Joint = 0 },
			`actuator 0: joint "root" is a free one: want a hinge or a slide`},
	} {
		m := taskOf(t, "Ant").Model
		c.change(m)
		require.EqualError(t, m.Check(), c.want, c.want)
	}
}
