package cli

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/safetensors"
)

// small is a run of evolve that the interpreter does in no time.
var small = strings.Fields("evolve --backend reference --pop 4 --steps 60 --policy linear --eval-episodes 3 --target 0")

// The hall of fame lies in the folder, evaluated, the best first; play names its members; the line of JSON lists it. A
// run that was stopped and went on leaves the same files.
func TestHallOfFame(t *testing.T) {
	b := newBed(t)
	b.ok(t, append(small, "--generations", "6", "--hall-of-fame", "3", "--out", "run", "--json")...)
	r := result(t, b)
	require.Equal(t, "last", r["ended_by"])
	fame := r["hall_of_fame_members"].([]any)
	require.Len(t, fame, 3)
	last := 1e9
	for i, x := range fame {
		m := x.(map[string]any)
		name := []string{"hall-of-fame-1", "hall-of-fame-2", "hall-of-fame-3"}[i]
		require.Equal(t, name, m["member"])
		mean, again := m["choice_mean_return"].(float64)
		if !again {
			mean = m["mean_return"].(float64)
		}
		require.LessOrEqual(t, mean, last)
		last = mean
		f, err := safetensors.Open(filepath.Join("run", name+".safetensors"))
		require.NoError(t, err)
		require.NoError(t, f.CheckDigest())
		require.Equal(t, number2text(m["fitness"]), f.Metadata()["fitness"])
		require.Equal(t, number2text(m["generation"]), f.Metadata()["fitness_generation"])
		for _, key := range []string{"episodes", "mean_return", "failed_episodes"} {
			require.Equal(t, number2text(m[key]), f.Metadata()[key])
		}
		require.Equal(t, m["evaluated_on"], f.Metadata()["evaluated_on"])
		require.Equal(t, map[bool]string{true: "new episodes", false: "episodes of the choice"}[again],
			m["evaluated_on"])
		require.NoError(t, f.Close())
	}
	// The largest of several means is too large on average, so the best member's is of other episodes. It is the first
	// of the hall of fame, too, and has one result: each name once had another result.
	require.Equal(t, "best_ever", r["best_member"])
	require.NotEqual(t, r["best_member_mean_return"], r["best_member_choice_mean_return"])
	for _, key := range []string{"mean_return", "choice_mean_return", "evaluated_on"} {
		require.Equal(t, r["best_member_"+key], fame[0].(map[string]any)[key])
	}
	require.Regexp(t, `the best member \(best ever\) has a mean return of \S+ ± \S+ over 3 new episodes, and had `+
		`\S+ ± \S+ when it was chosen\n`, b.out.String())
	const when = " when the best one was chosen"
	require.Regexp(t, `hall of fame: hall-of-fame-1 to hall-of-fame-3, mean returns \S+ ± \S+ to \S+ ± \S+`+when+`\n`,
		b.out.String())
	require.NoFileExists(t, "run/hall-of-fame-4.safetensors")

	b.ok(t, append(small, "--generations", "3", "--hall-of-fame", "3", "--out", "again")...)
	b.ok(t, "evolve --resume again --generations 6")
	for _, f := range []string{"hall-of-fame-1.safetensors", "hall-of-fame-2.safetensors", "hall-of-fame-3.safetensors",
		"best.safetensors",
		"final.safetensors", "metrics.jsonl"} {
		require.Equal(t, read(t, "run", f), read(t, "again", f), f)
	}

	b.out.b.Reset()
	b.ok(t, "play run --member hall-of-fame-2 --episodes 2 --gif none --backend reference")
	require.Contains(t, b.out.String(), "hall-of-fame-2")
	b.refused(t, "has no member hall-of-fame-4; it has best, final, hall-of-fame-1, hall-of-fame-2, hall-of-fame-3: "+
		"leave --member out", "play run --member hall-of-fame-4")
	b.refused(t, `--member got "hall-of-fame-0", wants best, final or one of the hall of fame, hall-of-fame-1, `+
		"hall-of-fame-2", "play run --member hall-of-fame-0")

	b.out.b.Reset()
	b.ok(t, append(small, "--generations", "2", "--hall-of-fame", "0", "--out", "none", "--json")...)
	require.NotContains(t, result(t, b), "hall_of_fame_members")
	require.NotContains(t, b.out.String(), "hall of fame:")
}

func number2text(x any) string { return strconv.FormatFloat(x.(float64), 'g', -1, 64) }

