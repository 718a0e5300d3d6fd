package qd

import (
	"fmt"
	"math"
	"strings"

	"xlarun/graph"
	"xlarun/graph/safetensors"
	"xlarun/rollout/run/runfolder"
)

// elites returns the arrays of runfolder.ArchiveFile. Elite i, by rising number of its cell, has the i-th row of each,
// except of centers, f32[cells, d], which has all cells. Without cells the centers are the elites' own descriptors.
func (r *Run) elites(state State) (map[string]*graph.Array, error) {
	a := state.Archive.Places()
	fitness, err := graph.Floats(a.Fitness)
	if err != nil {
		return nil, err
	}
	var places []int32
	for i, f := range fitness {
		if !math.IsInf(f, -1) {
			places = append(places, int32(i))
		}
	}
	arrays := map[string]*graph.Array{}
	if r.program.Needs.Cells {
		arrays["centers"] = centers(r.program)
	}
	if len(places) == 0 {
		return graph.Eval(arrays)
	}
	err = graph.Try(func() {
		at := graph.Int32s(places)
		of := func(x *graph.Array) *graph.Array { return graph.Take(x, at, 0) }
		arrays["cell"], arrays["fitness"] = of(a.Cell), of(a.Fitness)
		arrays["generation"] = of(a.Generation).Add(1) // the rows of metrics count from 1
		if a.Descriptor != nil {
			if arrays["descriptor"] = of(a.Descriptor); !r.program.Needs.Cells {
				arrays["centers"] = arrays["descriptor"]
			}
		}
		if a.Objectives != nil {
			arrays["objectives"] = of(a.Objectives)
		}
	})
	if err != nil {
		return nil, err
	}
	if arrays, err = graph.Eval(arrays); err != nil {
		return nil, err
	}
	return arrays, r.program.genomeParts(func(path string, from int, dims []int) error {
		leaf, err := genomeRows(a.Genomes, places, from, dims...)
		arrays["member."+safetensors.Name(path)] = leaf
		return err
	})
}

// centers returns a point of each cell within the bounds of descriptors, f32[cells, d].
func centers(p *Program) *graph.Array {
	low, high := boundsOf(p.Space)
	var flat []float32
	for _, c := range p.Container.Centers() {
		for i, x := range c {
			flat = append(flat, low[i]+float32(x)*(high[i]-low[i]))
		}
	}
	return graph.Float32s(flat, p.Container.Cells(), len(low))
}

// metadata returns what a reader of runfolder.ArchiveFile needs beside the arrays.
func (r *Run) metadata(generation int64) map[string]string {
	m := map[string]string{"format": "xlarun archive", "format_version": runfolder.ArchiveVersion,
		"archive": r.config.Archive, "env": r.config.Env, "generation": fmt.Sprint(generation),
		"offset": fmt.Sprint(r.config.Offset.Value)}
	if len(r.program.Space.Dims) > 0 {
		low, high := boundsOf(r.program.Space)
		m["low"], m["high"] = commas(low), commas(high)
	}
	if sides := r.program.Container.Sides(); sides != nil {
		m["sides"] = commas(sides)
	}
	if names := r.program.Objectives.names(); names != nil {
		m["objectives"], m["reference_point"] = strings.Join(names, "; "), commas(r.program.Reference)
	}
	if names := r.program.Play.Env.Spec().Descriptors; len(names) > 0 && r.config.Descriptor == "env" {
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
