package selfplay

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs/board"
	"xlarun/graph"
	"xlarun/graph/safetensors"
	"xlarun/internal/long"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// loaded is a network that testdata/README.md says how to train.
func loaded(t *testing.T, name string, change func(c *Config)) *Viewer {
	t.Helper()
	file, err := safetensors.Open("testdata/" + name)
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	require.NoError(t, file.CheckDigest())
	arrays := map[string]*graph.Array{}
	for _, n := range file.Names() {
		arrays[n], err = file.Array(n)
		require.NoError(t, err)
	}
	v, err := Load(client(t, 1), arrays, file.Metadata(), change)
	require.NoError(t, err)
	t.Cleanup(v.Close)
	return v
}

// The trained network of n = 6, k = 3 never loses, with 50 simulations, what the solver says is won, against the
// perfect player: random positions of several seeds and, in the long form, one of every class of won positions, in the
// order of the solver's names for vertices and in others.
func TestWonPositionsAreWon(t *testing.T) {
	n := 60
	if long.On() {
		n = 500
	}
	v := loaded(t, "clique-6-3.safetensors", func(c *Config) { c.NumSimulations = 50 })
	p := newPerfect(v.program.config)
	keeps := func(all []colors, name string) {
		t.Helper()
		for chunk := range slices.Chunk(all, n) {
			won, err := p.gamesWon(chunk, func(at []colors) ([]int, error) {
				return v.moves(networkPlayer(v.weights), at, n)
			})
			require.NoError(t, err)
			require.Equal(t, len(chunk), won, name)
		}
	}
	positions := p.won(500, 1)
	require.Len(t, positions, 500)
	positions = positions[:n]
	opening := 0
	for _, c := range positions {
		if c == (colors{}) {
			opening++
		}
	}
	require.Less(t, opening, n/3)
	keeps(positions, "seed 1")
	if long.On() {
		for seed := range uint64(20) {
			keeps(p.won(n, 100+seed), "another seed")
		}
		all, err := p.classes()
		require.NoError(t, err)
		require.Len(t, all, 2069)
		keeps(all, "every class")
		r := rand.New(rand.NewPCG(2, 2))
		for range 3 {
			renamed := make([]colors, len(all))
			for i, c := range all {
				for e, to := range board.Permuted(r.Perm(6)) {
					for side := range c {
						renamed[i][side] |= c[side] >> e & 1 << to
					}
				}
			}
			keeps(renamed, "every class, by other names")
		}
	}

	// The yardstick measures: chance loses most of what was won.
	r := rand.New(rand.NewPCG(1, 1))
	won, err := p.gamesWon(positions, func(at []colors) (moves []int, err error) {
		for _, c := range at {
			moves = append(moves, nth(c, r.IntN(15-len(bitsOf(c[0]|c[1])))))
		}
		return moves, nil
	})
	require.NoError(t, err)
	require.Less(t, won, n*2/3)
	won, err = p.gamesWon(positions, func(at []colors) (moves []int, err error) {
		for _, c := range at {
			moves = append(moves, p.solution().Best(c[0], c[1])[0])
		}
		return moves, nil
	})
	require.NoError(t, err)
	require.Equal(t, n, won, "the perfect player keeps them all")
}

func bitsOf(x uint32) (all []int) {
	for e := range 32 {
		if x>>e&1 == 1 {
			all = append(all, e)
		}
	}
	return all
}

// It wins almost all of its games against chance, and most of those against the untrained network with as much search.
func TestTheTrainedNetworkIsStronger(t *testing.T) {
	long.Only(t)
	v := loaded(t, "clique-6-3.safetensors", func(c *Config) { c.NumSimulations, c.ArenaGames = 50, 400 })
	c := v.Config()
	x, err := New(client(t, 2), c)
	require.NoError(t, err)
	defer func() { require.NoError(t, x.Close()) }()
	untrained := networkPlayer(graph.Float32s(x.pool.checkpoints[0].weights))
	chance := untrained
	chance.Random = graph.Of(true)
	points, err := x.playMatch(networkPlayer(v.weights), chance, x.keys[3])
	require.NoError(t, err)
	require.GreaterOrEqual(t, newResult(0, points).score, .95*400)
	points, err = x.playMatch(networkPlayer(v.weights), untrained, x.keys[3])
	require.NoError(t, err)
	require.GreaterOrEqual(t, newResult(0, points).score, .65*400)
}

