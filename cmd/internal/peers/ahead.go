package peers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"xlarun/xlabridge/hlo"
	"xlarun/xlabridge/topology"
)

// Program is what a JAX program became for a device that is not there.
type Program struct {
	Name                   string
	Seconds                float64 // to compile
	Temporaries, Arguments int64   // bytes
	Cost                   map[string]float64
	Loops                  []hlo.Loop // with the names of the kernels alone
}

// programRecord is a program in the last line of aot_jax.py.
type programRecord struct {
	Name      string
	Seconds   float64
	Temporary int64
	Arguments int64
	Cost      map[string]float64
	Loops     []struct {
		Name    string
		Depth   int
		Trips   int64
		Kernels []string
	}
}

// Ahead compiles the JAX programs of a script for a target. There is at least one.
func (p *Python) Ahead(ctx context.Context, on topology.Topology, script string, args ...string) ([]Program, error) {
	name := on.Name
	if text := on.Config(); text != "" {
		name = filepath.Join(p.scripts, "target.txtpb")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	text, err := Output(p.Command(ctx, "aot_jax.py", append([]string{on.Backend, name, script}, args...)...))
	if err != nil {
		return nil, err
	}
	return parseAhead(text)
}

// parseAhead reads the last line of aot_jax.py.
func parseAhead(text string) ([]Program, error) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	var last struct{ Programs []programRecord }
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
		return nil, fmt.Errorf("its last line is not what aot_jax.py prints: %w", err)
	}
	if len(last.Programs) == 0 {
		return nil, errors.New("it compiled no program")
	}
	var out []Program
	for _, s := range last.Programs {
		program := Program{Name: s.Name, Seconds: s.Seconds, Temporaries: s.Temporary, Arguments: s.Arguments,
			Cost: s.Cost}
		times := []int64{1} // of the loops around, by depth
		for _, l := range s.Loops {
			if l.Depth < 0 || l.Depth > len(times) {
				return nil, fmt.Errorf("its loop %s lies in none", l.Name)
			}
			loop := hlo.Loop{Name: l.Name, Depth: l.Depth, Trips: l.Trips}
			for _, kernel := range l.Kernels {
				loop.Kernels = append(loop.Kernels, hlo.Kernel{Name: kernel})
			}
			runs := max(1, l.Trips)
			if l.Depth > 0 {
				runs *= times[l.Depth-1]
			}
			times = append(times[:l.Depth], runs)
			loop.Launches = runs * int64(len(loop.Kernels))
			program.Loops = append(program.Loops, loop)
		}
		out = append(out, program)
	}
	return out, nil
}
