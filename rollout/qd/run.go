package qd

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"xlarun/graph"
	"xlarun/rollout/run"
	"xlarun/rollout/run/runfolder"
	"xlarun/xlabridge"
)

// Run is a run of qd: a compiled generation and its state on the devices.
type Run struct {
	*run.Loop
	config  Config
	program *Program
	target  float64 // NaN: none
	newest  run.Evaluated
	backend xlabridge.Backend
	inputs  Inputs
	rare    map[string]string // further names of metrics, in generations in which they are above 0
	// correction is what Reevaluate found; nil before it.
	correction *correction
	places     mapPlaces
}

// Step runs one generation.
func (r *Run) Step(context.Context) (run.Metrics, error) {
	v, err := r.Numbers()
	if err != nil {
		return run.Metrics{}, err
	}
	m := run.Metrics{Step: r.Steps(), Work: r.program.Play.EnvSteps()}
	names := r.program.metricNames()
	for i, name := range names {
		m.Values = append(m.Values, run.Value{Name: name, Number: v[i]})
	}
	best := m.Number("best_fitness")
	steps := math.Round(m.Number("mean_length") * float64(r.config.Batch*r.config.Episodes))
	*r.EnvSteps() += steps
	m.Values = append(m.Values, run.Value{Name: run.EnvSteps, Number: *r.EnvSteps()},
		run.Value{Name: run.ComputedSteps, Number: float64(m.Step) * m.Work})
	if r.config.EvalDue(m.Step) && m.Step > 1 { // before the first generation there is no elite
		m.Values = append(m.Values, run.EvalValues(run.NewEvaluation(v[len(names):], r.config.Episodes))...)
	}
	r.newest.Note(m)
	m.Done = r.Reached(m.Number)
	for _, name := range slices.Sorted(maps.Keys(r.rare)) {
		if n, _ := m.Get(name); n > 0 {
			m.Values = append(m.Values, run.Value{Name: r.rare[name], Number: n})
		}
	}
	if m.Step == 1 && math.IsInf(best, -1) {
		m.Failed = func(context.Context) error { return r.empty(m) }
	}
	return m, nil
}

// Describe says what the run can do.
func (r *Run) Describe() *run.Capabilities {
	can := r.Loop.Describe()
	can.Members, can.Ending, can.Table, can.Files, can.Reached = r, r.Ending, r.Table, r.Files, r.Reached
	can.Reevaluate, can.Map = r.Reevaluate, r.Map
	return can
}

// Reached is that of run.Capabilities: an evaluation has reached the target, in which no episode failed. Without
// evaluations the best fitness of an elite has.
func (r *Run) Reached(metric func(name string) float64) bool {
	if r.config.EvalEnvs > 0 {
		return run.EvalReached(metric, r.target)
	}
	return metric("best_fitness") >= r.target
}

// Profile says what was compiled, and the layout that was chosen for it.
func (r *Run) Profile() run.Profile {
	p := r.Loop.Profile()
	p.Chosen = r.program.Play.Plan.Settings(&r.config)
	return p
}

// empty returns why the archive has no elite after the first generation.
func (r *Run) empty(m run.Metrics) error {
	if dropped, _ := m.Get("dropped"); dropped == float64(r.config.Batch) {
		return fmt.Errorf("all %d members of the first generation were dropped: none has a finite return and a "+
			"finite descriptor. Mend the environment, or find the op that makes the first NaN with --jit=false",
			r.config.Batch)
	}
	mean, _ := m.Get("mean_fitness")
	return fmt.Errorf("no member of the first generation entered the archive: their mean fitness is %.4g, and with "+
		"--learning-rate below 1 an empty cell takes only a fitness above --threshold-min %v: give one below the "+
		"fitness that you expect", mean, r.config.Annealing.Min.Value)
}

