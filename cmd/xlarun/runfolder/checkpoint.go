package runfolder

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"xlarun/graph"
)

const (
	checkpointDir = "checkpoints"
	// checkpointVersion is the version of what a checkpoint's metadata and array names mean.
	checkpointVersion = 1
	// keptCheckpoints is how many of the newest stay.
	keptCheckpoints = 3
)

// Checkpoint is the whole state of a run after a generation.
type Checkpoint struct {
	Generation int
	// Config is the resolved config, as in config.toml.
	Config string
	// Info are further facts: counters, versions.
	Info map[string]string
	// Arrays is the state by name: parameters, optimiser state, keys, best member.
	Arrays map[string]*graph.Array
}

// SaveCheckpoint writes checkpoints/NNNNNN.safetensors and removes older ones beyond the newest few. The file's
// metadata holds format ("xlarun checkpoint"), version, generation, config and c.Info.
func (f *Folder) SaveCheckpoint(c Checkpoint) (path string, err error) {
	metadata := maps.Clone(c.Info)
	if metadata == nil {
		metadata = map[string]string{}
	}
	metadata["format"] = "xlarun checkpoint"
	metadata["version"] = strconv.Itoa(checkpointVersion)
	metadata["generation"] = strconv.Itoa(c.Generation)
	metadata["config"] = c.Config
	name := filepath.Join(checkpointDir, fmt.Sprintf("%06d.safetensors", c.Generation))
	if err := f.WriteArrays(name, c.Arrays, metadata); err != nil {
		return "", fmt.Errorf("checkpoint of generation %d: %w", c.Generation, err)
	}
	f.removeOldCheckpoints()
	return f.Path(name), nil
}

func (f *Folder) removeOldCheckpoints() {
	files, _ := filepath.Glob(f.Path(filepath.Join(checkpointDir, "*.safetensors")))
	number := func(path string) int {
		n, err := strconv.Atoi(filepath.Base(path[:len(path)-len(".safetensors")]))
		if err != nil {
			return -1
		}
		return n
	}
	files = slices.DeleteFunc(files, func(path string) bool { return number(path) < 0 })
	slices.SortFunc(files, func(a, b string) int { return number(a) - number(b) })
	for len(files) > keptCheckpoints {
		_ = os.Remove(files[0])
		files = files[1:]
	}
}
