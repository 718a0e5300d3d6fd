package studies

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/studies/rdb"
)

// Case 1: a study whose database was removed while it ran went on to its end in a file that nobody could open, and ended as if all were well.
func TestRemovedDatabase(t *testing.T) {
	t.Parallel()
	for _, as := range []string{"lanes", "processes"} {
		t.Run(as, func(t *testing.T) {
			t.Parallel()
			_, s := written(t, "sampler = \"random\"\ntrials = 2000\nwindow = 2\ntrials-as = \""+as+"\"\n[run]\nwait = \"2ms\"\n"+onlyX)
			path, err := rdb.Path(s.Storage)
			require.NoError(t, err)
			ended := make(chan error, 1)
			go func() { ended <- coordinator(s).Run(t.Context()) }()
			require.Eventually(t, func() bool {
				if _, err := os.Stat(path); err != nil {
					return false
				}
				n := 0
				for _, x := range trialsOf(t, s) {
					if x.State.Finished() {
						n++
					}
				}
				return n > 2
			}, time.Minute, 20*time.Millisecond)
			require.NoError(t, os.Remove(path))
			err = <-ended
			require.ErrorIs(t, err, rdb.ErrGone)
			require.Contains(t, err.Error(), filepath.Base(path)+": the file was removed or replaced while it was in use")
		})
	}
}