// Ending sums the run up: the archive, and the newest evaluation. Without evaluations the target is beside the best
// fitness.
func (r *Run) Ending(last run.Metrics) string {
	text := r.program.Container.Summary(func(name string) float64 {
		x, _ := last.Get(name)
		return x
	})
	switch {
	case r.newest.Step > 0:
		return text + "; " + r.newest.Text("generation", last, r.target)
	case r.config.EvalEnvs > 0 || math.IsNaN(r.target):
		return text
	}
	best := fmt.Sprintf(", best %.4g", last.Number("best_fitness"))
	text = strings.TrimSuffix(text, best) + best
	if last.Done {
		return text + fmt.Sprintf(" of the %.4g wanted", r.target)
	}
	return text + fmt.Sprintf(", the target is %.4g", r.target)
}

// state returns a snapshot as a tree, on the host.
func (r *Run) state(s run.Snapshot) (State, error) {
	v, err := r.Unflatten(s)
	if err != nil {
		return State{}, err
	}
	return v.(State), nil
}

// candidates is the number of elites that are judged. With noisy fitness the first of them was lucky.
const candidates = 8

// elite returns the name of the elite of a place: its cell, as --cell takes it, with its number in a front.
func (r *Run) elite(cells, fitness []float64, place int) string {
	switch {
	case !r.program.Needs.Cells:
		return fmt.Sprintf("elite_%.0f", cells[place])
	case r.program.Front == 0:
		return fmt.Sprintf("cell_%.0f", cells[place])
	}
	before := 0
	for i := place - 1; i >= 0 && cells[i] == cells[place]; i-- {
		if !math.IsInf(fitness[i], -1) {
			before++
		}
	}
	return fmt.Sprintf("cell_%.0f.%d", cells[place], before)
}

// Candidates returns the elites with the highest fitness, of equal ones those of the first cells.
func (r *Run) Candidates(s run.Snapshot) (all []run.Candidate, err error) {
	state, err := r.state(s)
	if err != nil {
		return nil, err
	}
	places := state.Archive.Places()
	fitness, err := graph.Floats(places.Fitness)
	if err != nil {
		return nil, err
	}
	cells, err := graph.Floats(places.Cell)
	if err != nil {
		return nil, err
	}
	order := make([]int, len(fitness))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(fitness[b], fitness[a]) })
	for _, place := range order[:min(candidates, len(order))] {
		if math.IsInf(fitness[place], -1) {
			place = order[0] // again: the judge always plays as many
		}
		if math.IsInf(fitness[place], -1) {
			return nil, nil
		}
		genome, err := genomeRows(places.Genomes, []int32{int32(place)}, 0, r.program.Genomes.Size())
		if err != nil {
			return nil, err
		}
		params, err := r.member(genome.Index(0))
		if err != nil {
			return nil, err
		}
		all = append(all, run.Candidate{Name: r.elite(cells, fitness, place), Params: params})
	}
	return all, nil
}

// HallEntries returns no members: the archive has them.
func (r *Run) HallEntries(run.Snapshot) ([]run.HallEntry, error) { return nil, nil }

// member returns the parameters of a genome, on the host.
func (r *Run) member(genome *graph.Array) (params any, err error) {
	if err = graph.Try(func() { params = r.program.Genomes.Unravel(genome) }); err != nil {
		return nil, err
	}
	return graph.Eval(params)
}

// largeArchive is the size in bytes from which the archive is written only at the end of a run.
const largeArchive = 8 << 20

// Files returns the archive and the map.
func (r *Run) Files(s run.Snapshot, ended bool) (files []run.File, err error) {
	state, err := r.state(s)
	if err != nil {
		return nil, err
	}
	if r.program.Container.Most()*r.program.Genomes.Size()*4 <= largeArchive || ended {
		arrays, err := r.elites(state)
		if err != nil {
			return nil, err
		}
		metadata := r.metadata(s.Step)
		if c := r.correction; c != nil && c.step == s.Step {
			c.addTo(arrays, metadata)
		}
		files = append(files, run.File{Name: runfolder.ArchiveFile, Arrays: arrays, Metadata: metadata})
	}
	shown, cells := state.Archive, state.Archive.Places().Cell
	if c := r.correction; c != nil && c.step == s.Step {
		shown, cells = c.archive, c.archive.Places().Genomes
	}
	picture, err := r.picture(shown, cells, s.Step)
	if err != nil {
		return nil, err
	}
	return append(files, run.File{Name: runfolder.MapFile, JSON: picture}), nil
}
