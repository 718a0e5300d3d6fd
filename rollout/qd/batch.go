package qd

import "xlarun/graph"

// Batch are the members of a generation.
type Batch struct {
	Genomes    *graph.Array // f32[batch, n]
	Fitness    *graph.Array // f32[batch]
	Descriptor *graph.Array `tree:"optional"` // f32[batch, d], within the bounds; nil without descriptors
	Unit       *graph.Array `tree:"optional"` // f32[batch, d]: the descriptor with its bounds at 0 and 1
	Objectives *graph.Array `tree:"optional"` // f32[batch, k]; nil unless there are several
	Cell       *graph.Array // i32[batch]: where the descriptor lies; any number of members that are not Valid
	Near       *Near        `tree:"optional"` // elites near to the member; nil without ContainerTraits.Near
	Valid      *graph.Array // bool[batch]: fitness, objectives and descriptor are finite
}

// Change says what an insertion did to each member: bool[batch], Improvement f32[batch].
type Change struct {
	Added    *graph.Array // the member became the elite of its cell
	New      *graph.Array // Added, and the cell was empty
	Accepted *graph.Array // its fitness was above the threshold of its cell
	Empty    *graph.Array // its cell had no elite
	// Improvement is the member's fitness less the threshold of its cell before the insertion. It is the fitness itself
	// where there was no threshold, and -Inf for members that are not valid.
	Improvement *graph.Array
	// Novelty, NoRoom and Valid are of DistanceArchive, else nil: the member's mean distance to the nearest elites,
	// f32[batch], whether the archive was full, and Batch.Valid.
	Novelty *graph.Array `tree:"optional"`
	NoRoom  *graph.Array `tree:"optional"`
	Valid   *graph.Array `tree:"optional"`
}