// A run out of patience ends, says so, and has nothing left to do where it goes on with as much; with more it goes on.
func TestPatience(t *testing.T) {
	b := newBed(t)
	args := append(small, "--generations", "50", "--patience", "2", "--min-improvement", "1e6", "--eval-every", "1",
		"--json", "--out", "run")
	b.ok(t, args...)
	r := result(t, b)
	require.Equal(t, "patience", r["ended_by"])
	require.EqualValues(t, 3, r["generations"])
	require.Regexp(t, `out of patience in generation 3 after \S+ s: eval return \S+ ± \S+, and no better evaluation `+
		`than \S+ for 2 generations\n`, b.out.String())
	before := read(t, "run", "metrics.jsonl")
	b.out.b.Reset()
	b.ok(t, "evolve --resume run --json")
	require.Contains(t, b.out.String(), "nothing was left to do: the run had ended with generation 3")
	require.Equal(t, "patience", result(t, b)["ended_by"])
	require.Equal(t, before, read(t, "run", "metrics.jsonl"))
	b.out.b.Reset()
	b.ok(t, "evolve --resume run --patience 5 --json")
	require.EqualValues(t, 6, result(t, b)["generations"])
	require.True(t, strings.HasPrefix(read(t, "run", "metrics.jsonl"), before))
	_, err := os.Stat("run/checkpoints/000006.safetensors")
	require.NoError(t, err)

	b.refused(t, "--min-improvement got 3, wants --patience other than 0 beside it", "evolve --min-improvement 3")
}

// A run that has computed for long enough leaves a picture of its curves; one that is short, or that is drawn in vain,
// says nothing of it.
func TestCurvesAtTheEnd(t *testing.T) {
	usual := curvesAfter
	defer func() { curvesAfter = usual }()
	b := newBed(t)
	require.Equal(t, StatusOK, b.drift("--out", "short"), "%s", b.err)
	require.NoFileExists(t, "short/curves.png")
	curvesAfter = 0
	b.ok(t, append(small, "--generations", "3", "--out", "run")...)
	picture, err := os.ReadFile("run/curves.png")
	require.NoError(t, err)
	_, err = png.DecodeConfig(bytes.NewReader(picture))
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll("bad/curves.png", 0o755)) // which cannot be written
	require.NoError(t, os.CopyFS("bad", os.DirFS("short")))
	b.ok(t, "drift --resume bad --target 0 --generations 9")
	require.Empty(t, b.err.String())
}

// What --sample leaves in the folder is what `xlarun sample` makes of it: named arrays with a row a step, whose rewards
// come to the returns that the next generation has. A run goes on after it as if nobody had looked.
func TestSample(t *testing.T) {
	b := newBed(t)
	b.ok(t, append(small, "--generations", "2", "--sample", "4", "--out", "run")...)
	b.out.b.Reset()
	b.ok(t, "sample run --members 9 --out all.safetensors --backend reference")
	require.Regexp(t, `member 3 of generation 3: \d+ steps, return \d+, ended by (terminated|steps)\n`, b.out.String())
	require.Contains(t, b.out.String(), "the episodes are in all.safetensors\n")
	require.Equal(t, read(t, "all.safetensors"), read(t, "run/trajectories.safetensors"))
	f, err := safetensors.Open("all.safetensors")
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, f.CheckDigest())
	require.Len(t, f.Names(), 3*4)
	m := f.Metadata()
	require.Equal(t, "4", m["members"])
	best, mean := 0., 0.
	for i := range 4 {
		at := strconv.Itoa(i) + "."
		require.Equal(t, "member "+strconv.Itoa(i)+" of generation 3", m[at+"member"])
		sum := 0.
		a, err := f.Array(at + "rewards")
		require.NoError(t, err)
		rewards, err := graph.Floats(a)
		require.NoError(t, err)
		for _, x := range rewards {
			sum += x
		}
		require.Equal(t, strconv.FormatFloat(sum, 'g', -1, 64), m[at+"return"])
		seen, ok := f.Shape(at + "observations")
		require.True(t, ok)
		require.Equal(t, []int{len(rewards), 4}, seen.Dims)
		did, ok := f.Shape(at + "actions")
		require.True(t, ok)
		require.Equal(t, []int{len(rewards)}, did.Dims)
		best, mean = max(best, sum), mean+sum/4
	}
	b.out.b.Reset()
	b.ok(t, "evolve --resume run --generations 3 --json")
	r := result(t, b)
	require.Equal(t, best, r["best_fitness"])
	require.Equal(t, mean, r["mean_fitness"])

	// 1: a kind whose members cannot be made again gives those that it saved.
	require.Equal(t, StatusOK, b.drift("--sample", "3", "--out", "blown"), "%s", b.err)
	f, err = safetensors.Open("blown/trajectories.safetensors")
	require.NoError(t, err)
	defer f.Close()
	require.Equal(t, "2", f.Metadata()["members"])
	require.Equal(t, "mean", f.Metadata()["0.member"])
	for _, c := range []struct{ args, want string }{
		{"sample nowhere", "nowhere is no folder of a run, as it has no config.toml"},
		{"sample run --members 0", "--members got 0, wants 1 to 1000"},
		{"sample run --out x.npz", `--out got "x.npz", wants a file that ends in .safetensors`},
		{"sample", "got 0 arguments, wants one: the folder of a run"},
		{"evolve --sample -1", "--sample got -1, wants a whole number from 0 to 1000"},
	} {
		b.refused(t, c.want, c.args)
	}
}
