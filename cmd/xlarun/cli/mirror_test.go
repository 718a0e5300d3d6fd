package cli

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/console"
	"xlarun/rollout/run/runfolder"
)

// ofMirror are the arguments of a run with a mirror that copies after every generation.
func ofMirror(t *testing.T, args ...string) []string {
	before := mirrorEvery
	mirrorEvery = time.Millisecond
	t.Cleanup(func() { mirrorEvery = before })
	return append([]string{"--target", "0", "--checkpoint-every", "1", "--mirror", "mirror"}, args...)
}

// copied waits for the first copy of a run in its mirror.
func copied(t *testing.T) (x runfolder.Index) {
	require.Eventually(t, func() (ok bool) {
		var err error
		x, err = runfolder.ReadIndex(t.Context(), runfolder.Local("mirror"))
		return err == nil && len(x.Files) > 0
	}, time.Minute, time.Millisecond)
	return x
}

// A run whose folder is lost continues from its mirror, with the same bytes. Either of folder and mirror may be newer.
func TestMirror(t *testing.T) {
	b := newBed(t)
	require.Equal(t, StatusOK, b.drift("--target", "0", "--checkpoint-every", "1", "--generations", "9", "--out",
		"whole"), "%s", b.err)
	args := ofMirror(t, "--out", "run", "--resume", "auto", "--generations")
	same := func(dir string) {
		t.Helper()
		requireSame(t, "whole", dir, "metrics.jsonl", "best.safetensors", "final.safetensors")
	}

	require.Equal(t, StatusOK, b.drift(append(args, "4")...), "%s", b.err)
	require.NoError(t, os.CopyFS("older", os.DirFS("run")))
	require.NoError(t, os.RemoveAll("run"))
	require.Equal(t, StatusOK, b.drift(append(args, "9")...), "%s", b.err)
	require.Contains(t, b.out.String(), "step 4 was copied from the mirror mirror")
	require.NotContains(t, b.out.String(), "still works", "the process that wrote it has ended")
	require.Equal(t, 5, fakes.made[2].stepped)
	same("run")
	same("mirror")

	// The folder is older.
	require.NoError(t, os.RemoveAll("run"))
	require.NoError(t, os.Rename("older", "run"))
	require.Equal(t, StatusOK, b.drift(append(args, "9")...), "%s", b.err)
	require.Contains(t, b.out.String(), "step 9 was copied from the mirror mirror, which is newer than run (step 4)")
	same("run")

	// The folder is newer.
	require.NoError(t, os.CopyFS("kept", os.DirFS("mirror")))
	b.ok(t, "drift --resume run --generations 11")
	b.ok(t, "drift --resume run --generations 12 --mirror file://"+filepath.Join(b.dir, "mirror"))
	require.Contains(t, b.out.String(), "run is newer (step 11) than its mirror file://")
	requireSame(t, "run", "mirror", "metrics.jsonl", "config.toml", "best.safetensors", "timings.jsonl")

	// A run that is resumed may name an empty mirror.
	b.ok(t, "drift --resume run --generations 12 --mirror another")
	requireSame(t, "run", "another", "metrics.jsonl", "config.toml", "best.safetensors", "profile.json")
}

