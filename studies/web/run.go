package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/pelletier/go-toml/v2"

	"xlarun/rollout/run/runfolder"
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
	p := &Page{of: "run", folder: folder, see: func() (any, error) { return runOf(folder, name) }}
	if name == "islands" {
		p.of, p.see = "islands", func() (any, error) { return islandsOf(folder) }
	}
	if err := p.open(l); err != nil {
		return nil, err
	}
	return p, nil
}

// pictures are the files of a run's folder that the page shows: the network of the best member, an episode of it, and
// the episode that was played last, such as that of an archive's cell.
var pictures = []string{"best.svg", "best.gif", "play.gif"}

// pageOfRun is the data of the page of a run.
type pageOfRun struct {
	Name   string           `json:"name"`
	Folder string           `json:"folder"`
	Kind   string           `json:"kind"`
	Rows   []map[string]any `json:"rows"` // as of islands
	Unit   string           `json:"unit"` // what a row is of, such as "generation"
	// Pictures are the addresses of those of pictures that there are. A changed file has another address.
	Pictures []string `json:"pictures"`
	// Map is runfolder.MapFile as of the last checkpoint; null of kinds without one.
	Map json.RawMessage `json:"map"`
}

// runOf reads the folder of a run.
func runOf(folder, kind string) (*pageOfRun, error) {
	p := &pageOfRun{Name: filepath.Base(folder), Folder: folder, Kind: kind, Pictures: []string{}}
	var err error
	if p.Rows, p.Unit, err = rowsOf(folder); err != nil {
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
