package policy

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
)

// Settings that nobody filled in make a policy or an error, and no panic.
func TestZeroSettings(t *testing.T) {
	image := envs.Box{Low: []float64{0}, High: []float64{1}, Dims: []int{8, 8, 2}, DType: graph.Float32}
	for _, name := range Names() {
		maker, err := MakerOf(name, nil)
		require.NoError(t, err)
		zero := maker
		if of := reflect.TypeOf(maker); of.Kind() == reflect.Pointer {
			zero = reflect.New(of.Elem()).Interface().(Maker)
		}
		for _, space := range []envs.Space{image, observation, envs.Discrete{N: 3}} {
			require.NotPanics(t, func() { _, err = zero.Make(space, 2) }, name)
			if err != nil {
				require.NotContains(t, err.Error(), "\n", name)
			}
		}
	}
	full := &CNNSettings{Channels: []int{4}, Kernel: 3, Padding: "valid", Hidden: []int{4}, Activation: "relu"}
	_, err := full.Make(image, 2)
	require.ErrorContains(t, err, "stride: got 0")
	_, err = (&BlockMLPSettings{Hidden: []int{32, 32}, Activation: "relu", Density: 1, Masks: "shared"}).Make(observation, 2)
	require.ErrorContains(t, err, "block: got 0")
}
