package web

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// islands is the data of the page.
type islands struct {
	Name   string `json:"name"`
	Folder string `json:"folder"`
	// Rows are at most mostRows generations: metrics by name, null if they are not finite.
	Rows []map[string]any `json:"rows"`
	// Standing is islands.json as of the last checkpoint; null before.
	Standing json.RawMessage `json:"standing"`
}

func islandsOf(folder string) (*islands, error) {
	s := &islands{Name: filepath.Base(folder), Folder: folder}
	var err error
	if s.Rows, _, err = rowsOf(folder); err != nil {
		return nil, err
	}
	if text, err := os.ReadFile(filepath.Join(folder, "islands.json")); err == nil && json.Valid(text) {
		s.Standing = text
	}
	return s, nil
}
