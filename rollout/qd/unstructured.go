package qd

import (
	"fmt"
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/quantity"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
)

func init() {
	MustRegisterArchive("unstructured", &Unstructured{Number: 1024, Distance: .03, Neighbors: 10})
}

// Unstructured keeps members that behave differently from each other, without cells: a member that is farther than a
// distance from all elites is one more, and another replaces the elite that is nearest if its fitness is higher. A
// member with two elites within the distance is dropped. That is the rule of Cully and Demiris, "Quality and diversity
// optimization: a unifying modular framework" (2018), as in QDax 0.5.0. Distances are between descriptors with their
// bounds at 0 and 1.
//
// The novelty of a member is its mean distance to the nearest elites (Lehman and Stanley, "Abandoning objectives:
// evolution through the search for novelty alone", 2011).
type Unstructured struct {
	Number    int     `set:"most" args:"" min:"2" max:"16777216" help:"elites at most"`
	Distance  float64 `set:"distance" above:"0" help:"least distance of elites, where the bounds are 0 and 1"`
	Neighbors int     `set:"neighbors" min:"1" max:"1024" help:"nearest elites whose mean distance is a member's novelty, for --emitter.ranking novelty"`
}

// Needs implements ArchiveMaker.
func (*Unstructured) Needs() Needs { return Needs{Descriptor: true} }

// Make returns the container.
func (u *Unstructured) Make(of Measures) (Container, error) {
	if err := settings.Check(u); err != nil {
		return nil, err
	}
	return distanceContainer{withoutCells(u.Number), u, of.Descriptor}, nil
}

// DistanceArchive is the Archive of Unstructured: the first Count places have an elite.
type DistanceArchive struct {
	Genomes    *graph.Array // f32[most, n]
	Fitness    *graph.Array // f32[most]; -Inf where there is no elite
	Descriptor *graph.Array // f32[most, d]
	Unit       *graph.Array // f32[most, d]: the descriptor with its bounds at 0 and 1; Inf where there is no elite
	Generation *graph.Array // i32[most]
	Count      *graph.Array // i32[]
	Distance   *graph.Array // f32[]: least distance of elites
}

// Near says where the elites are that are near to a member.
type Near struct {
	Place   *graph.Array // i32[batch]: of the nearest elite
	First   *graph.Array // f32[batch]: its distance; Inf if there is none
	Second  *graph.Array // f32[batch]: distance of the next one
	Novelty *graph.Array // f32[batch]: mean distance of the nearest ones; 0 if there is none
}

// distanceContainer is the Container of DistanceArchive.
type distanceContainer struct {
	withoutCells
	settings *Unstructured
	d        int
}

// Traits say that it measures novelty, which needs much memory.
func (c distanceContainer) Traits() ContainerTraits {
	return ContainerTraits{Near: c.Near, Workspace: c.Workspace, Rows: []run.DisplayRow{
		{Label: "novelty", Plain: true, Rare: true, Parts: []run.Part{{Metric: "mean_novelty"}}, Curve: "mean_novelty",
			Color: "cyan"},
		{Label: "full", Plain: true, Rare: true, Parts: []run.Part{{Metric: "members_without_room", Format: run.Whole,
			Behind: " members found no room: give more --archive.most",
			One:    " member found no room: give more --archive.most"}}},
	}, Rare: map[string]string{"no_room": "members_without_room"}}
}

// Most is the largest number of elites.
func (c distanceContainer) Most() int { return c.Cells() }

// Workspace returns the bytes of the distances between the members, and of those from a tile of members to the elites.
func (c distanceContainer) Workspace(batch, tile int) int64 {
	return 4 * (int64(batch)*int64(batch) + int64(tile)*int64(c.Cells()))
}

// Empty returns an archive without elites.
func (c distanceContainer) Empty(n int, _ Scoring) Archive {
	most := c.Cells()
	shape := graph.ShapeOf(graph.Float32, most, c.d)
	return DistanceArchive{graph.Zeros(graph.ShapeOf(graph.Float32, most, n)),
		graph.Full(graph.ShapeOf(graph.Float32, most), math.Inf(-1)), graph.Zeros(shape),
		graph.Full(shape, math.Inf(1)), graph.Zeros(graph.ShapeOf(graph.Int32, most)),
		graph.Scalar(0, graph.Int32),
		graph.Scalar(c.settings.Distance)}
}

// Near is ContainerTraits.Near. Of equally near elites the first one counts as the nearest.
func (c distanceContainer) Near(archive Archive, unit *graph.Array) *Near {
	all := archive.(DistanceArchive).Unit.Sub(unit.ExpandDims(0)).Square().Sum(1)
	values, places := graph.TopK(all.Neg(), min(c.Cells(), max(2, c.settings.Neighbors)))
	distances := graph.Once(values.Neg().Sqrt())
	counts := distances.IsFinite().And(graph.Iota(distances.Dim(0)).Lt(c.settings.Neighbors))
	sum := graph.Select(counts, distances, 0.).Sum()
	return &Near{places.Index(0), distances.Index(0), distances.Index(1), sum.Div(count(counts).Max(1))}
}