// What a mirror cannot be used for is refused in a sentence, and nothing is changed.
func TestMirrorRefuses(t *testing.T) {
	b := newBed(t)
	args := ofMirror(t, "--generations", "3", "--out")
	require.Equal(t, StatusOK, b.drift(append(args, "run")...), "%s", b.err)
	require.Equal(t, StatusOK, b.drift("--target", "0", "--generations", "3", "--out", "other"), "%s", b.err)
	b.write(t, "file", "")
	require.NoError(t, os.Symlink(".", "link"))
	require.NoError(t, os.CopyFS("odd", os.DirFS("run")))
	b.write(t, "odd/mirror.json", "{")
	require.NoError(t, os.CopyFS("older", os.DirFS("run")))
	require.NoError(t, os.Remove("older/checkpoints/000003.safetensors"))
	before := b.files(t)
	for _, c := range []struct{ args, sentence string }{
		{"drift --out new --mirror mirror", "--mirror mirror: it holds a run already: continue it by --out FOLDER " +
			"--resume auto, or name another mirror"},
		{"drift --out none --mirror mirror", "--mirror got mirror, wants a folder of the run beside it: --out none"},
		{"drift --out new --mirror new/mirror", "is in the folder of the run: name another folder"},
		{"drift --out new --mirror gs://bucket/x", "--mirror got gs://bucket/x, wants a folder, file:///FOLDER or s3:"},
		{"drift --out new --mirror s3:///x", "--mirror got s3:///x, wants a folder"},
		{"drift --out new --mirror s3:/x", "--mirror got s3:/x, wants a folder"},
		{"drift --out new --mirror S3://bucket/x", "--mirror got S3://bucket/x, wants a folder"},
		{"drift --out link/new --mirror new/mirror", "is in the folder of the run: name another folder"},
		{"drift --out run --mirror mirror", "--mirror mirror: it holds a run already"},
		{"drift CartPole-v1 --out lost --resume auto --mirror mirror --generations x", `--generations got "x"`},
		{"drift --out older --resume auto --mirror mirror --generations x", `--generations got "x"`},
		{"drift --out odd --resume auto --mirror empty", "the run's folder odd: its mirror.json is damaged ("},
		{"drift --out new --mirror=", "--mirror is empty"},
		{"drift --out new --resume auto --mirror file", "file/mirror.json: not a directory"},
		{"drift --out new --mirror other", "--mirror other: it has the files of a run and no mirror.json"},
		{"drift --out new --resume auto --mirror odd", "--mirror odd: its mirror.json is damaged ("},
	} {
		b.refused(t, c.sentence, c.args)
	}
	for _, args := range []string{"--resume other", "--out other --resume auto"} { // the status was 2, later it is 4
		require.Equal(t, console.StatusRefused, b.do(strings.Fields("drift --mirror mirror "+args)...), "%s", b.err)
		require.Contains(t, b.err.String(),
			"--mirror mirror: it is the mirror of another run than that in other: name another mirror")
	}
	require.Equal(t, console.StatusNoServer, b.do(strings.Fields("drift --out new --mirror /proc/no/mirror")...))
	require.Contains(t, b.err.String(), "--mirror /proc/no/mirror: it cannot be used: nothing can be written in /proc",
		"it was said at the end")
	require.Equal(t, before, b.files(t))
}

// A mirror that cannot be written does not stop its run. The run says so once, and tries again. If the mirror is behind
// at the end, the status tells, and how to copy what it lacks.
func TestMirrorIsBehind(t *testing.T) {
	b := newBed(t)
	until := func(holds func() bool) { require.Eventually(t, holds, time.Minute, time.Millisecond, "%s", b.out) }
	// A copy that is under way may make the folder of the mirror between two calls.
	away := func() {
		require.NoError(t, os.Rename("mirror", "away"))
		until(func() bool { return os.RemoveAll("mirror") == nil && os.WriteFile("mirror", nil, 0o644) == nil })
	}
	back := func() {
		until(func() bool { return os.RemoveAll("mirror") == nil && os.Rename("away", "mirror") == nil })
	}
	wait := func(text string) { until(func() bool { return strings.Contains(b.out.String(), text) }) }
	fakes.shape.step = func(g int) {
		switch g {
		case 3:
			copied(t)
			away()
		case 8:
			wait("the mirror mirror cannot be written: ")
			back()
			wait("the mirror mirror is up to date again")
			require.Equal(t, 1, strings.Count(b.out.String(), "cannot be written"), "%s", b.out)
			away()
		}
	}
	args := ofMirror(t, "--generations", "9", "--json", "--out", "run", "--resume", "auto")
	require.Equal(t, console.StatusNoServer, b.drift(args...), "%s", b.err)
	require.Contains(t, b.out.String(), "; the run goes on, and tries again every ")
	require.Contains(t, b.err.String(), "the mirror mirror is behind the run in run: ")
	require.Contains(t, b.err.String(), "; --resume run --mirror mirror copies what it lacks")
	require.Equal(t, "no_server", result(t, b)["error"])
	require.EqualValues(t, 9, result(t, b)["generations"])

	back()
	fakes.shape.step = nil
	b.ok(t, "drift --resume run --mirror mirror")
	requireSame(t, "run", "mirror", "metrics.jsonl", "best.safetensors", "profile.json")
}

