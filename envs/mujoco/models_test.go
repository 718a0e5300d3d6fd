package mujoco

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs/bodies"
	"xlarun/envs/bodies/mjcf"
	"xlarun/envs/bodies/mjcf/mjcftest"
	"xlarun/third_party/oracles"
)

// Models are written here by their values; read, they are what MuJoCo compiles Gymnasium's files to.
func TestModelsAreGymnasiums(t *testing.T) {
	var file struct {
		Tasks []struct {
			Name  string
			Model *bodies.Model
		}
	}
	require.NoError(t, oracles.Read("../bodies/testdata/mujoco4.json.gz", &file))
	require.GreaterOrEqual(t, len(file.Tasks), 11)
	for _, task := range file.Tasks[:11] {
		got, err := mjcf.Read(os.DirFS("."), strings.ToLower(task.Name)+".xml")
		require.NoError(t, err)
		t.Run(task.Name, func(t *testing.T) { mjcftest.Equal(t, task.Model, got, task.Name) })
	}
}