// Metrics names the numbers of DistanceArchive.Metrics.
func (distanceContainer) Metrics() []string {
	return []string{"elites", "qd_score", "best_fitness", "mean_novelty", "added", "improved", "no_room"}
}

// Summary says how many elites there are.
func (c distanceContainer) Summary(metric func(name string) float64) string {
	return fmt.Sprintf("%s, at most %d, QD score %.6g, best %.4g", quantity.Count(metric("elites"), "elite", "elites"),
		c.Cells(), metric("qd_score"), metric("best_fitness"))
}

// Size returns the number of elites.
func (a DistanceArchive) Size() *graph.Array { return a.Count }

// Places has a row for each place.
func (a DistanceArchive) Places() Places {
	return Places{Cell: graph.Iota(a.Fitness.Dim(0)), Genomes: a.Genomes, Fitness: a.Fitness, Generation: a.Generation,
		Descriptor: a.Descriptor}
}

// Draw draws an elite uniformly.
func (a DistanceArchive) Draw(key random.Key) *graph.Array {
	return graph.Take(a.Genomes, random.Randint(key, graph.ShapeOf(graph.Int32), 0, a.Count.Max(1)), 0)
}

// Insert adds the members that are far from all elites, and those that are better than the nearest one. Of members that
// are within the distance of each other, the best one counts, of equal ones the first. Of the members within the
// distance of an elite only the best one can replace it. If that one is dropped, none does. Both are QDax's rules.
func (a DistanceArchive) Insert(b Batch, generation *graph.Array, _ Scoring) (Archive, Change) {
	most, batch := a.Fitness.Dim(0), b.Fitness.Dim(0)
	replaces := b.Near.First.Le(a.Distance)
	before := graph.Take(a.Fitness, b.Near.Place, 0)
	stays := b.Valid.And(b.Near.Second.Gt(a.Distance)).And(a.hasBetterNeighbor(b).Not())
	best := firstBest(most, b.Near.Place, b.Fitness, b.Valid.And(replaces))
	improved := stays.And(replaces).And(best).And(b.Fitness.Gt(before))
	apart := stays.And(replaces.Not())
	place := graph.CumSum(apart.Convert(graph.Int32), 0).Add(a.Count).Sub(1)
	added := apart.And(place.Lt(most))

	c := Change{Added: improved.Or(added), New: added, Accepted: improved.Or(added), Empty: replaces.Not(),
		Improvement: graph.Select(replaces, b.Fitness.Sub(before), b.Fitness), Novelty: b.Near.Novelty, Valid: b.Valid,
		NoRoom: apart.And(added.Not())}
	c.Improvement = graph.Select(b.Valid, c.Improvement, math.Inf(-1))
	to := graph.Select(improved, b.Near.Place, graph.Select(added, place, most)) // beyond the end: dropped
	return DistanceArchive{
		Genomes:    graph.ScatterSet(a.Genomes, to, b.Genomes),
		Fitness:    graph.ScatterSet(a.Fitness, to, b.Fitness),
		Descriptor: graph.ScatterSet(a.Descriptor, to, b.Descriptor),
		Unit:       graph.ScatterSet(a.Unit, to, b.Unit),
		Generation: graph.ScatterSet(a.Generation, to, generation.BroadcastTo(batch)),
		Count:      a.Count.Add(added.Convert(graph.Int32).Sum()),
		Distance:   a.Distance,
	}, c
}

// hasBetterNeighbor returns the members with a better one within the distance: bool[batch]. As in QDax, members at
// exactly the distance from each other do not meet. An elite at exactly the distance does.
func (a DistanceArchive) hasBetterNeighbor(b Batch) *graph.Array {
	row := func(x *graph.Array) *graph.Array { return x.ExpandDims(1) }
	column := func(x *graph.Array) *graph.Array { return x.ExpandDims(0) }
	number := graph.Iota(b.Fitness.Dim(0))
	better := column(b.Fitness).Gt(row(b.Fitness)).Or(
		column(b.Fitness).Eq(row(b.Fitness)).And(column(number).Lt(row(number))))
	distance := row(b.Unit).Sub(column(b.Unit)).Square().Sum(2).Sqrt()
	return better.And(column(b.Valid)).And(distance.Lt(a.Distance)).Any(1)
}

// Metrics returns the numbers of distanceContainer.Metrics.
func (a DistanceArchive) Metrics(c Change, s Scoring) []*graph.Array {
	elites := a.Count.Convert(graph.Float32)
	novelty := graph.Select(c.Valid, c.Novelty, 0.).Sum().Div(count(c.Valid).Max(1))
	sum := graph.Select(a.Fitness.Gt(math.Inf(-1)), a.Fitness, graph.ZerosLike(a.Fitness)).Sum()
	return []*graph.Array{elites, sum.Add(s.Offset.Array().Mul(elites)), a.Fitness.ReduceMax(), novelty,
		count(c.New), count(c.Added.And(c.New.Not())), count(c.NoRoom)}
}