// shortRun is a run that learns within seconds.
func shortRun() Config {
	c := DefaultConfig()
	c.Vertices, c.NumIterations, c.NumEpisodes, c.NumSimulations, c.Network, c.ArenaEvery, c.TrainingBatchSize = 5, 4,
		64, 8, "mlp:32", 4, 64
	c.Epochs, c.LearningRate = settings.Num(16), settings.Num(1e-2)
	return c
}

// A short run learns: the loss falls, and the last network beats the first.
func TestAShortRunLearns(t *testing.T) {
	c := shortRun()
	want := [2]float64{.8, .5}
	if long.On() {
		c.Vertices, c.NumIterations, c.NumEpisodes, c.NumSimulations, c.Network, c.ArenaEvery, c.ArenaGames = 6, 20,
			200, 50, "mlp:128,128", 20, 200
		c.TrainingBatchSize, c.LearningRate = 256, settings.Num(5e-3)
		want = [2]float64{.95, .65}
	}
	x := started(t, c, 2)
	all := iterations(t, x, c.NumIterations)
	first, _ := all[0].Get("loss")
	last, _ := all[len(all)-1].Get("loss")
	require.Less(t, last, first)
	for i, name := range []string{"score_random", "score_untrained"} {
		score, ok := all[len(all)-1].Get(name)
		require.True(t, ok)
		require.GreaterOrEqual(t, score, want[i], name)
	}
}

// In the game that who closes a triangle loses, on six vertices, the second player can win, and the solver's table says
// so; the network trained for it wins as second player from every first move against the perfect player.
func TestSecondPlayerWinsAvoid(t *testing.T) {
	long.Only(t) // TestWonPositionsAreWon has the other variant
	s, err := board.Solve(board.Avoid, 6, 3)
	require.NoError(t, err)
	value, ok := s.Value(0, 0)
	require.True(t, ok)
	require.Equal(t, -1, value)
	v := loaded(t, "avoid-6-3.safetensors", nil)
	p := newPerfect(v.program.config)
	var positions []colors
	for e := range 15 {
		positions = append(positions, colors{}.with(e))
	}
	won, err := p.gamesWon(positions, func(at []colors) ([]int, error) {
		return v.moves(networkPlayer(v.weights), at, len(positions))
	})
	require.NoError(t, err)
	require.Equal(t, 15, won)
}

