// Package bodies computes how rigid bodies move, as MuJoCo does: kinematics, inertia, passive forces, actuators, limits
// and contacts as MuJoCo's convex problem, its Euler and Runge-Kutta steps. Each function names what it is in MuJoCo;
// the formulas are in its documentation, chapter "Computation".
//
// The equations are written once, in three dimensions, over [scalars.Num]. What is zero in a model folds away when a
// program is recorded, so a planar model costs what planar equations cost, and with known numbers the same functions
// are the float64 reference.
package bodies
