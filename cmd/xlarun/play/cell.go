package play

import (
	"errors"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"xlarun/cmd/xlarun/console"
	"xlarun/graph"
	"xlarun/rollout/run"
	"xlarun/rollout/run/runfolder"
)

// cellPattern matches the elite of a cell of an archive, "cell-17", or one of its front, from 0: "cell-17.2".
var cellPattern = regexp.MustCompile(`^cell-(0|[1-9][0-9]{0,8})(\.(0|[1-9][0-9]{0,5}))?$`)

// cellFlag is the flag --cell: it sets the name of the member.
type cellFlag struct{ member *string }

func (c cellFlag) Set(text string) error {
	name := "cell-" + text
	if !cellPattern.MatchString(name) {
		return errors.New("wants " + c.Wants())
	}
	*c.member = name
	return nil
}

// String returns "": there is no default.
func (cellFlag) String() string { return "" }
func (cellFlag) Type() string   { return "number" }

// Wants says what the flag takes.
func (cellFlag) Wants() string { return "a cell such as 17, or an elite of its front such as 17.2" }

// openCell reads the elite of a cell from the archive of a run of qd.
func openCell(folder, which string) (*Saved, error) {
	path := filepath.Join(folder, runfolder.ArchiveFile)
	if !console.Exists(path) {
		return nil, console.BadInput("the run %s has no %s, from which --cell takes an elite: give a run of qd "+
			"that has ended", folder, runfolder.ArchiveFile)
	}
	all := &Saved{Path: path}
	if err := all.read(); err != nil {
		return nil, err
	}
	row, err := all.rowOf(strings.TrimPrefix(which, "cell-"))
	if err != nil {
		return nil, err
	}
	// How the member acts is in the file of the final one.
	s := &Saved{Run: folder, Which: run.FinalMember, Path: filepath.Join(folder, run.FinalMember+suffix)}
	if err := s.read(); err != nil {
		return nil, err
	}
	s.dropResults()
	fitness, err := all.number("fitness", row)
	if err != nil {
		return nil, err
	}
	generation, err := all.number("generation", row)
	if err != nil {
		return nil, err
	}
	s.Which, s.Path, s.Metadata["member"] = which, filepath.Join(folder, which+suffix), which
	s.Metadata["fitness"] = strconv.FormatFloat(fitness, 'g', -1, 32)
	s.Metadata["generation"] = strconv.Itoa(int(generation))
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

// dropResults removes how well the member did on new episodes: the parameters are not those that did so.
func (s *Saved) dropResults() {
	maps.DeleteFunc(s.Metadata, func(key, _ string) bool {
		return key == "evaluated_on" || strings.HasSuffix(key, "episodes") || strings.HasSuffix(key, "mean_return") ||
			strings.HasSuffix(key, "standard_error")
	})
}

// rowOf returns the row of an elite of a cell in an archive, such as 17 or 17.2. The elites of a cell have the places
// 0, 1, … in its front.
func (s *Saved) rowOf(text string) (row int, err error) {
	number, inFront, _ := strings.Cut(text, ".")
	cell, _ := strconv.Atoi(number)
	place, _ := strconv.Atoi(inFront) // 0 if it is not given
	if s.Metadata["format"] != "xlarun archive" {
		return 0, console.BadInput("%s is no archive of a run of qd", s.Path)
	}
	if v := s.Metadata["format_version"]; v != runfolder.ArchiveVersion {
		return 0, console.BadInput("%s has the format_version %q of an archive, want %q: another version of xlarun "+
			"wrote it", s.Path, v, runfolder.ArchiveVersion)
	}
	cells := []float64{}
	if a, ok := s.Arrays["cell"]; ok {
		if cells, err = graph.Floats(a); err != nil {
			return 0, err
		}
	}
	if i := slices.Index(cells, float64(cell)); i >= 0 {
		elites := 0
		for _, c := range cells[i:] {
			if c == float64(cell) {
				elites++
			}
		}
		if place >= elites {
			return 0, console.BadInput("--cell got %s, wants an elite of the cell's front: it has %d, counted from 0",
				text, elites)
		}
		return i + place, nil
	}
	centers, ok := s.Arrays["centers"]
	switch {
	case ok && cell >= centers.Dim(0):
		return 0, console.BadInput("--cell got %s, wants a cell from 0 to %d", text, centers.Dim(0)-1)
	case len(cells) == 0:
		return 0, console.BadInput("--cell got %s, a cell without an elite: the archive is empty", text)
	}
	const listed = 8
	var some []string
	for _, c := range cells[:min(listed, len(cells))] {
		some = append(some, strconv.Itoa(int(c)))
	}
	if len(cells) > listed {
		some = append(some, "…")
	}
	return 0, console.BadInput("--cell got %s, a cell without an elite; these have one (%d): %s", text, len(cells),
		strings.Join(some, ", "))
}

// number returns a row of an array with a number for each elite.
func (s *Saved) number(name string, row int) (float64, error) {
	a, ok := s.Arrays[name]
	if !ok {
		return 0, console.BadInput("%s is no archive of a run of qd: it has no array %s", s.Path, name)
	}
	numbers, err := graph.Floats(a)
	if err == nil && row >= len(numbers) {
		err = console.BadInput("%s is damaged: its array %s has %d rows, and the elite is in row %d", s.Path, name,
			len(numbers), row)
	}
	if err != nil {
		return 0, err
	}
	return numbers[row], nil
}
