// Package envs defines what an environment is, and holds the registry of environments and the tools to write one. The
// environments that come with xlarun lie in families below it (envs/classic, …), one file each; importing a family
// registers its environments, importing envs/all registers every family.
//
// An environment is written for one member: states, observations and parameters have no batch axis. graph.VMap gives
// a population its axis, also over the parameters, which are data like any other tree.
//
// # How to write an environment
//
// It is one file, in any package and module; the example below is a whole one. It takes
//
//   - a state and parameters: structs whose exported fields are *graph.Array. Tags state the range of a parameter,
//     `min:"0" max:"1"` (RangeOf);
//   - a type with the methods of Env. Spec names the environment and its spaces (Discrete, Box; Symmetric makes the
//     usual one). Reset and Step are pure: randomness comes only from their key, memory only from the state. Step
//     begins with CheckAction and counts its steps with Tick. Go's own if and for cannot depend on the values of
//     arrays: use graph.Select and graph.Scan;
//   - the line func init() { envs.MustRegister(Mine{}) }.
//
// SinCos and WrapAngle are quicker than graph.Sin and graph.Mod where a step is little else. Refuse tells whoever
// called the environment about a mistake of theirs.
//
// What else an environment can do it says by having more methods, each an interface of its own: it can be drawn
// (Drawer; package draw has a canvas), describe how it was played (Describer), have several objectives (Scorer),
// actions that may be illegal (Masker), several players (Game; Referee does what every game does alike). Spec claims
// these too. DrawerOf, DescriberOf, … find them in any environment, also in one that Erase, AutoReset or a Wrapper of
// one's own has wrapped.
//
// A test of one line, envtest.Check, finds where the environment does not keep what it claims.
package envs
