package runfolder_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/run/runfolder"
	"xlarun/rollout/run/runfolder/disktest"
)

// The power goes before each call of the disk in turn: what was not synced is there, or not, or in part.
func TestPowerCuts(t *testing.T) {
	for _, keep := range []int{1, 3} {
		powerCuts(t, keep)
	}
}

func powerCuts(t *testing.T, keep int) {
	undisturbed := newDisk(t)
	require.NoError(t, (&walk{disk: undisturbed, keep: keep}).run())
	want := result(t, undisturbed)
	require.Len(t, want, 4+keep)
	random := rand.New(rand.NewPCG(1, 2))
	for n := 1; ; n++ {
		disk := newDisk(t)
		err := (&walk{keep: keep, disk: &disktest.Faulty{Disk: disk, Fail: disktest.FailFrom(n, errKilled)}}).run()
		for range 3 {
			after := disk.PowerCut(random.IntN)
			w := &walk{disk: after, keep: keep}
			require.NoError(t, w.run(), "power cut before call %d", n)
			require.Empty(t, w.skipped, "power cut before call %d: no checkpoint appears that is not whole", n)
			got := result(t, after)
			requireSame(t, want, got, "power cut before call %d", n)
			require.Equal(t, len(want), len(got), "power cut before call %d: older checkpoints are removed", n)
		}
		if err == nil {
			return
		}
	}
}

// A checkpoint that was reported as written is not lost by a power cut.
func TestSavedCheckpointsOutliveThePower(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	disk := newDisk(t)
	w := &walk{disk: disk}
	w.atStep = func(step int64) {
		if step <= 5 {
			return
		}
		for range 10 {
			f, err := runfolder.Open(runDir, runfolder.Options{Disk: disk.PowerCut(random.IntN)})
			require.NoError(t, err)
			c, skipped, err := f.Newest()
			require.NoError(t, err)
			require.Empty(t, skipped)
			require.Equal(t, (step-1)/5*5, c.Step)
		}
	}
	require.NoError(t, w.run())
}

// Logs are cut at every length: a run goes on from them where the rows up to its checkpoint are there, else it says so.
func TestLogsOfEveryLength(t *testing.T) {
	want := undisturbed(t)
	for _, name := range []string{"metrics.jsonl", "timings.jsonl"} {
		killed := cut(t, 18)
		file := path.Join(runDir, name)
		whole, err := killed.ReadFile(file)
		require.NoError(t, err)
		enough := nthLine(whole, 15)
		require.Greater(t, len(whole), enough, "there are rows beyond the checkpoint")
		for n := 0; n <= len(whole); n++ {
			disk := copyOf(killed)
			require.NoError(t, disk.WriteFile(file, whole[:n]))
			err := (&walk{disk: disk}).run()
			if n >= enough {
				require.NoError(t, err, "%d bytes", n)
				requireSame(t, want, result(t, disk), "%d bytes", n)
				continue
			}
			require.ErrorContains(t, err, fmt.Sprintf("%s has %d whole rows up to step 15, the checkpoint was made "+
				"with 15", name, bytes.Count(whole[:n], []byte("\n"))))
		}
	}
}

func TestLogsThatWereChanged(t *testing.T) {
	for i, c := range []struct {
		what   string
		change func(text string) string
		want   string
	}{
		{"a row is missing", func(s string) string {
			n := nthLine([]byte(s), 3)
			return s[:n] + s[nthLine([]byte(s), 4):]
		}, "has 14 whole rows"},
		{"a row is there twice", func(s string) string {
			n := nthLine([]byte(s), 3)
			return s[:n] + s[nthLine([]byte(s), 2):]
		}, "has 3 whole rows"},
		{"zeros in the middle", func(s string) string { return s[:80] + "\x00\x00\x00" + s[83:] }, "has 2 whole rows"},
		{"another unit", func(s string) string { return `{"generation"` + s[len(`{"step"`):] }, "has 0 whole rows"},
		{"zeros behind the checkpoint's rows", func(s string) string {
			return s[:nthLine([]byte(s), 15)] + "\x00\x00\x00\x00"
		}, ""},
		{"a huge row behind", func(s string) string {
			return s[:nthLine([]byte(s), 15)] + string(bytes.Repeat([]byte("x"), 1<<20))
		}, ""},
		{"a step behind that is none", func(s string) string {
			return s[:nthLine([]byte(s), 15)] + `{"step":99999999999999999999999}` + "\n"
		}, ""},
	} {
		disk := cut(t, 18)
		file := path.Join(runDir, "metrics.jsonl")
		text, err := disk.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, disk.WriteFile(file, []byte(c.change(string(text)))))
		err = (&walk{disk: disk}).run()
		if c.want == "" {
			require.NoError(t, err, "%d: %s", i+1, c.what)
			requireSame(t, undisturbed(t), result(t, disk), "%d: %s", i+1, c.what)
			continue
		}
		require.ErrorContains(t, err, c.want, "%d: %s", i+1, c.what)
	}
}