// Two processes cannot write one mirror: the process that resumes the run takes it, and the earlier one ends.
func TestMirrorIsTaken(t *testing.T) {
	b := newBed(t)
	var w runfolder.Writer
	fakes.shape.step = func(g int) {
		if g == 3 {
			x := copied(t)
			require.NoError(t, runfolder.Fetch(t.Context(), runfolder.Local("mirror"), "there"))
			w = runfolder.Writer{Run: x.Run, Holder: "there", After: x.Holder}
		}
		if g >= 3 { // a copy that is under way may end after the first one
			require.NoError(t, w.Copy(t.Context(), "there", runfolder.Local("mirror")))
		}
		time.Sleep(10 * time.Millisecond)
	}
	args := ofMirror(t, "--generations", "1000000", "--out", "run")
	require.Equal(t, console.StatusRefused, b.drift(args...), "%s", b.err)
	require.Contains(t, b.err.String(), "the run in run has ended, as the mirror mirror is not its own any more: "+
		"another process writes it: the run goes on there")
	x, err := runfolder.ReadIndex(t.Context(), runfolder.Local("mirror"))
	require.NoError(t, err)
	require.Equal(t, "there", x.Holder)
	require.NotEmpty(t, checkpoints(t, "run"), "its state is saved")

	// The process that takes a mirror says that its writer has not ended.
	fakes.shape.step = nil
	b.ok(t, "drift --resume there --generations 9 --mirror mirror")
	require.Contains(t, b.out.String(), "the process that wrote the mirror mirror was killed, or still works: then it "+
		"will end, as the run goes on here")
}

// Mirrors in buckets are read and written by the program of studies.
func TestMirrorInBucket(t *testing.T) {
	b := newBed(t)
	var calls [][]string
	local := runfolder.Local("bucket")
	b.output = func(ctx context.Context, path string, args ...string) ([]byte, error) {
		calls = append(calls, append([]string{path}, args...))
		x, err := runfolder.ReadIndex(ctx, local)
		require.NoError(t, err)
		switch len(args) {
		case 3:
			return json.Marshal(x)
		case 4:
			return []byte("{}"), runfolder.Fetch(ctx, local, args[3])
		}
		w := runfolder.Writer{Run: args[5], Holder: args[7], After: args[9]}
		if err := w.Copy(ctx, args[2], local); err != nil {
			f := console.Failure{Error: console.CodeRefused, Message: "xlarun-study copy: s3://x/y: " + err.Error()}
			line, _ := json.Marshal(f)
			return line, errors.New("exit status 4")
		}
		return []byte("{}"), nil
	}
	args := []string{"--target", "0", "--out", "run", "--resume", "auto", "--mirror", "s3://x/y", "--generations"}
	require.Equal(t, StatusOK, b.drift(append(args, "4")...), "%s", b.err)
	require.Equal(t, []string{"/programs/xlarun-study", "copy", "--json", "s3://x/y"}, calls[0])
	require.Equal(t, []string{"/programs/xlarun-study", "copy", "--json", "run", "s3://x/y", "--run"},
		calls[len(calls)-1][:6])
	require.NoError(t, os.RemoveAll("run"))
	require.Equal(t, StatusOK, b.drift(append(args, "9")...), "%s", b.err)
	require.Contains(t, calls, []string{"/programs/xlarun-study", "copy", "--json", "s3://x/y", "run"})
	requireSame(t, "run", "bucket", "metrics.jsonl", "best.safetensors", "profile.json")

	// A refusal of the program that copies ends the run.
	fakes.shape.step = func(g int) {
		if g == 10 {
			require.NoError(t, local.Put(t.Context(), "mirror.json", strings.NewReader(
				`{"run": "other", "holder": "b", "files": {"checkpoints/000001.safetensors": {}}}`), -1))
		}
	}
	require.Equal(t, console.StatusRefused, b.drift(append(args, "12")...), "%s", b.err)
	require.Contains(t, b.err.String(), "not its own any more: it is the mirror of another run")
}
