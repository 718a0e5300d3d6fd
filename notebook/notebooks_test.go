package notebook

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// jupyter returns a Python with nbclient, or skips the test. XLARUN_JUPYTER names one.
func jupyter(t *testing.T) string {
	t.Helper()
	python := os.Getenv("XLARUN_JUPYTER")
	if python == "" {
		t.Skip("XLARUN_JUPYTER is not set: name a Python with Jupyter, as docs/how-to/notebooks.md installs it, to " +
			"execute the notebooks (half a minute)")
	}
	return python
}

// The notebooks run as they are, and show what their text says. The stop button stops the run of ppo-live with
// its state, and the next cell goes on from there.
func TestNotebooks(t *testing.T) {
	python := jupyter(t)
	examples, err := filepath.Abs("../examples/notebooks")
	require.NoError(t, err)
	for _, c := range []struct {
		name string
		want [][]string // of each cell: parts of its text and HTML
	}{
		{"first-graph", [][]string{{"xlarun from "}, {}, {"f32[1000,200]", "<svg"}, {"graph and loop agree: true"},
			{"generation 100 of 100", "median", "<svg"}, {"f32[10]"}}},
		{"evolve-and-look", [][]string{{"xlarun from "}, {}, {"solved in generation", "<svg", "data:image/gif"},
			{"mean return"}, {"data:image/gif"}}},
		{"ppo-live", [][]string{{"xlarun from "},
			{"<svg", "xlarun ppo: interrupted after update", "000", ".safetensors", "exit status 130"},
			{"<svg", "stopped after 2000384 steps"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, name := range []string{c.name + ".ipynb", "check.py"} {
				text, err := os.ReadFile(filepath.Join(examples, name))
				require.NoError(t, err)
				// The cells run in a folder of their own, where setup.sh is not.
				text = []byte(strings.ReplaceAll(string(text), `\"$GONB_DIR/setup.sh\"`, examples+"/setup.sh"))
				require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
			}
			cmd := exec.Command(python, "check.py", c.name+".ipynb", dir)
			cmd.Dir = dir
			cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
				return strings.HasPrefix(v, "GONB_") // of the fake kernel of other tests
			}), "GOFLAGS=-trimpath")
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			require.NoError(t, err, stderr.String())
			var cells []struct {
				Seconds     float64
				Error, Text string
				Shown       []map[string]any
			}
			require.NoError(t, json.Unmarshal(out, &cells))
			require.Len(t, cells, len(c.want))
			for i, cell := range cells {
				require.Empty(t, cell.Error, "cell %d", i)
				all := cell.Text
				for _, data := range cell.Shown {
					html, _ := data[mimeHTML].(string)
					all += html
				}
				for _, want := range c.want[i] {
					require.Contains(t, all, want, "cell %d", i)
				}
				require.NotContains(t, all, "src=\"http", "cell %d loads from the network", i)
				t.Logf("cell %d: %.2f s", i, cell.Seconds)
			}
		})
	}
}
