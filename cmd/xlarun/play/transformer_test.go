package play

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/play/onnx"
	"xlarun/graph"
)

// A member whose file was changed by hand is one sentence.
func TestHeadsOfTransformer(t *testing.T) {
	for _, c := range []struct{ heads, memory, want string }{
		{"0", "4", "the member's heads are 0, want a whole number that divides its width 8"},
		{"3", "4", "the member's heads are 3, want"},
		{"-2", "4", "the member's heads are -2, want"},
		{"1.5", "4", "the member's heads are 1.5, want"},
		{"1e300", "4", "the member's heads are 1e+300, want"},
		{"", "4", "the member's heads is no number"},
		{"2", "0", "the member's memory is 0, want a whole number from 1 to 16777216"},
		{"2", "1e300", "the member's memory is 1e+300, want"},
	} {
		_, err := onnx.Encode(map[string]*graph.Array{"In.W": graph.Zeros(graph.ShapeOf(graph.Float32, 4, 8))},
			map[string]string{"policy": "transformer:8,1", "head": "argmax", "heads": c.heads, "memory": c.memory,
				"observation_space": `{"type":"Box","shape":[4]}`, "action_space": `{"type":"Discrete","n":2}`})
		require.ErrorContains(t, err, c.want)
	}
}
