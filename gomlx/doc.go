// Package gomlx runs GoMLX models inside xlarun. GoMLX builds a model through the interface of a compute.Backend. The
// Backend of this package records what is built with the ops of package graph.
//
//   - A Model is such a recording: a function of a map of variables and of inputs. It works under graph.VMap,
//     graph.Scan and graph.Grad, so that a population of GoMLX networks is one program.
//   - A Policy is a Model for one observation. Register gives it a name for command lines: evolve, ppo and the other
//     kinds of run then train it as any other.
//   - A Backend also compiles and runs, so that GoMLX's own executors, layers and trainers work on it.
//
// Ops that package graph lacks are refused by their names: those of complex numbers with float64 parts, of axes without
// a fixed size and of several devices, and the fused ones, for which GoMLX writes plain ops instead.
//
// This is a Go module of its own. Nobody else pays for what GoMLX needs.
package gomlx
