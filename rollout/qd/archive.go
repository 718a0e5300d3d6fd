package qd

import (
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/run"
)

// Archive holds the members that a search has kept, its elites. It is a tree of arrays, the same on every device. Its
// methods are traced.
type Archive interface {
	// Insert puts members into the archive, and returns what that did to each of them.
	Insert(b Batch, generation *graph.Array, s Scoring) (Archive, Change)
	// Draw returns the genome of a random elite, as a parent: f32[n]. It is 0 if the archive has none.
	Draw(key random.Key) *graph.Array
	// Size returns the number of elites, i32[]; with several in a cell, the number of cells that have one. It is 0 only
	// if the archive is empty.
	Size() *graph.Array
	// Metrics returns the numbers, f32[], that Container.Metrics names, after an insertion.
	Metrics(c Change, s Scoring) []*graph.Array
	// Places returns a row for each place of an elite.
	Places() Places
}

// Places has a row for each place that an elite can have.
type Places struct {
	Cell       *graph.Array // i32[places]: rising
	Genomes    *graph.Array // f32[places, n]
	Fitness    *graph.Array // f32[places]: mean return; -Inf where there is no elite
	Generation *graph.Array // i32[places]: when the elite was found, from 0
	Descriptor *graph.Array `tree:"optional"` // f32[places, d]; nil without descriptors
	Objectives *graph.Array `tree:"optional"` // f32[places, k]; nil unless there are several
}

// Container is a kind of archive: where members belong, and which of them it keeps.
type Container interface {
	Tessellation
	// Empty returns the archive without elites, for genomes of n numbers. It is traced.
	Empty(n int, s Scoring) Archive
	// Most returns the number of places for elites.
	Most() int
	// Metrics returns the names of the numbers of Archive.Metrics. One of them is "best_fitness".
	Metrics() []string
	// Summary says in some words what an archive has, by the last metrics.
	Summary(metric func(name string) float64) string
	// Traits says what else the container can do.
	Traits() ContainerTraits
}

// ContainerTraits are what a Container can do beyond its methods. A nil function means that it does not.
type ContainerTraits struct {
	// Near returns the elites near to a descriptor, f32[d], whose bounds are at 0 and 1: it measures how far members
	// are from its elites. It is traced, for one member.
	Near func(a Archive, unit *graph.Array) *Near
	// Rows are rows of the display that Config.Board does not have.
	Rows []run.DisplayRow
	// Rare are further names of metrics, by the name in Container.Metrics. They are known only in a generation in which
	// the number is above 0.
	Rare map[string]string
	// Workspace returns the bytes for an insertion of so many members, for the metrics, and for the novelty of a tile
	// of the members: the most that is needed at a time.
	Workspace func(batch, tile int) int64
}

// ArchiveMaker is a pointer to a struct of settings that make a Container.
type ArchiveMaker interface {
	// Make returns the container. Its errors are *settings.Error.
	Make(of Measures) (Container, error)
	// Needs says what the archive needs. It does not depend on the settings.
	Needs() Needs
}

// Needs says what an archive needs.
type Needs struct {
	Cells      bool // of descriptors; --front makes fronts in them
	Descriptor bool
	Objectives bool // several of them
	// Emitter suits the archive where genomes have bounds, as the emitter's settings have them; "": the default does.
	Emitter string
}

// Measures says what is known of each member.
type Measures struct {
	// Descriptor is the number of elements of a descriptor; 0: there is none.
	Descriptor int
	Objectives
}
