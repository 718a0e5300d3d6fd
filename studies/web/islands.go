package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pelletier/go-toml/v2"

	"xlarun/studies"
)

// OpenRun serves a page of a run from the files in its folder, like Open for a study.
func OpenRun(l studies.Listen, folder string) (*Page, error) {
	text, err := os.ReadFile(filepath.Join(folder, "config.toml"))
	if err != nil {
		return nil, fmt.Errorf("%s is no folder of a run: it has no config.toml", folder)
	}
	var config struct{ Kind any }
	err = toml.Unmarshal(text, &config)
	name, ok := config.Kind.(string)
	if err != nil || !ok {
		return nil, fmt.Errorf("%s is no folder of a run: its config.toml names no kind; give one, or a study", folder)
	}
	p := &Page{first: "run.html", folder: folder, see: func() (any, error) { return runOf(folder, name) }}
	if name == "islands" {
		p.first, p.see = "islands.html", func() (any, error) { return islandsOf(folder) }
	}
	if err := p.open(l); err != nil {
		return nil, err
	}
	return p, nil
}

// islands is the data of the page.
type islands struct {
	Name   string `json:"name"`
	Folder string `json:"folder"`
	// Rows are at most mostRows generations: metrics by name, null if they are not finite.
	Rows []map[string]any `json:"rows"`
	// Standing is islands.json as of the last checkpoint; null before.
	Standing json.RawMessage `json:"standing"`
}

// mostRows is the highest number of generations that are sent; of more, every second, third, … is sent.
const mostRows = 400

func islandsOf(folder string) (*islands, error) {
	s := &islands{Name: filepath.Base(folder), Folder: folder}
	var err error
	if s.Rows, err = rowsOf(folder); err != nil {
		return nil, err
	}
	if text, err := os.ReadFile(filepath.Join(folder, "islands.json")); err == nil && json.Valid(text) {
		s.Standing = text
	}
	return s, nil
}

// rowsOf returns at most mostRows rows of a run: metrics by name, null if they are not finite.
func rowsOf(folder string) ([]map[string]any, error) {
	rows := []map[string]any{}
	text, err := os.ReadFile(filepath.Join(folder, "metrics.jsonl"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var lines [][]byte
	for line := range bytes.Lines(text) {
		if bytes.HasSuffix(line, []byte("\n")) { // the last may be half written
			lines = append(lines, line)
		}
	}
	every := (len(lines) + mostRows - 1) / mostRows
	for i, line := range lines {
		if i%max(every, 1) != 0 && i != len(lines)-1 {
			continue
		}
		row := map[string]any{}
		if err := json.Unmarshal(line, &row); err != nil {
			return nil, fmt.Errorf("%s/metrics.jsonl: line %d: %w", folder, i+1, err)
		}
		rows = append(rows, row)
	}
	return rows, nil
}
