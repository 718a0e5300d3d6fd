package studies

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/studies/rdb"
	"xlarun/studies/study"
)

// longStudy returns a study of trials that are not over soon, the file of its database, and a channel for its end.
func longStudy(t *testing.T, as string) (s *Spec, path string, ended chan error) {
	_, s = written(t, "sampler = \"random\"\ntrials = 2000\nwindow = 2\ntrials-as = \""+as+
		"\"\n[run]\nwait = \"2ms\"\n"+onlyX)
	path, err := rdb.Path(s.Storage)
	require.NoError(t, err)
	return s, path, make(chan error, 1)
}

// A study whose database was removed while it ran went on to its end in a file that nobody could open, and
// ended as if all were well.
func TestRemovedDatabase(t *testing.T) {
	t.Parallel()
	for _, as := range []string{"vectorized", "processes"} {
		t.Run(as, func(t *testing.T) {
			t.Parallel()
			s, path, ended := longStudy(t, as)
			go func() { ended <- coordinator(s).Run(t.Context()) }()
			require.Eventually(t, func() bool {
				if _, err := os.Stat(path); err != nil {
					return false
				}
				return finished(t, s) > 2
			}, time.Minute, 20*time.Millisecond)
			require.NoError(t, os.Remove(path))
			err := <-ended
			require.ErrorIs(t, err, rdb.ErrGone)
			require.Contains(t, err.Error(), filepath.Base(path)+
				": the file was removed or replaced while it was in use")
		})
	}
}

// What a study that was deleted from its database while it ran, as Optuna deletes one, came to was no sentence.
func TestDeletedStudy(t *testing.T) {
	t.Parallel()
	for _, as := range []string{"vectorized", "processes"} {
		t.Run(as, func(t *testing.T) {
			t.Parallel()
			s, path, ended := longStudy(t, as)
			some := make(chan bool, 2000)
			c := coordinator(s)
			c.Ended = func(*study.FrozenTrial, *study.FrozenTrial) { some <- true }
			go func() { ended <- c.Run(t.Context()) }()
			for range 3 {
				select {
				case <-some:
				case <-time.After(time.Minute):
					t.Fatal("no trial ended")
				}
			}
			db, err := sql.Open("sqlite3", "file:"+path+"?_pragma=busy_timeout(60000)&_txlock=immediate")
			require.NoError(t, err)
			tx, err := db.Begin()
			require.NoError(t, err)
			for _, table := range []string{"trial_params", "trial_values", "trial_intermediate_values",
				"trial_user_attributes", "trial_system_attributes", "trial_heartbeats", "trials",
				"study_directions", "study_user_attributes", "study_system_attributes", "studies"} {
				_, err := tx.Exec("DELETE FROM " + table)
				require.NoError(t, err)
			}
			require.NoError(t, tx.Commit())
			require.NoError(t, db.Close())
			err = <-ended
			require.ErrorIs(t, err, rdb.ErrDeleted)
			require.Contains(t, err.Error(), "the study was deleted from the database while it ran, and its trials "+
				"with it: the same command begins anew")
			require.NotContains(t, err.Error(), "sql:")
		})
	}
}
