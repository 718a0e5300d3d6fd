package qd

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"xlarun/graph"
	"xlarun/graph/safetensors"
	"xlarun/rollout/run"
)

// Search is a run: a compiled generation and its state on the devices.
type Search struct {
	*run.Loop
	config  Config
	program *Program
	target  float64 // NaN: none
}

// Step runs one generation.
func (s *Search) Step() (run.Metrics, error) {
	m, err := s.Loop.Step()
	if err != nil {
		return m, err
	}
	best, _ := m.Get("best_fitness")
	m.Done = best >= s.target
	m.Values = append(m.Values, run.Value{Name: "env_steps", Number: float64(m.Step) * m.Work})
	for _, rare := range [][2]string{{"clipped", "clipped_descriptors"}, {"dropped", "dropped_members"}} {
		if n, _ := m.Get(rare[0]); n > 0 {
			m.Values = append(m.Values, run.Value{Name: rare[1], Number: n})
		}
	}
	if dropped, _ := m.Get("dropped"); m.Step == 1 && dropped == float64(s.config.Batch) {
		m.Failed = func() error {
			return fmt.Errorf("all %d members of the first generation were dropped: none has a finite return and a "+
				"finite descriptor. Mend the environment, or find the op that makes the first NaN with --jit=false",
				s.config.Batch)
		}
	}
	return m, nil
}

// Ending sums the run up.
func (s *Search) Ending(last run.Metrics) string {
	coverage, _ := last.Get("coverage")
	score, _ := last.Get("qd_score")
	best, _ := last.Get("best_fitness")
	return fmt.Sprintf("%.0f of %d cells filled, QD score %.6g, best %.4g", coverage*float64(s.program.Cells.Cells()),
		s.program.Cells.Cells(), score, best)
}

// state returns a snapshot as a tree, on the host.
func (s *Search) state(of run.Snapshot) (State, error) {
	v, err := s.Unflatten(of)
	if err != nil {
		return State{}, err
	}
	return v.(State), nil
}

// candidates is the number of elites that are judged. With noisy fitness the first of them was lucky.
const candidates = 8

// Candidates returns the elites with the highest fitness, of equal ones those of the first cells.
func (s *Search) Candidates(of run.Snapshot) (all []run.Candidate, err error) {
	state, err := s.state(of)
	if err != nil {
		return nil, err
	}
	fitness, err := graph.Floats(state.Archive.Fitness)
	if err != nil {
		return nil, err
	}
	cells := make([]int, len(fitness))
	for i := range cells {
		cells[i] = i
	}
	slices.SortStableFunc(cells, func(a, b int) int { return cmp.Compare(fitness[b], fitness[a]) })
	for _, cell := range cells[:min(candidates, len(cells))] {
		if math.IsInf(fitness[cell], -1) {
			cell = cells[0] // the judge plays always as many
		}
		if math.IsInf(fitness[cell], -1) {
			return nil, nil
		}
		params, err := s.member(state.Archive.Genomes.Index(cell))
		if err != nil {
			return nil, err
		}
		all = append(all, run.Candidate{Name: fmt.Sprintf("cell_%d", cell), Params: params})
	}
	return all, nil
}

// Fame returns no members: the archive has them.
func (s *Search) Fame(run.Snapshot) ([]run.Famed, error) { return nil, nil }

// member returns the parameters of a genome, on the host.
func (s *Search) member(genome *graph.Array) (params any, err error) {
	if err = graph.Try(func() { params = s.program.Genomes.Unravel(genome) }); err != nil {
		return nil, err
	}
	return graph.Eval(params)
}

// ArchiveFile is the file with the elites in a run's folder.
const ArchiveFile = "archive.safetensors"

// largeArchive is the size in bytes from which the archive is written only at the end of a run.
const largeArchive = 8 << 20

// Files returns the archive.
func (s *Search) Files(ended bool) ([]run.File, error) {
	if s.program.Cells.Cells()*s.program.Genomes.Size()*4 > largeArchive && !ended {
		return nil, nil
	}
	snapshot, err := s.Snapshot()
	if err != nil {
		return nil, err
	}
	state, err := s.state(snapshot)
	if err != nil {
		return nil, err
	}
	arrays, err := s.elites(state)
	if err != nil {
		return nil, err
	}
	return []run.File{{Name: ArchiveFile, Arrays: arrays, Metadata: s.metadata(snapshot.Step)}}, nil
}

// elites returns the arrays of ArchiveFile. Elite i, by rising number of its cell, has the i-th row of each, except of
// centres, f32[cells, d], which has all cells.
func (s *Search) elites(state State) (map[string]*graph.Array, error) {
	a := state.Archive
	fitness, err := graph.Floats(a.Fitness)
	if err != nil {
		return nil, err
	}
	var cells []int32
	for i, f := range fitness {
		if !math.IsInf(f, -1) {
			cells = append(cells, int32(i))
		}
	}
	arrays := map[string]*graph.Array{"centres": centres(s.program)}
	if len(cells) == 0 {
		return graph.Eval(arrays)
	}
	err = graph.Try(func() {
		at := graph.Int32s(cells)
		of := func(x *graph.Array) *graph.Array { return graph.Take(x, at, 0) }
		arrays["cell"], arrays["fitness"], arrays["descriptor"] = at, of(a.Fitness), of(a.Descriptor)
		arrays["generation"] = of(a.Generation)
		genomes := graph.VMap(func(genome *graph.Array) any { return s.program.Genomes.Unravel(genome) })(of(a.Genomes))
		leaves, tree := graph.Flatten(genomes)
		for i, leaf := range leaves {
			arrays["member."+safetensors.Name(tree.Path(i))] = leaf
		}
	})
	if err != nil {
		return nil, err
	}
	return graph.Eval(arrays)
}

// centres returns a point of each cell within the bounds of descriptors, f32[cells, d].
func centres(p *Program) *graph.Array {
	low, high := boundsOf(p.Space)
	var flat []float32
	for _, c := range p.Cells.Centres() {
		for i, x := range c {
			flat = append(flat, low[i]+float32(x)*(high[i]-low[i]))
		}
	}
	return graph.Float32s(flat, p.Cells.Cells(), len(low))
}

// metadata returns what a reader of ArchiveFile needs beside the arrays.
func (s *Search) metadata(generation int64) map[string]string {
	low, high := boundsOf(s.program.Space)
	sides := ""
	if g, ok := s.program.Cells.(grid); ok {
		sides = commas([]int(g))
	}
	m := map[string]string{"format": "xlarun archive", "format_version": "1", "archive": s.config.Archive,
		"env": s.config.Env, "generation": fmt.Sprint(generation), "low": commas(low), "high": commas(high),
		"offset": fmt.Sprint(s.config.Offset.Value)}
	if sides != "" {
		m["sides"] = sides
	}
	if names := s.program.Play.Env.Spec().Descriptors; len(names) > 0 && s.config.Descriptor == "env" {
		m["descriptors"] = strings.Join(names, "; ")
	}
	return m
}

// commas joins numbers with commas.
func commas[T any](numbers []T) string {
	var parts []string
	for _, n := range numbers {
		parts = append(parts, fmt.Sprint(n))
	}
	return strings.Join(parts, ",")
}
