package play

import (
	"maps"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/plots"
	"xlarun/graph"
	"xlarun/rollout/run"
)

// cellPattern matches the elite of a cell of an archive: "cell-17".
var cellPattern = regexp.MustCompile(`^cell-(0|[1-9][0-9]{0,8})$`)

// openCell reads the elite of a cell from the archive of a run of qd.
func openCell(folder, which string) (*Saved, error) {
	cell, _ := strconv.Atoi(strings.TrimPrefix(which, "cell-"))
	path := filepath.Join(folder, plots.ArchiveFile)
	if !console.Exists(path) {
		return nil, console.BadInput("the run %s has no %s, from which --cell takes an elite: give a run of qd "+
			"that has ended", folder, plots.ArchiveFile)
	}
	all := &Saved{Path: path}
	if err := all.read(); err != nil {
		return nil, err
	}
	row, err := all.rowOf(cell)
	if err != nil {
		return nil, err
	}
	// How the member acts is in the file of the centre.
	s := &Saved{Run: folder, Which: run.CentreMember, Path: filepath.Join(folder, run.CentreMember+suffix)}
	if err := s.read(); err != nil {
		return nil, err
	}
	maps.DeleteFunc(s.Metadata, func(key, _ string) bool {
		return key == "episodes" || strings.HasSuffix(key, "mean_return") || strings.HasSuffix(key, "standard_error")
	})
	fitness, err := graph.Floats(all.Arrays["fitness"])
	if err != nil {
		return nil, err
	}
	s.Which, s.Path, s.Metadata["member"] = which, filepath.Join(folder, which+suffix), which
	s.Metadata["fitness"] = strconv.FormatFloat(fitness[row], 'g', -1, 32)
	s.Metadata["generation"] = all.Metadata["generation"]
	s.Arrays = map[string]*graph.Array{}
	for name, a := range all.Arrays {
		if own, ok := strings.CutPrefix(name, "member."); ok {
			if s.Arrays[own], err = graph.Eval(a.Index(row)); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// rowOf returns the row of a cell's elite in an archive.
func (s *Saved) rowOf(cell int) (row int, err error) {
	centres, ok := s.Arrays["centres"]
	if !ok {
		return 0, console.BadInput("%s is no archive of a run of qd: it has no array centres", s.Path)
	}
	cells := []float64{}
	if a, ok := s.Arrays["cell"]; ok {
		if cells, err = graph.Floats(a); err != nil {
			return 0, err
		}
	}
	var some []string
	for i, c := range cells {
		if int(c) == cell {
			return i, nil
		}
		if len(some) < 8 {
			some = append(some, strconv.Itoa(int(c)))
		}
	}
	if cell >= centres.Dim(0) {
		return 0, console.BadInput("--cell got %d, wants a cell from 0 to %d", cell, centres.Dim(0)-1)
	}
	return 0, console.BadInput("--cell got %d, a cell without an elite; %d cells have one: %s, …", cell, len(cells),
		strings.Join(some, ", "))
}
