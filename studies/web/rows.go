package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"xlarun/rollout/run"
)

// mostRows is the highest number of generations that are sent; of more, every second, third, … is sent,
// with the evaluation of those before it that are left out.
const mostRows = 400

// evaluated is in the rows that have an evaluation.
var evaluated = []byte(`"` + run.EvalReturn + `":`)

// rowsOf returns at most mostRows rows of a run: metrics by name, null if they are not finite. unit is the first name
// in a row, such as "generation", whose values count the rows; "": there is no row.
func rowsOf(folder string) (rows []map[string]any, unit string, err error) {
	rows = []map[string]any{}
	text, err := os.ReadFile(filepath.Join(folder, "metrics.jsonl"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, "", err
	}
	var lines [][]byte
	for line := range bytes.Lines(text) {
		if bytes.HasSuffix(line, []byte("\n")) { // the last may be half written
			lines = append(lines, line)
		}
	}
	every := (len(lines) + mostRows - 1) / mostRows
	var evaluation map[string]any // the last row with one that is left out
	for i, line := range lines {
		out := i%max(every, 1) != 0 && i != len(lines)-1
		if out && !bytes.Contains(line, evaluated) {
			continue
		}
		row := map[string]any{}
		if err := json.Unmarshal(line, &row); err != nil {
			return nil, "", fmt.Errorf("%s/metrics.jsonl: line %d: %w", folder, i+1, err)
		}
		if out {
			evaluation = row
			continue
		}
		for name, x := range evaluation {
			if _, found := row[name]; !found {
				row[name] = x
			}
		}
		evaluation = nil
		rows = append(rows, row)
	}
	if len(lines) > 0 {
		d := json.NewDecoder(bytes.NewReader(lines[0]))
		_, _ = d.Token() // the brace
		name, _ := d.Token()
		unit, _ = name.(string)
	}
	return rows, unit, nil
}
