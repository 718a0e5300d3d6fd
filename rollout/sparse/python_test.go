package sparse

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph/safetensors"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

var update = flag.Bool("update", false, "write the files of the Python package's tests instead of comparing them")

// The members of the Python package's tests are those of a run. Their metadata have the accuracy on the test data,
// which python/tests/test_sparse.py computes again. A picture has more than one piece of inputs.
func TestMembersOfPython(t *testing.T) {
	const side, tests = 18, 40
	folder := filepath.Join("..", "..", "python", "tests", "testdata", "sparse")
	d := stripes(side, 400, tests)
	if *update {
		write := func(name string, content []byte, head ...byte) {
			content = append(append([]byte{0, 0, 8, byte(len(head) / 4)}, head...), content...)
			require.NoError(t, os.WriteFile(filepath.Join(folder, name), content, 0o644))
		}
		write("t10k-images-idx3-ubyte", d.Test.Data, 0, 0, 0, tests, 0, 0, 0, side, 0, 0, 0, side)
		write("t10k-labels-idx1-ubyte", d.Test.Labels, 0, 0, 0, tests)
	}
	for _, dtype := range DTypes {
		path := filepath.Join(folder, dtype+".safetensors")
		if *update {
			c := small()
			c.Updates, c.DType, c.Method, c.Population = 60, dtype, "masked", 2
			c.Hidden, c.Density = c.Hidden[:1], c.Density[1:2]
			e := Experiment{Config: c, Data: d}
			r, err := e.Start(t.Context(), &xlabridge.Reference{})
			require.NoError(t, err)
			defer r.Close()
			for step := int64(0); step < int64(c.Updates); {
				m, err := r.Step(t.Context())
				require.NoError(t, err)
				step = m.Step
			}
			files, err := r.(*training).Files(run.Snapshot{}, true)
			require.NoError(t, err)
			require.NoError(t, safetensors.Save(path, files[1].Arrays, files[1].Metadata))
			require.NoError(t, os.Chmod(path, 0o644))
		}
		f, err := safetensors.Open(path)
		require.NoError(t, err)
		defer f.Close()
		var units []int
		require.NoError(t, json.Unmarshal([]byte(f.Metadata()["layers"]), &units))
		require.Equal(t, []int{side * side, 20, side}, units)
		require.Equal(t, dtype, f.Metadata()["dtype"])
		accuracy, err := strconv.ParseFloat(f.Metadata()["test_accuracy"], 64)
		require.NoError(t, err)
		require.Greater(t, accuracy, .3)
		if dtype != "f32" { // explicit does not round
			continue
		}
		e := explicit{shape: ShapeOf(units, []float64{.5, .5})}
		for l := range e.shape {
			var member Member
			at, err := f.Array(fmt.Sprintf("%d.at", l))
			require.NoError(t, err)
			w, err := f.Array(fmt.Sprintf("%d.w", l))
			require.NoError(t, err)
			e.member = append(e.member, hostMember(t, append(member, Connections{at, w}))...)
		}
		right := 0.
		for i, label := range d.Test.Labels {
			if _, ok := e.pass(d.Test.Data[i*side*side:(i+1)*side*side], int(label), nil); ok {
				right++
			}
		}
		require.InDelta(t, accuracy, right/tests, 1e-9)
	}
}
