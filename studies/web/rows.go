package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// mostRows is the highest number of generations that are sent; of more, every second, third, … is sent.
const mostRows = 400

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
	for i, line := range lines {
		if i%max(every, 1) != 0 && i != len(lines)-1 {
			continue
		}
		row := map[string]any{}
		if err := json.Unmarshal(line, &row); err != nil {
			return nil, "", fmt.Errorf("%s/metrics.jsonl: line %d: %w", folder, i+1, err)
		}
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
