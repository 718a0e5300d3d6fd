package qd

import (
	"context"
	"fmt"
	"math"
	"slices"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/quantity"
	"xlarun/rollout/episode"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
)

// correction is an archive after its elites were played on new episodes. Where episodes are random, elites were
// lucky: the best of several members in a cell, with a descriptor that fell into that cell. So all elites go into a new
// archive by their mean return, mean objectives and mean descriptor. Its numbers are the corrected ones of Flageolat
// and Cully, "Uncertain quality-diversity: evaluation methodology and new methods for quality-diversity in uncertain
// domains" (2023).
type correction struct {
	step     int64 // of the state
	episodes int   // of each elite
	elites   playedElites
	dropped  int                // elites without a finite mean return, objectives and descriptor
	metrics  map[string]float64 // of the new archive, by the names of Container.Metrics
	archive  Archive            // the new archive; each genome is the number of the cell that the elite had before
}

// playedElites are the elites of an archive after their episodes, by rising number of their places.
type playedElites struct {
	fitness     []float64 // mean return
	descriptors []float64 // mean, within the bounds, elite after elite; empty without descriptors
	objectives  []float64 // mean, elite after elite; empty unless there are several
}

// correctedMetrics are the metrics that sum an archive up, where it has them. A new archive by means corrects them.
var correctedMetrics = []string{"coverage", "qd_score", "hypervolume", "moqd_score", "elites", "first_front",
	"best_fitness"}

// reevaluateKey is folded into the seed's key for the episodes. Nothing else uses it.
const reevaluateKey = 0x72656576

// reevaluation is the carry from one part of the elites to the next.
type reevaluation struct {
	Part    *graph.Array // i32[]
	Archive Archive      // of the means so far, like correction.archive
}

// reevaluationInputs are the inputs of Program.reevaluate.
type reevaluationInputs struct {
	Genomes *graph.Array // f32[batch, n]: of the part, of which the first Count count
	Cells   *graph.Array // f32[batch]: theirs
	Count   *graph.Array // i32[]
	Last    *graph.Array // i32[]: 1 of the last part; else 0
	Key     random.Key
	Inputs  Inputs
}

// reevaluated are the results of a part.
type reevaluated struct {
	Fitness    *graph.Array // f32[batch]: mean return
	Valid      *graph.Array // bool[batch]: all means are finite
	Descriptor *graph.Array `tree:"optional"` // f32[batch, d]: mean, within the bounds
	Objectives *graph.Array `tree:"optional"` // f32[batch, k]: mean
	Metrics    *graph.Array // f32[metrics]: of the new archive, after the last part; else 0
}

// reevaluate plays a part of the elites, as many as a generation has members, and puts their means into the new
// archive. Members beyond the last elite are not valid.
func (p *Program) reevaluate(s reevaluation, in reevaluationInputs) (reevaluation, reevaluated) {
	scoring := settings.Bind(&p.Scoring, in.Inputs.Numbers, "")
	scoring.Annealing = bestOfCell
	batch := episode.PlayEach(p.Play, in.Inputs.Play, random.FoldIn(in.Key, s.Part), func(number *graph.Array,
		_ random.Key, play func(params any) episode.Summary) Batch {
		genome := graph.Take(in.Genomes, number, 0)
		b := p.score(Child{genome, graph.None{}}, play(p.Genomes.Unravel(genome)), s.Archive,
			in.Inputs.Tables).Batch
		b.Valid = b.Valid.And(number.Lt(in.Count))
		b.Genomes = graph.Take(in.Cells, number, 0).Reshape(1)
		return b
	})
	archive, change := s.Archive.Insert(batch, graph.Scalar(0, graph.Int32), *scoring)
	metrics := graph.Cond(in.Last.Gt(0), func() *graph.Array {
		return graph.Stack(archive.Metrics(change, *scoring), 0)
	}, func() *graph.Array { return graph.Zeros(graph.ShapeOf(graph.Float32, len(p.Container.Metrics()))) })
	return reevaluation{s.Part.Add(1), archive},
		reevaluated{batch.Fitness, batch.Valid, batch.Descriptor, batch.Objectives, metrics}
}

// bestOfCell makes an elite of the best member of a cell, whatever its fitness is.
var bestOfCell = Annealing{Rate: settings.Num(1)}

// Reevaluate plays all elites on as many new episodes as members are judged by. It stops between two parts of them.
func (r *Run) Reevaluate(ctx context.Context, s run.Snapshot, progress func(share float64)) (
	[]run.Fact, error) {
	state, err := r.state(s)
	if err != nil {
		return nil, err
	}
	c, err := r.replay(ctx, state.Archive.Places(), progress)
	if err != nil {
		return nil, err
	}
	c.step, c.episodes = s.Step, r.config.EvalEpisodes
	r.correction = c
	return c.facts(), nil
}

// facts returns the corrected metrics.
func (c *correction) facts() (facts []run.Fact) {
	for _, name := range correctedMetrics {
		if x, ok := c.metrics[name]; ok && !math.IsInf(x, 0) { // the best of no elites is -Inf
			facts = append(facts, run.Fact{Name: "corrected_" + name, Value: x})
		}
	}
	return append(facts, run.Fact{Name: "corrected_episodes", Value: c.episodes})
}

