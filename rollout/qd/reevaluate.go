package qd

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/rollout/run"
)

// correction is an archive after its elites were played on fresh episodes. Where episodes are random, elites were
// lucky: the best of several members in a cell, with a descriptor that fell into that cell. So all elites go into a new
// archive by their mean return and mean descriptor: its coverage and QD score are the corrected ones of Flageolat and
// Cully, "Uncertain quality-diversity: evaluation methodology and new methods for quality-diversity in uncertain
// domains" (2023).
type correction struct {
	step     int64 // of the state
	episodes int   // of each elite
	elites   []playedElite
	cells    int     // with an elite in the new archive
	score    float64 // QD score of the new archive
	dropped  int     // elites without a finite mean return and descriptor
}

// playedElite is an elite after its episodes.
type playedElite struct {
	cell       int       // where it is
	fitness    float64   // mean return
	descriptor []float64 // mean, within the bounds
	mean       int       // the cell of that descriptor
	valid      bool      // both are finite
}

// reevaluateKey is folded into the seed's key for the episodes. Nothing else uses it.
const reevaluateKey = 0x72656576

// reevaluated is an elite after its episodes. A part has a leading axis.
type reevaluated struct {
	Fitness    *graph.Array // f32[]: mean return
	Descriptor *graph.Array // f32[d]: mean, within the bounds
	Cell       *graph.Array // i32[]: of that descriptor
	Valid      *graph.Array // bool[]
}

// reevaluation are the inputs of Program.reevaluate.
type reevaluation struct {
	Archive CellArchive
	Key     random.Key
	Inputs  Inputs
}

// reevaluate plays a part of the elites, as many as a generation has members, by their numbers in FilledCells. Those
// beyond the last one are the last one again.
func (p *Program) reevaluate(part *graph.Array, in reevaluation) (next *graph.Array, elites reevaluated) {
	first, last := part.Mul(p.Play.Tiles.Items), in.Archive.Size().Sub(1)
	elites = episode.PlayEach(p.Play, in.Inputs.Play, random.FoldIn(in.Key, part), func(number *graph.Array,
		_ random.Key, play func(params any) episode.Summary) reevaluated {
		genome := in.Archive.Elite(number.Add(first).Min(last).Max(0))
		e := p.score(Child{genome, graph.None{}}, play(p.Genomes.Unravel(genome)), in.Inputs.Tables)
		return reevaluated{e.Batch.Fitness, e.Batch.Descriptor, e.Batch.Cell, e.Batch.Valid}
	})
	return part.Add(1), elites
}

// Reevaluates reports whether the archive is a CellArchive.
func (r *Run) Reevaluates() bool { return r.corrects }

// Reevaluate plays all elites on as many fresh episodes as members are judged by. It does nothing unless the archive is
// a CellArchive.
func (r *Run) Reevaluate(s run.Snapshot) ([]run.Fact, error) {
	state, err := r.state(s)
	if err != nil {
		return nil, err
	}
	archive, ok := state.Archive.(CellArchive)
	if !ok {
		return nil, nil
	}
	elites, err := r.replay(archive)
	if err != nil {
		return nil, err
	}
	c := &correction{step: s.Step, episodes: r.config.Judge, elites: elites}
	best := map[int]float64{} // of the new archive, by cell
	for _, e := range elites {
		if !e.valid {
			c.dropped++
		} else if before, ok := best[e.mean]; !ok || e.fitness > before {
			best[e.mean] = e.fitness
		}
	}
	c.cells = len(best)
	for _, cell := range slices.Sorted(maps.Keys(best)) {
		c.score += best[cell] + r.config.Offset.Value
	}
	r.correction = c
	return []run.Fact{{Name: "corrected_coverage", Value: float64(c.cells) / float64(r.program.Container.Cells())},
		{Name: "corrected_qd_score", Value: c.score}, {Name: "corrected_episodes", Value: c.episodes}}, nil
}

// replay plays the elites, and returns them by rising number of their cells.
func (r *Run) replay(a CellArchive) (elites []playedElite, err error) {
	filled, err := graph.Floats(a.FilledCells())
	if err != nil {
		return nil, err
	}
	count, err := graph.Floats(a.Size())
	if err != nil || count[0] == 0 {
		return nil, err
	}
	p := *r.program
	play, rollout := *p.Play, *p.Play.Rollout
	rollout.Episodes, rollout.Plan.EpisodeBatch = r.config.Judge, 1
	play.Rollout, p.Play = &rollout, &play
	loop, err := run.NewLoop(r.backend, run.LoopOptions{Name: "reevaluation", Purpose: run.Purpose("qd", &r.config),
		Plan: rollout.Plan}, graph.Zeros(graph.ShapeOf(graph.Int32)), reevaluation{a,
		random.FoldIn(random.New(r.config.Seed), reevaluateKey), r.inputs}, p.reevaluate)
	if err != nil {
		return nil, err
	}
	defer func() { _ = loop.Close() }()
	for part := range slices.Chunk(filled[:int(count[0])], play.Tiles.Items) {
		played, err := loop.Numbers() // the fitness of all, their descriptors, their cells, whether they are valid
		if err != nil {
			return nil, err
		}
		n, d := play.Tiles.Items, p.Space.Dims[0]
		for i, cell := range part {
			elites = append(elites, playedElite{cell: int(cell), fitness: played[i],
				descriptor: played[n+i*d : n+(i+1)*d], mean: int(played[n+n*d+i]), valid: played[n+n*d+n+i] != 0})
		}
	}
	slices.SortFunc(elites, func(a, b playedElite) int { return cmp.Compare(a.cell, b.cell) })
	return elites, nil
}

// Table says what the elites are on fresh episodes, after Reevaluate.
func (r *Run) Table() []string {
	c := r.correction
	if c == nil {
		return nil
	}
	episodes := "a fresh episode"
	if c.episodes > 1 {
		episodes = fmt.Sprintf("%d fresh episodes", c.episodes)
	}
	line := fmt.Sprintf("by the means of %s of each elite: %d of %d cells filled, QD score %.6g", episodes, c.cells,
		r.program.Container.Cells(), c.score)
	if c.dropped > 0 {
		line += fmt.Sprintf("; %d of %d elites have no finite mean return and descriptor", c.dropped, len(c.elites))
	}
	return []string{line}
}

// addTo adds the results to the arrays of runfolder.ArchiveFile, with rows in the same order, and to its metadata.
func (c *correction) addTo(arrays map[string]*graph.Array, metadata map[string]string) {
	metadata["corrected_cells"], metadata["corrected_qd_score"] = strconv.Itoa(c.cells), fmt.Sprint(c.score)
	metadata["corrected_episodes"] = strconv.Itoa(c.episodes)
	if len(c.elites) == 0 {
		return
	}
	var fitness, descriptors []float32
	for _, e := range c.elites {
		fitness = append(fitness, float32(e.fitness))
		for _, x := range e.descriptor {
			descriptors = append(descriptors, float32(x))
		}
	}
	arrays["corrected_fitness"] = graph.Float32s(fitness)
	arrays["corrected_descriptor"] = graph.Float32s(descriptors, len(fitness), len(descriptors)/len(fitness))
}
