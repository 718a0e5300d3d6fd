// Package envs defines the interface of environments. It has the registry of environments and tools to write one. The
// environments of xlarun are in families below it (envs/classic, …), one file each. Importing a family registers its
// environments; importing envs/all registers every family.
//
// An environment is written for one member: states, observations and parameters have no batch axis. graph.VMap adds the
// axis of a population, also to the parameters, which are data like any other tree.
//
// # How to write an environment
//
// An environment is one file, in any package and module; the example below is complete. It has
//
//   - a state and parameters: structs whose exported fields are *graph.Array. Tags state the range of a parameter,
//     `min:"0" max:"1"` (RangeOf);
//   - a type with the methods of Env. Spec names the environment and its spaces (Discrete, Box; Symmetric makes the
//     usual one). Reset and Step are pure: randomness comes only from their key, memory only from the state. Step
//     begins with CheckAction and counts its steps with Tick. Go's if and for cannot depend on the values of arrays:
//     use graph.Select and graph.Scan;
//   - the line func init() { envs.MustRegister(Mine{}) }.
//
// SinCos and WrapAngle are faster than graph.Sin and graph.Mod, for environments with cheap steps. Refuse reports a
// caller's mistake at the caller's line.
//
// What an environment can do beyond the methods of Env are its Traits: draw a state (Draw; package draw has a
// canvas), describe behavior, have several objectives, numbers of its own about an episode (Report), illegal actions,
// several players (Referee implements the rules that all games share) or sizes that shapes depend on, such as the
// cells of a grid. It has a trait if it has the method of that name. Spec states all of them except drawing and
// sizes. TraitsOf finds them in any environment, also in one that Erase or AutoReset has wrapped, or in your own that
// has a method Traits.
//
// A test of one line, envtest.Check, reports where an environment breaks these rules.
package envs
