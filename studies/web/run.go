package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"xlarun/rollout/run/runfolder"
)

// pictures are the files of a run's best member that the page shows: the network, and an episode.
var pictures = []string{"best.svg", "best.gif"}

// pageOfRun is the data of the page of a run.
type pageOfRun struct {
	Name   string           `json:"name"`
	Folder string           `json:"folder"`
	Kind   string           `json:"kind"`
	Rows   []map[string]any `json:"rows"` // as of islands
	// Pictures are the addresses of those of pictures that there are. A changed file has another address.
	Pictures []string `json:"pictures"`
	// Map is runfolder.MapFile as of the last checkpoint; null of kinds without one.
	Map json.RawMessage `json:"map"`
}

// runOf reads the folder of a run.
func runOf(folder, kind string) (*pageOfRun, error) {
	p := &pageOfRun{Name: filepath.Base(folder), Folder: folder, Kind: kind, Pictures: []string{}}
	var err error
	if p.Rows, err = rowsOf(folder); err != nil {
		return nil, err
	}
	for _, name := range pictures {
		if info, err := os.Stat(filepath.Join(folder, name)); err == nil {
			p.Pictures = append(p.Pictures, fmt.Sprintf("%s?%d", name, info.ModTime().UnixNano()))
		}
	}
	if text, err := os.ReadFile(filepath.Join(folder, runfolder.MapFile)); err == nil && json.Valid(text) {
		p.Map = text
	}
	return p, nil
}

// servePictures serves the pictures of a run's folder.
func servePictures(mux *http.ServeMux, folder string) {
	for _, name := range pictures {
		mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, r *http.Request) {
			http.ServeFile(w, r, filepath.Join(folder, name))
		})
	}
}