// The trained network never loses Tic-tac-toe after its searches, whatever the other one plays: all lines are played
// out, with either side.
func TestTicTacToeIsNeverLost(t *testing.T) {
	long.Only(t) // TestWonPositionsAreWon has another trained network
	v := loaded(t, "tictactoe.safetensors", nil)
	start, err := v.Start()
	require.NoError(t, err)
	lines := [][3]int{{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {0, 3, 6}, {1, 4, 7}, {2, 5, 8}, {0, 4, 8}, {2, 4, 6}}
	type cells [9]uint32
	has := func(c cells, who uint32) bool {
		return slices.ContainsFunc(lines, func(l [3]int) bool {
			return c[l[0]] == who && c[l[1]] == who && c[l[2]] == who
		})
	}
	full := func(c cells) bool { return !slices.Contains(c[:], 0) }
	words := func(c cells, player uint32) []uint32 {
		w := slices.Clone(start.words)
		copy(w, c[:])
		w[9] = player
		return w
	}
	asked := 0
	for side := range uint32(2) {
		level := map[cells]bool{{}: true}
		for ply := uint32(0); len(level) > 0; ply++ {
			mark := ply%2 + 1
			next := map[cells]bool{}
			reach := func(c cells, at int) {
				c[at] = mark
				switch {
				case has(c, mark):
					require.Equal(t, side, ply%2, "a lost position: %v", c)
				case !full(c):
					next[c] = true
				}
			}
			var all []cells
			for c := range level {
				all = append(all, c)
			}
			if ply%2 != side {
				for _, c := range all {
					for at := range 9 {
						if c[at] == 0 {
							reach(c, at)
						}
					}
				}
				level = next
				continue
			}
			const n = 64
			for len(all) > 0 {
				chunk := all[:min(n, len(all))]
				all = all[len(chunk):]
				var in []uint32
				for i := range n {
					in = append(in, words(chunk[min(i, len(chunk)-1)], ply%2)...)
				}
				a, err := v.ask(networkPlayer(v.weights), in)
				require.NoError(t, err)
				moves, err := graph.Floats(a.Action)
				require.NoError(t, err)
				xlabridge.Free(a)
				for i, c := range chunk {
					require.Zero(t, c[int(moves[i])])
					reach(c, int(moves[i]))
					asked++
				}
			}
			level = next
		}
	}
	require.Greater(t, asked, 50)
}

// colors.words has the layout of the game's states.
func TestWordsOfStates(t *testing.T) {
	c := small()
	c.Game, c.Vertices = "tictactoe", 6
	v := newViewer(must(c.program()), run.Stages{Backend: client(t, 1)})
	require.Len(t, must(wordsOf(must(graph.Eval(v.program.game.pack(v.program.game.start))))), 9+1+1+2)
}

// Every coloring of K_6 in two colors has a triangle of one color; K_5 has one without.
func TestRamseyOfTriangles(t *testing.T) {
	for _, c := range []struct{ vertices, valid int }{{5, 12}, {6, 0}} {
		edges, valid := c.vertices*(c.vertices-1)/2, 0
		for set := range 1 << edges {
			x := Coloring{c.vertices, make([]bool, edges)}
			for e := range edges {
				x.First[e] = set>>e&1 == 1
			}
			if x.Valid(3, 3) {
				valid++
			}
		}
		require.Equal(t, c.valid, valid, "K_%d", c.vertices)
	}
}

// A run of the puzzle on five vertices finds a coloring, which a plain loop verifies, and writes it.
func TestRamseyIsFound(t *testing.T) {
	c := small()
	c.Vertices, c.Variant, c.NumEpisodes, c.NumSimulations, c.NumIterations = 5, ramsey, 16, 8, 1
	x := startedOn(t, interpreted(t), c)
	m := iterations(t, x, 1)[0]
	found, ok := m.Get("found")
	require.True(t, ok)
	require.Positive(t, found)
	all, err := x.Colorings()
	require.NoError(t, err)
	require.NotEmpty(t, all)
	files, err := x.Files(run.Snapshot{}, true)
	require.NoError(t, err)
	names := map[string][]byte{}
	for _, f := range files {
		names[f.Name] = f.Data
	}
	for _, want := range []string{"best.safetensors", "game.gif", "root.png", "root.svg", "tree.json", "coloring-1.g6",
		"coloring-1.png"} {
		require.Contains(t, names, want)
	}
	g, ok := readGraph6(strings.TrimSpace(string(names["coloring-1.g6"])))
	require.True(t, ok)
	require.Equal(t, all[0], g)
	require.Equal(t, "GIF89a", string(names["game.gif"][:6]))
	require.EqualValues(t, 0x89504e47, binary.BigEndian.Uint32(names["root.png"]))
	require.True(t, strings.HasPrefix(string(names["root.svg"]), "<svg"))

	// A run that goes on after its last iteration has nothing left to play, and writes the same files: an interrupt may
	// have come before them.
	again := startedOn(t, interpreted(t), c)
	require.NoError(t, again.Restore(t.Context(), snapshot(t, x)))
	rewritten, err := again.Files(run.Snapshot{}, true)
	require.NoError(t, err)
	require.Len(t, rewritten, len(files))
	for _, f := range rewritten {
		require.True(t, bytes.Equal(names[f.Name], f.Data), "%s: %d bytes, want %d", f.Name, len(f.Data),
			len(names[f.Name]))
	}
}

// R(4, 4) > 16: a run finds a coloring of K_16 in which no four vertices have six edges of one color. Loops over all
// quadruples check it.
func TestColoringOf16WithoutFour(t *testing.T) {
	long.Only(t) // TestRamseyIsFound has a smaller graph, TestSymmetriesOfRotatedColorings the rotation
	const n = 16
	c := small()
	c.Vertices, c.K, c.Variant, c.Rotation = n, []int{4}, ramsey, 4
	c.NumEpisodes, c.NumSimulations, c.NumIterations, c.GameBatchSize = 64, 8, 2, 64
	x := started(t, c, 2)
	iterations(t, x, 2)
	all, err := x.Colorings()
	require.NoError(t, err)
	require.NotEmpty(t, all)
	for i, found := range all {
		for _, other := range all[:i] {
			require.NotEqual(t, other, found, "each is kept once")
		}
	}
	for _, found := range all {
		first := func(a, b int) bool { return found.First[board.Edge(n, a, b)] }
		for d := range n {
			for c := range d {
				for b := range c {
					for a := range b {
						color := first(a, b)
						require.False(t, color == first(a, c) && color == first(a, d) && color == first(b, c) &&
							color == first(b, d) && color == first(c, d), "%d %d %d %d", a, b, c, d)
					}
				}
			}
		}
	}
}

// Positions that training sees under symmetries of rotated colorings are rotated colorings.
func TestSymmetriesOfRotatedColorings(t *testing.T) {
	for _, n := range []int{5, 6, 8} {
		for step := 1; step <= n; step++ {
			if n%step != 0 {
				continue
			}
			c := small()
			c.Vertices, c.Variant, c.Rotation = n, ramsey, step
			g, err := c.game()
			require.NoError(t, err)
			rotation := make([]int, n)
			for v := range rotation {
				rotation[v] = (v + step) % n
			}
			next := board.Permuted(rotation)
			class := make([]int, len(next)) // of an edge: the least edge of its images
			for e := range next {
				class[e] = e
				for at := int(next[e]); at != e; at = int(next[at]) {
					class[e] = min(class[e], at)
				}
			}
			require.Greater(t, g.symmetries.count(), 1)
			for _, to := range g.symmetries.cells {
				for e := range next {
					require.Equal(t, class[to[e]], class[to[next[e]]], "K_%d by %d", n, step)
				}
			}
		}
	}
}

// readGraph6 reads a coloring back.
func readGraph6(text string) (c Coloring, ok bool) {
	if len(text) == 0 {
		return c, false
	}
	n := int(text[0]) - 63
	c = Coloring{n, make([]bool, n*(n-1)/2)}
	bit := 0
	for b := 1; b < n; b++ {
		for a := range b {
			if 1+bit/6 >= len(text) {
				return c, false
			}
			c.First[board.Edge(n, a, b)] = (text[1+bit/6]-63)>>(5-bit%6)&1 == 1
			bit++
		}
	}
	return c, len(text) == 1+(bit+5)/6
}

// The colorings of larger graphs that runs have found have no four vertices of one color.
func TestColoringsWithoutFour(t *testing.T) {
	files, err := os.ReadDir("testdata")
	require.NoError(t, err)
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".g6") {
			continue
		}
		text, err := os.ReadFile("testdata/" + f.Name())
		require.NoError(t, err)
		c, ok := readGraph6(strings.TrimSpace(string(text)))
		require.True(t, ok)
		require.GreaterOrEqual(t, c.Vertices, 14)
		require.True(t, c.Valid(4, 4), f.Name())
		require.Equal(t, strings.TrimSpace(string(text)), c.Graph6())
		c.First = slices.Repeat([]bool{true}, len(c.First))
		require.False(t, c.Valid(4, 4))
	}
	// K_3 and the path of two edges, as the format's description writes them.
	require.Equal(t, "Bw", Coloring{3, []bool{true, true, true}}.Graph6())
	require.Equal(t, "Bo", Coloring{3, []bool{true, true, false}}.Graph6())
}
