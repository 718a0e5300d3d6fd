package cli

import (
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph/random"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// No run of any kind consumes a random key twice, in one round or in two.
func TestKeysOfRuns(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	halves(t, data)
	for i, c := range append(matterCases, sparseCase(data)) {
		t.Run(fmt.Sprint(i, " ", c.kind), func(t *testing.T) {
			kind, ok := run.Lookup(c.kind)
			require.True(t, ok)
			x, err := (&flagValues{values: c.values}).resolve(kind, "", nil)
			require.NoError(t, err)
			require.NoError(t, x.fetch(t.Context(), &App{Streams: Streams{Out: io.Discard}}))
			var r run.Run
			// Here it counts only that programs are traced under a check: whatever asks for shapes draws with one key.
			_ = random.CheckKeys(func() { r, err = x.job.Start(t.Context(), &xlabridge.Reference{}) })
			require.NoError(t, err)
			defer func() { require.NoError(t, r.Close()) }()
			require.NoError(t, random.CheckKeys(func() {
				for range 2 {
					_, err := r.Step(t.Context())
					require.NoError(t, err)
				}
			}))
		})
	}
}
