package nn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph/nn/nir"
)

// FuzzRead looks for files that Read or Layers panics on. Layers that are made have a network's file again.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"conv.nir.gz", "python.nir.gz", "spyx.nir.gz"} {
		f.Add(packed(f, name))
	}
	scale := nir.Scale{DT: 1e-3}
	f.Fuzz(func(t *testing.T, file []byte) {
		g, err := nir.Read(file)
		if err != nil {
			return
		}
		layers, err := g.Layers(scale, surrogate)
		if err != nil {
			return
		}
		if g, err = nir.FromLayers(scale, layers...); err == nil {
			_, err = g.Write()
			require.NoError(t, err)
		}
	})
}
