package bench

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/study"
	"xlarun/studies"
	"xlarun/studies/rdb"
)

// The specs of the workloads are read, and one that says how its trials are run says it as the workload does.
func TestStudySpecs(t *testing.T) {
	for text, want := range map[string]string{trivialSpec: "lanes", workersSpec: "processes", cartpoleSpec: "auto"} {
		s, err := studies.Parse([]byte(text), nil)
		require.NoError(t, err)
		require.Equal(t, want, s.TrialsAs)
	}
	names := map[string]bool{}
	for _, w := range studyWorkloads() {
		require.False(t, names[w.name])
		names[w.name] = true
	}
	require.Len(t, names, 5+3*len(costSamplers))
}

func TestParseStudy(t *testing.T) {
	for _, c := range []struct {
		number int
		out    string
		want   float64
		bad    string
	}{
		{1, "trial 0  complete\n{\"trials\":3,\"failed\":0,\"wall_seconds\":1.5}\n", 1.5, ""},
		{2, "trial 0  complete\n", 0, "not a line of JSON"},
		{3, "{\"trials\":3,\"failed\":1,\"wall_seconds\":1.5}\n", 0, "1 of 3 trials failed"},
		{4, "{}", 0, "0 of 0 trials failed"},
	} {
		got, err := parseStudy(c.out)
		if c.bad != "" {
			require.ErrorContains(t, err, c.bad, "case %d", c.number)
			continue
		}
		require.NoError(t, err, "case %d", c.number)
		require.Equal(t, c.want, got)
	}
	theirs, err := parseOptuna("a warning\na trial: 0.081138 s, 0.012000 s of processor time\n")
	require.NoError(t, err)
	require.Equal(t, spent{.081138, .012}, theirs)
	_, err = parseOptuna("nothing")
	require.ErrorContains(t, err, "holds no time")
}

// A study that is filled has the trials, and trivial ones go on after them.
func TestTrivialTrials(t *testing.T) {
	path := filepath.Join(t.TempDir(), "study.db")
	require.NoError(t, fill(path, 7))
	after := 7
	for _, sampler := range costSamplers {
		by, err := samplerOf(sampler)
		require.NoError(t, err)
		require.Equal(t, sampler, by.Name())
		took, err := trivial(t.Context(), path, sampler, 5, 2)
		require.NoError(t, err)
		require.Positive(t, took.clock)
		after += 2 + 5
	}
	d, err := rdb.Open(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	s, err := study.New("bench", study.Options{Storage: d})
	require.NoError(t, err)
	trials, err := s.Trials()
	require.NoError(t, err)
	require.Len(t, trials, after)
	for _, x := range trials {
		require.Equal(t, study.Complete, x.State)
		require.Equal(t, []float64{x.Params["x"] + x.Params["y"]}, x.Values)
	}
}

// Of several others the fastest is the row's, by the median; without peers there is none.
func TestBeside(t *testing.T) {
	bed := newBed(t)
	b := &studyBench{bench: newBench(bed.host, flags{commonFlags: commonFlags{repeats: 3}})}
	times := map[string][]float64{"a": {9, 4, 5}, "b": {3, 8, 8}}
	l, err := b.beside("x", func() (spent, error) { return spent{2, 1}, nil }, []string{"a", "b"}, func(name string) (spent, error) {
		first := times[name][0]
		times[name] = times[name][1:]
		return spent{first, first / 2}, nil
	})
	require.NoError(t, err)
	require.Equal(t, "a", *l.Peer)
	require.Equal(t, 5., *l.PeerSeconds)
	require.Equal(t, 2.5, *l.Ratio)
	require.Equal(t, 2.5, l.ProcessorRatio)
	require.Contains(t, l.note, "x: b 8 s")
	require.Equal(t, "2 s, a 5 s, ratio 2.5; of processor time 1 s, ratio 2.5", l.inWords())
	require.Empty(t, b.peerNames("optuna"))
	l, err = b.beside("x", func() (spent, error) { return spent{2, 1}, nil }, nil, nil)
	require.NoError(t, err)
	require.Nil(t, l.Peer)
	require.Equal(t, 2., l.Ours)
}
