package selfplay

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/random"
	"xlarun/graph/safetensors"
	"xlarun/rollout/search"
	"xlarun/xlabridge"
)

var update = flag.Bool("update", false, "write the vectors of the Python package instead of comparing them")

// pythonGame is what Go says of a game and of searches in it. python/tests/test_boards.py compares.
type pythonGame struct {
	File     string         `json:"file"`
	Actions  []int          `json:"actions"`
	Legal    [][]int        `json:"legal"` // before each action and at the end
	Score    float64        `json:"score"` // of player 0, at the end
	Searches []pythonSearch `json:"searches"`
}

type pythonSearch struct {
	Move    int       `json:"move"` // the moves of the game before it
	Seed    int64     `json:"seed"`
	Sampled bool      `json:"sampled"` // with Gumbel noise, as in self-play
	Prior   []float64 `json:"prior"`
	Visits  []int     `json:"visits"`
	Values  []float64 `json:"values"`
	Value   float64   `json:"value"`
	Weights []float64 `json:"weights"`
	Action  int       `json:"action"`
}

// noNetwork is a case whose parameters are 0, so that a search has ties, which the seed breaks.
const noNetwork = "no-network"

// pythonCases are runs with all games, networks and searches.
func pythonCases() map[string]Config {
	of := func(game, network, search string, simulations int) Config {
		c := smallOf(game)
		c.Network, c.Search, c.NumSimulations = network, search, simulations
		return c
	}
	maker, avoid, puzzle := of(clique, "mlp:8", "gumbel", 24), of(clique, "graph:4", "puct", 24),
		of(clique, "tower:2", "gumbel", 24)
	maker.Vertices, avoid.Vertices, puzzle.Vertices = 6, 6, 6
	avoid.Variant, avoid.K = "avoid", []int{3, 4}
	puzzle.Variant, puzzle.ArenaEvery = ramsey, 0
	rotated := puzzle
	rotated.Network, rotated.Vertices, rotated.K, rotated.Rotation, rotated.Search = "mlp:8", 8, []int{3, 4}, 1, "puct"
	shallow := of("tictactoe", "tower:2", "puct", 24)
	shallow.MaxDepth = 2
	return map[string]Config{noNetwork: of("tictactoe", "mlp:2", "puct", 20), "maker": maker,
		"avoid": avoid, "ramsey": puzzle, "ramsey-rotated": rotated,
		"tictactoe": shallow, "connectfour": of("connectfour", "mlp:8", "gumbel", 24),
		"hex": of("hex", "mlp:4", "gumbel", 24), "othello": of("othello", "mlp:4", "puct", 12)}
}

// The vectors of the Python package are what this program computes: whole games by the rules, and the visits of
// searches from seeds.
func TestVectorsOfPython(t *testing.T) {
	folder := filepath.Join("..", "..", "python", "tests", "testdata", "selfplay")
	file := filepath.Join(folder, "games.json")
	var want []pythonGame
	if !*update {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &want))
		require.Len(t, want, len(pythonCases()))
	}
	var got []pythonGame
	for name, c := range pythonCases() {
		path := filepath.Join(folder, name+".safetensors")
		if *update {
			x := startedOn(t, &xlabridge.Reference{}, c)
			w := random.Normal(random.New(int64(len(name))), x.state.Learner.Weights.Shape()).Mul(.4)
			if name == noNetwork {
				w = w.Mul(0)
			}
			var err error
			x.state.Learner.Weights, err = graph.Eval(w)
			require.NoError(t, err)
			arrays, metadata, err := x.save()
			require.NoError(t, err)
			require.NoError(t, safetensors.Save(path, arrays, metadata))
		}
		got = append(got, pythonGameOf(t, path))
	}
	slices.SortFunc(got, func(a, b pythonGame) int { return strings.Compare(a.File, b.File) })
	if *update {
		text, err := json.Marshal(got)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, append(text, '\n'), 0o644))
		return
	}
	for _, g := range got {
		w := want[slices.IndexFunc(want, func(w pythonGame) bool { return w.File == g.File })]
		require.Equal(t, w.Actions, g.Actions, g.File)
		require.Equal(t, w.Legal, g.Legal, g.File)
		require.InDelta(t, w.Score, g.Score, 1e-6, g.File)
		require.Len(t, g.Searches, len(w.Searches))
		for i, s := range g.Searches {
			require.Equal(t, w.Searches[i].Visits, s.Visits, g.File)
			require.Equal(t, w.Searches[i].Action, s.Action, g.File)
			require.InDeltaSlice(t, w.Searches[i].Values, s.Values, 1e-5, g.File)
		}
	}
}

