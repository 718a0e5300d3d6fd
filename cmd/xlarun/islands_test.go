package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/internal/shelltest"
	"xlarun/internal/long"
)

// migrated is what migration.json says.
type migrated struct {
	Descent, Immigrants map[string]float64
	All                 map[string]float64 `json:"descent_of_all"`
	Arrived             []struct{ From string }
	Skipped             []string
}

// Processes that share nothing but a folder mix: 4 of them, 20 with XLARUN_LONG. One comes late, one stays away, and
// what lies damaged or strange in the folder is passed over with a sentence.
func TestIslandsShareAFolder(t *testing.T) {
	t.Parallel()
	s := shelltest.New(t)
	n := 4
	if long.On() {
		n = 20
	}
	pool := s.Path("shared", "migration_pool")
	for name, text := range map[string]string{"island-torn/gen-3/members.safetensors": "{",
		"island-empty/gen-1/members.safetensors": "", "island-stray/notes.txt": "x", "island-none/gen-7/other": "x"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(pool, name)), 0o777))
		require.NoError(t, os.WriteFile(filepath.Join(pool, name), []byte(text), 0o666))
	}
	command := func(i int, more ...string) *shelltest.Process {
		return s.Command(append([]string{"evolve", "CartPole-v1", "--backend", "reference", "--island",
			fmt.Sprintf("%02d", i), "-p", "16", "-g", "40", "--migration-dir", "shared", "--migrate-every", "4",
			"--migrants", "3", "--policy", "linear", "--steps", "25", "--eval-episodes", "2", "--target", "0",
			"--strategy",
			"simplega", "--out", fmt.Sprint("run-", i)}, more...)...)
	}
	// A stranger's members are of another network.
	stranger := command(99, "--policy", "mlp:3", "--generations", "4")
	require.NoError(t, stranger.Start())
	require.Equal(t, 0, stranger.Ended(), "%s", &stranger.Err)
	var all []*shelltest.Process
	for i := range n {
		all = append(all, command(i))
		require.NoError(t, all[i].Start())
		if i == n-2 {
			time.Sleep(300 * time.Millisecond) // the last one is late
		}
	}
	from := map[string]bool{}
	mixed := 0
	for i, p := range all {
		require.Equal(t, 0, p.Ended(), "%s", &p.Err)
		text, err := os.ReadFile(s.Path(fmt.Sprint("run-", i), "migration.json"))
		require.NoError(t, err)
		var m migrated
		require.NoError(t, json.Unmarshal(text, &m))
		for _, a := range m.Arrived {
			require.NotEqual(t, fmt.Sprintf("%02d", i), a.From, "nobody comes home from his own island")
			require.NotEqual(t, "99", a.From)
			from[a.From] = true
		}
		require.GreaterOrEqual(t, len(m.Skipped), 4, "%v", m.Skipped)
		require.LessOrEqual(t, len(m.Skipped), 5, "each entry is told of once: %v", m.Skipped)
		taken := 0.
		for _, n := range m.Immigrants {
			taken += n
		}
		if len(m.Arrived) > 0 && taken > 0 { // at the end all may descend from one of them
			mixed++
		}
		for _, shares := range []map[string]float64{m.Descent, m.All} {
			sum := 0.
			for _, share := range shares {
				sum += share
			}
			require.InDelta(t, 1, sum, 1e-4)
		}
		entries, err := os.ReadDir(filepath.Join(pool, fmt.Sprintf("island-%02d", i)))
		require.NoError(t, err)
		require.Len(t, entries, 10, "one entry a migration, and nothing half made: %v", entries)
	}
	require.Greater(t, len(from), 1, "all come from one")
	require.GreaterOrEqual(t, mixed, n/2, "they mix")

	// One that begins anew under a name that has left somebody would have its members shadowed by those: it is refused
	// before its first generation.
	anew := command(0, "--out", "anew")
	require.NoError(t, anew.Start())
	require.NotZero(t, anew.Ended())
	require.Contains(t, anew.Err.String(), filepath.Join("shared", "migration_pool", "island-00")+
		" has members of an earlier run; continue it by --resume")
	// A run that was killed goes on, and over what it has left before.
	p := s.Command("evolve", "--resume", "run-0", "--generations", "44")
	require.NoError(t, p.Start())
	require.Equal(t, 0, p.Ended(), "%s", &p.Err)
	require.DirExists(t, filepath.Join(pool, "island-00", "gen-44"))
}

// A folder in which an island cannot write was found only when the first members were to leave.
func TestIslandThatCannotLeave(t *testing.T) {
	s := shelltest.New(t)
	require.NoError(t, os.MkdirAll(s.Path("shared", "migration_pool"), 0o777))
	require.NoError(t, os.WriteFile(s.Path("shared", "migration_pool", "island-01"), []byte("in the way"), 0o666))
	message := s.Refused(t, "evolve", "CartPole-v1", "--backend", "reference", "--island", "01", "-p", "16", "-g", "9",
		"--migration-dir", "shared", "--migrate-every", "8", "--migrants", "3", "--policy", "linear", "--out", "run")
	require.Contains(t, message, `--migration-dir got "shared", wants a folder in which the island can write: `)
	require.NoDirExists(t, s.Path("run"), "nothing was run")
}