// replay plays the elites, and makes an archive of their means.
func (r *Run) replay(ctx context.Context, places Places, progress func(share float64)) (*correction, error) {
	p := *r.program
	play, rollout := *p.Play, *p.Play.Rollout
	rollout.Episodes, rollout.Plan.EpisodeBatch = r.config.EvalEpisodes, 1
	play.Rollout, p.Play = &rollout, &play
	p.Annealing = bestOfCell
	fitness, err := graph.Floats(places.Fitness)
	if err != nil {
		return nil, err
	}
	cells, err := graph.Floats(places.Cell)
	if err != nil {
		return nil, err
	}
	var occupied []int32
	for i, f := range fitness {
		if !math.IsInf(f, -1) {
			occupied = append(occupied, int32(i))
		}
	}
	batch := play.Tiles.Items
	in := reevaluationInputs{Key: random.FoldIn(random.New(r.config.Seed), reevaluateKey), Inputs: r.inputs}
	// fill makes the inputs those of the part that begins with an elite. Beyond the last one is the
	// first place of the archive.
	fill := func(first int) error {
		part := slices.Clone(occupied[first:min(first+batch, len(occupied))])
		in.Count = graph.Of(int32(len(part)))
		in.Last = graph.Of(int32(0))
		if first+batch >= len(occupied) {
			in.Last = graph.Of(int32(1))
		}
		for len(part) < batch {
			part = append(part, 0)
		}
		var of []float32
		for _, place := range part {
			of = append(of, float32(cells[place]))
		}
		in.Cells = graph.Float32s(of)
		in.Genomes, err = genomeRows(places.Genomes, part, 0, p.Genomes.Size())
		return err
	}
	var first reevaluation
	err = graph.Try(func() {
		first = reevaluation{graph.Scalar(0, graph.Int32), p.Container.Empty(1, p.Scoring)}
	})
	if err != nil {
		return nil, err
	}
	if err := fill(0); err != nil {
		return nil, err
	}
	loop, err := run.NewLoop(r.backend, run.LoopOptions{Name: "reevaluation", Purpose: r.config.purpose(),
		Plan: rollout.Plan, Computed: true}, first, in, p.reevaluate)
	if err != nil {
		return nil, err
	}
	defer func() { _ = loop.Close() }()
	c := &correction{metrics: map[string]float64{}}
	for first := 0; first == 0 || first < len(occupied); first += batch {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if first > 0 {
			if err := fill(first); err != nil {
				return nil, err
			}
			if err := loop.SetInputs(in); err != nil {
				return nil, err
			}
		}
		numbers, err := loop.Numbers()
		if err != nil {
			return nil, err
		}
		c.add(numbers, batch, min(batch, len(occupied)-first), &p)
		progress(min(1, float64(first+batch)/float64(max(1, len(occupied)))))
	}
	end, err := loop.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	state, err := loop.Unflatten(end)
	if err != nil {
		return nil, err
	}
	c.archive = state.(reevaluation).Archive
	return c, nil
}

// add appends the first count of the batch members of a part, whose results are numbers, leaf after leaf.
func (c *correction) add(numbers []float64, batch, count int, p *Program) {
	next := func(each int) []float64 {
		leaf := numbers[:batch*each]
		numbers = numbers[len(leaf):]
		return leaf[:count*each]
	}
	c.elites.fitness = append(c.elites.fitness, next(1)...)
	for _, valid := range next(1) {
		if valid == 0 {
			c.dropped++
		}
	}
	if len(p.Space.Dims) > 0 {
		c.elites.descriptors = append(c.elites.descriptors, next(p.Space.Dims[0])...)
	}
	if k := len(p.Objectives.names()); k > 0 {
		c.elites.objectives = append(c.elites.objectives, next(k)...)
	}
	for i, name := range p.Container.Metrics() {
		c.metrics[name] = numbers[i]
	}
}

// Table says what the elites are on new episodes, after Reevaluate.
func (r *Run) Table() []string {
	c := r.correction
	if c == nil {
		return nil
	}
	line := fmt.Sprintf("by the means of %s of each elite: %s",
		quantity.Count(c.episodes, "new episode", "new episodes"),
		r.program.Container.Summary(func(name string) float64 { return c.metrics[name] }))
	if c.dropped > 0 {
		line += fmt.Sprintf("; means that are not finite: %d of %s", c.dropped,
			quantity.Count(len(c.elites.fitness), "elite", "elites"))
	}
	return []string{line}
}

// addTo adds the results to the arrays of runfolder.ArchiveFile, with rows in the same order, and to its metadata.
func (c *correction) addTo(arrays map[string]*graph.Array, metadata map[string]string) {
	for _, fact := range c.facts() {
		metadata[fact.Name] = fmt.Sprint(fact.Value)
	}
	n := len(c.elites.fitness)
	if n == 0 {
		return
	}
	add := func(name string, x []float64, dims ...int) {
		if len(x) > 0 {
			arrays[name] = graph.Float32s(floats32(x), slices.Concat([]int{n}, dims)...)
		}
	}
	add("corrected_fitness", c.elites.fitness)
	add("corrected_descriptor", c.elites.descriptors, len(c.elites.descriptors)/n)
	add("corrected_objectives", c.elites.objectives, len(c.elites.objectives)/n)
}

// floats32 rounds numbers.
func floats32(x []float64) []float32 {
	all := make([]float32, len(x))
	for i, v := range x {
		all[i] = float32(v)
	}
	return all
}