// The newest checkpoint is cut at every length: the run goes on from the one before and ends with the same bytes.
func TestCheckpointsOfEveryLength(t *testing.T) {
	want := undisturbed(t)
	killed := cut(t, 18)
	file := path.Join(runDir, "checkpoints/000015.safetensors")
	whole, err := killed.ReadFile(file)
	require.NoError(t, err)
	for n := range len(whole) {
		disk := copyOf(killed)
		require.NoError(t, disk.WriteFile(file, whole[:n]))
		w := &walk{disk: disk}
		require.NoError(t, w.run(), "%d bytes", n)
		require.Len(t, w.skipped, 1)
		require.Contains(t, w.skipped[0], "000015.safetensors cannot be used and was left out: ")
		require.EqualValues(t, 10, w.after)
		requireSame(t, want, result(t, disk), "%d bytes", n)
	}
}

// Every bit of a checkpoint is flipped in turn: none goes unnoticed.
func TestFlippedBits(t *testing.T) {
	disk := cut(t, 18)
	file := path.Join(runDir, "checkpoints/000015.safetensors")
	whole, err := disk.ReadFile(file)
	require.NoError(t, err)
	f, err := runfolder.Read(runDir, runfolder.Options{Disk: disk})
	require.NoError(t, err)
	defer f.Close()
	for bit := range 8 * len(whole) {
		flipped := bytes.Clone(whole)
		flipped[bit/8] ^= 1 << (bit % 8)
		require.NoError(t, disk.WriteFile(file, flipped))
		c, skipped, err := f.Newest()
		require.NoError(t, err)
		require.EqualValues(t, 10, c.Step, "bit %d of byte %d", bit%8, bit/8)
		require.Len(t, skipped, 1)
		require.NotContains(t, skipped[0], "\n")
	}
}

// With no checkpoint that is whole the run does not begin again by itself.
func TestAllCheckpointsDamaged(t *testing.T) {
	disk := cut(t, 18)
	for _, n := range []string{"000005", "000010", "000015"} {
		require.NoError(t, disk.WriteFile(path.Join(runDir, "checkpoints", n+".safetensors"), []byte("no")))
	}
	w := &walk{disk: disk}
	require.ErrorContains(t, w.run(), "none of the checkpoints in /runs/walk/checkpoints can be used (checkpoints/")
	require.Len(t, w.skipped, 3)
}

// What does not belong to a run's checkpoints is left alone.
func TestForeignFilesAmongCheckpoints(t *testing.T) {
	disk := cut(t, 18)
	foreign := []string{"checkpoints/best.safetensors", "checkpoints/15.safetensors", "checkpoints/000099.txt",
		"checkpoints/-00001.safetensors"}
	for _, name := range foreign {
		require.NoError(t, disk.WriteFile(path.Join(runDir, name), []byte("no")))
	}
	w := &walk{disk: disk}
	require.NoError(t, w.run())
	require.Empty(t, w.skipped)
	requireSame(t, undisturbed(t), result(t, disk), "foreign files")
	for _, name := range foreign {
		_, err := disk.ReadFile(path.Join(runDir, name))
		require.NoError(t, err)
	}
}

// A file that a killed process was writing is removed by the next.
func TestUnfinishedFilesAreRemoved(t *testing.T) {
	disk := newDisk(t)
	left := 0
	for n := 1; ; n++ {
		err := (&walk{disk: &disktest.Faulty{Disk: disk, Fail: disktest.FailFrom(n, errKilled)}}).run()
		left += len(unfinished(t, disk))
		f, openErr := runfolder.Open(runDir, runfolder.Options{Disk: disk})
		if errors.Is(openErr, runfolder.ErrNoRun) {
			f, openErr = runfolder.Create(runDir, runfolder.Options{Disk: disk})
		}
		if openErr == nil {
			require.NoError(t, f.Close())
			require.Empty(t, unfinished(t, disk))
		}
		if err == nil {
			break
		}
		disk = newDisk(t)
	}
	require.Greater(t, left, 10, "kills did leave such files")
}

func unfinished(t *testing.T, disk *disktest.Memory) (names []string) {
	t.Helper()
	for _, name := range []string{".xlarun-unfinished", "checkpoints/.xlarun-unfinished"} {
		if _, err := disk.ReadFile(path.Join(runDir, name)); err == nil {
			names = append(names, name)
		}
	}
	return names
}
