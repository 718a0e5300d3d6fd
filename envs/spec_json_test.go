package envs_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
)

// ReadSpec reads what DescribeSpace writes.
func TestSpacesAsJSON(t *testing.T) {
	boxes := envs.Box{Low: []float64{-1, -envs.Unbounded}, High: []float64{1, 2}, Dims: []int{2}, DType: graph.Float32}
	pixels := envs.Box{Low: []float64{0, 0}, High: []float64{255, 255}, Dims: []int{1, 2}, DType: graph.Uint8}
	number := envs.Box{Low: []float64{-2}, High: []float64{2}, Dims: []int{}, DType: graph.Float32}
	for want, space := range map[string]envs.Space{
		`{"type":"Discrete","n":3,"shape":[],"dtype":"int32"}`:                      envs.Discrete{N: 3},
		`{"type":"MultiDiscrete","nvec":[3,2],"shape":[2],"dtype":"int32"}`:         envs.MultiDiscrete{N: []int{3, 2}},
		`{"type":"Box","low":[-1,null],"high":[1,2],"shape":[2],"dtype":"float32"}`: boxes,
		`{"type":"Box","low":[0,0],"high":[255,255],"shape":[1,2],"dtype":"uint8"}`: pixels,
		`{"type":"Box","low":[-2],"high":[2],"shape":[],"dtype":"float32"}`:         number,
	} {
		text, err := json.Marshal(envs.DescribeSpace(space))
		require.NoError(t, err)
		require.Equal(t, want, string(text))
		read, err := envs.ReadSpec([]byte(`{"observation":`+want+`,"action":`+want+`,"max_steps":3}`), nil, nil)
		require.NoError(t, err)
		require.Equal(t, envs.Spec{Observation: space, Action: space, MaxSteps: 3}, read)
	}
	for space, want := range map[string]string{
		`{"type":"Box","n":3}`:                    `got the type "Box" of a Discrete, want Discrete with n`,
		`{"type":"Discrete","low":0,"shape":[2]}`: `got the type "Discrete" of a Box`,
		`{"n":3,"shape":[2]}`:                     "got several kinds of space",
		`{"n":3,"dtype":"uint8"}`:                 "got several kinds of space",
		`{"type":"Box"}`:                          "got nothing, want a space such as",
	} {
		_, err := envs.ReadSpec([]byte(`{"observation":`+space+`,"action":{"n":2},"max_steps":3}`), nil, nil)
		require.ErrorContains(t, err, want)
	}
}
