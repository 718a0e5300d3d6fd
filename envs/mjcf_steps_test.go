package envs_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs/bodies"
	"xlarun/envs/bodies/mjcf"
	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/third_party/oracles"
)

// stepped is what third_party/oracles/mujoco_steps.py recorded of a model.
type stepped struct {
	Name, Error                          string
	Qpos, Qvel, Control, Start, Contacts oracles.Array
}

// Models are read and step as MuJoCo's do. If XLARUN_MJCF names a folder, so do those in it that are not refused.
func TestMJCFSteps(t *testing.T) {
	folders := []string{"bodies/mjcf/testdata/steps"}
	if more := os.Getenv("XLARUN_MJCF"); more != "" {
		folders = append(folders, more)
	}
	for i, folder := range folders {
		var file struct{ Models []stepped }
		require.NoError(t, oracles.Read(filepath.Join(folder, "steps.json.gz"), &file))
		require.NotEmpty(t, file.Models)
		for _, x := range file.Models {
			t.Run(x.Name, func(t *testing.T) {
				m, err := mjcf.Read(os.DirFS(folder), x.Name)
				if i > 0 && err != nil {
					t.Skipf("%v (MuJoCo: %s)", err, x.Error)
				}
				require.NoError(t, err)
				require.Empty(t, x.Error, "MuJoCo refuses it")
				nq, nv, nu := m.Sizes()
				row := func(a oracles.Array, i, n int) *graph.Array {
					return graph.Float64s(a.Floats()[i*n:(i+1)*n], n)
				}
				for _, start := range x.Start.Floats() {
					s := int(start)
					d := bodies.Data{Q: row(x.Qpos, s, nq), V: row(x.Qvel, s, nv), Warm: graph.Zeros(
						graph.ShapeOf(graph.Float64, nv))}
					d, _ = m.Step(d, row(x.Control, s, nu), bodies.Params{}, bodies.Options{Plain: true})
					away := max(oracles.Apart(graphtest.Floats(t, d.Q), graphtest.Floats(t, row(x.Qpos, s+1, nq))),
						oracles.Apart(graphtest.Floats(t, d.V), graphtest.Floats(t, row(x.Qvel, s+1, nv))))
					require.LessOrEqual(t, away, 1e-9, "step %d", s)
				}
			})
		}
	}
}