// pythonGameOf plays a game at random with the network of a file, and searches some of its positions.
func pythonGameOf(t *testing.T, path string) pythonGame {
	t.Helper()
	f, err := safetensors.Open(path)
	require.NoError(t, err)
	defer f.Close()
	arrays := map[string]*graph.Array{}
	for _, name := range f.Names() {
		arrays[name], err = f.Array(name)
		require.NoError(t, err)
	}
	v, err := Load(&xlabridge.Reference{}, arrays, f.Metadata(), nil)
	require.NoError(t, err)
	defer v.Close()
	g := pythonGame{File: filepath.Base(path)}
	p, err := v.Start()
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(3, 5))
	for {
		var legal []int
		for a, ok := range p.Legal {
			if ok && !p.Over {
				legal = append(legal, a)
			}
		}
		g.Legal = append(g.Legal, legal)
		if p.Over {
			g.Score = p.Score
			return g
		}
		if move := len(g.Actions); move == 2 || move == 5 {
			for _, seed := range []int64{0, 1 << 33} {
				g.Searches = append(g.Searches, v.pythonSearch(t, p, move, seed, false))
			}
			if v.program.config.Search == "gumbel" {
				g.Searches = append(g.Searches, v.pythonSearch(t, p, move, 7, true))
			}
		}
		action := legal[r.IntN(len(legal))]
		g.Actions = append(g.Actions, action)
		p, err = v.Move(p, action)
		require.NoError(t, err)
	}
}

// pythonSearch searches a position with a seed.
func (v *Viewer) pythonSearch(t *testing.T, at Position, move int, seed int64, sampled bool) pythonSearch {
	t.Helper()
	p := v.program
	type results struct{ Prior, Visits, Values, Value, Weights, Action *graph.Array }
	r, err := xlabridge.Jit(&xlabridge.Reference{}, func(words *graph.Array) results {
		m, params, state := p.model(), p.searchParams(networkPlayer(v.weights)), p.game.unpack(words)
		root := m.Root(params, state)
		var found search.Result[search.Position[any]]
		if sampled {
			found = search.Run(p.config.trainingSearch(), params, random.New(seed), root, m.Step)
		} else {
			found = p.matchMove(m, params, random.New(seed), state, nil)
		}
		return results{graph.Softmax(root.PriorLogits, 0), found.Tree.RootVisits(), found.Tree.ChildValues().Index(0),
			found.Tree.RootValue(), found.ActionWeights, found.Action}
	})(graph.Uint32s(at.words))
	require.NoError(t, err)
	numbers := func(a *graph.Array) []float64 { return graphtest.Floats(t, a) }
	s := pythonSearch{Move: move, Seed: seed, Sampled: sampled, Prior: numbers(r.Prior), Values: numbers(r.Values),
		Value: numbers(r.Value)[0], Weights: numbers(r.Weights), Action: int(numbers(r.Action)[0])}
	for _, n := range numbers(r.Visits) {
		s.Visits = append(s.Visits, int(n))
	}
	if !sampled && seed == 0 { // what xlarun play does
		a, err := v.Ask(at)
		require.NoError(t, err)
		require.Equal(t, a.Visits, s.Visits)
		require.Equal(t, a.Action, s.Action)
	}
	return s
}
