// Package bodies computes how rigid bodies move, as MuJoCo does: kinematics, inertia, passive forces, actuators, limits
// and contacts as MuJoCo's convex problem, its Euler and Runge-Kutta steps. Each function names what it is in MuJoCo;
// the formulas are in its documentation, chapter "Computation".
//
// A [Model] is structure and numbers as MuJoCo compiles them. [Model.Step] plays a control for some substeps:
//
//	next, frames := model.Step(data, control, bodies.Params{}, bodies.Options{Skip: 5, Frames: bodies.Places})
//
// It is a function of one member, as everything that is traced; VMap gives it members. [Params] are numbers that are
// inputs: masses, lengths, gears, friction, gravity. On CPUs a step is one call of a kernel, for which nothing is
// compiled, elsewhere and with Options.Ops ordinary ops, which have derivatives (graph/scalars).
//
// The equations are written once, in three dimensions, over [scalars.Num]. What is zero in a model folds away when a
// program is recorded, so a planar model costs what planar equations cost, and with known numbers the same functions
// are the float64 reference.
//
// # What differs from MuJoCo
//
//   - The solver goes to the optimum, whatever solver, iterations and tolerance a model asks for.
//   - Of many pairs without friction, such as those of a humanoid's limbs, the nearest eight have contacts.
//   - Capsules that lie side by side have two contacts, as in MuJoCo 4. Engine 3 gives them one, and so do many pairs
//     without friction. A capsule that lies flat on a cylinder has one contact. MuJoCo's normal there is an
//     approximation.
//   - Contacts add to Frames.Force of bodies that move only.
//
// [Model.Check] says what is not computed.
package bodies
