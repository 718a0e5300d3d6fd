package qd

import (
	"fmt"
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/quantity"
	"xlarun/rollout/settings"
)

func init() { MustRegisterArchive("nsga2", &NSGA2{Number: 256}) }

// NSGA2 keeps a population by several objectives, without descriptors: the elitist non-dominated sorting genetic
// algorithm of Deb et al., "A fast and elitist multiobjective genetic algorithm: NSGA-II" (2002). The first fronts of
// the population and a generation together survive. If the last of these fronts does not fit whole, its members with
// the largest crowding distance survive. A parent is the better of two by front, then by crowding distance.
type NSGA2 struct {
	Number int `set:"size" args:"" min:"2" max:"65536" help:"members of the population"`
}

// Needs implements ArchiveMaker.
func (*NSGA2) Needs() Needs { return Needs{Objectives: true, Emitter: "sbx"} }

// Make returns the population's container.
func (p *NSGA2) Make(of Measures) (Container, error) {
	return populationPlaces{withoutCells(p.Number), of}, settings.Check(p)
}

// Population is the Archive of NSGA2: the best members so far, the best first.
type Population struct {
	Genomes    *graph.Array // f32[size, n]
	Fitness    *graph.Array // f32[size]: mean return; -Inf where there is no member
	Generation *graph.Array // i32[size]
	Objectives *graph.Array // f32[size, k]; -Inf where there is no member
	Front      *graph.Array // i32[size]: from 0, rising
	Crowding   *graph.Array // f32[size]: within the front
}

// populationPlaces is the Container of Population.
type populationPlaces struct {
	withoutCells
	of Measures
}

// Traits say that an insertion needs much memory.
func (c populationPlaces) Traits() ContainerTraits { return ContainerTraits{Workspace: c.Workspace} }

// Most is the size.
func (c populationPlaces) Most() int { return c.Cells() }

// Empty returns a population without members.
func (c populationPlaces) Empty(n int, _ Scoring) Archive {
	size := c.Cells()
	whole := graph.Zeros(graph.ShapeOf(graph.Int32, size))
	worst := graph.Full(graph.ShapeOf(graph.Float32, size), math.Inf(-1))
	return Population{graph.Zeros(graph.ShapeOf(graph.Float32, size, n)), worst, whole,
		graph.Full(graph.ShapeOf(graph.Float32, size, len(c.of.names())), math.Inf(-1)), whole, graph.ZerosLike(worst)}
}

// Workspace returns the bytes of who dominates whom, and of the hypervolume.
func (c populationPlaces) Workspace(batch, _ int) int64 {
	n := int64(c.Cells() + batch)
	return 4*n*n + hypervolumeBytes(c.Cells(), len(c.of.names()))
}

// Metrics names the numbers of Population.Metrics.
func (populationPlaces) Metrics() []string {
	return []string{"hypervolume", "first_front", "elites", "best_fitness", "added"}
}

// Summary says how many members are non-dominated.
func (c populationPlaces) Summary(metric func(name string) float64) string {
	return fmt.Sprintf("%.0f of %s non-dominated, hypervolume %.6g%s", metric("first_front"),
		quantity.Count(metric("elites"), "member", "members"), metric("hypervolume"),
		c.of.remark(metric("hypervolume"), metric("elites")))
}

// Size returns the number of members.
func (a Population) Size() *graph.Array { return occupied(a.Objectives).Convert(graph.Int32).Sum() }

// Places has a row for each member.
func (a Population) Places() Places {
	return Places{Cell: graph.Iota(a.Genomes.Dim(0)), Genomes: a.Genomes, Fitness: a.Fitness,
		Generation: a.Generation, Objectives: a.Objectives}
}

// Draw draws two members uniformly and returns the better one.
func (a Population) Draw(key random.Key) *graph.Array {
	two := random.Randint(key, graph.ShapeOf(graph.Int32, 2), 0, a.Size().Max(1))
	front, crowd := graph.Take(a.Front, two, 0), graph.Take(a.Crowding, two, 0)
	second := front.Index(1).Lt(front.Index(0)).Or(front.Index(1).Eq(front.Index(0)).And(
		crowd.Index(1).Gt(crowd.Index(0))))
	return graph.Take(a.Genomes, graph.Select(second, two.Index(1), two.Index(0)), 0)
}

// Insert lets the best of the population and the members survive. Of equal ones those of the population are better, and
// earlier ones.
func (a Population) Insert(b Batch, generation *graph.Array, _ Scoring) (Archive, Change) {
	size, batch := a.Genomes.Dim(0), b.Fitness.Dim(0)
	both := func(x, y *graph.Array) *graph.Array { return graph.Concatenate(0, x, y) }
	worst := graph.Select(b.Valid.ExpandDims(1), b.Objectives, math.Inf(-1))
	points := graph.Once(both(a.Objectives, worst))
	front := domination(points, size)
	crowd := crowding(points, front)
	sorted := graph.SortKV([]*graph.Array{front, crowd.Neg(), graph.Iota(size + batch)}, 0, 2)
	best := graph.SliceAxis(sorted[2], 0, 0, size)
	of := func(x, y *graph.Array) *graph.Array { return graph.Take(both(x, y), best, 0) }
	next := Population{
		Genomes:    of(a.Genomes, b.Genomes),
		Fitness:    of(a.Fitness, graph.Select(b.Valid, b.Fitness, math.Inf(-1))),
		Generation: of(a.Generation, generation.BroadcastTo(batch)),
		Objectives: graph.Take(points, best, 0),
		Front:      graph.Take(front, best, 0),
		Crowding:   graph.Take(crowd, best, 0),
	}
	survives := graph.ScatterSet(graph.Zeros(graph.ShapeOf(graph.Int32, size+batch)), best,
		graph.Ones(graph.ShapeOf(graph.Int32, size)))
	added := graph.SliceAxis(survives, 0, size, size+batch).Gt(0).And(b.Valid)
	return next, Change{Added: added, Accepted: added, New: graph.ZerosLike(added), Empty: graph.ZerosLike(added),
		Improvement: graph.Select(b.Valid, b.Fitness, math.Inf(-1))}
}

// Metrics returns the numbers of populationPlaces.Metrics.
func (a Population) Metrics(c Change, s Scoring) []*graph.Array {
	members := occupied(a.Objectives)
	return []*graph.Array{hypervolume(a.Objectives, s.reference()), count(members.And(a.Front.Eq(0))), count(members),
		a.Fitness.ReduceMax(), count(c.Added)}
}
