package selfplay

import (
	"context"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs/board"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/rollout/plan"
	"xlarun/rollout/run"
	"xlarun/rollout/run/runtest"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

var (
	mutex   sync.Mutex
	clients = map[int]*xlabridge.Client{}
)

// client returns the CPU with a number of devices. All tests of the package share it.
func client(t testing.TB, devices int) *xlabridge.Client {
	t.Helper()
	mutex.Lock()
	defer mutex.Unlock()
	if clients[devices] == nil {
		c, err := xlabridge.Open(context.Background(),
			xlabridge.Options{Backend: "cpu", Devices: devices, CacheDir: xlatest.CacheDir(t)})
		require.NoError(t, err)
		clients[devices] = c
	}
	return clients[devices]
}

// small is a run that takes little time.
func small() Config {
	c := DefaultConfig()
	c.Vertices, c.Network, c.NumIterations, c.NumEpisodes, c.NumSimulations, c.GameBatchSize, c.TrainingBatchSize = 4,
		"mlp:8", 4, 7, 4, 4, 8
	c.Replay, c.Epochs, c.ArenaEvery, c.ArenaGames = 2, settings.Num(2), 2, 4
	return c
}

// smallOf is a run of another game that takes little time.
func smallOf(game string) Config {
	c := small()
	if c.Game = game; game != clique {
		c.Vertices = DefaultConfig().Vertices
	}
	return c
}

// interpreted is the interpreter, which compiles nothing; in the long form it is XLA on one device.
func interpreted(t testing.TB) xlabridge.Backend {
	if long.On() {
		return client(t, 1)
	}
	return &xlabridge.Reference{}
}

func started(t testing.TB, c Config, devices int) *Training {
	t.Helper()
	return startedOn(t, client(t, devices), c)
}

func startedOn(t testing.TB, b xlabridge.Backend, c Config) *Training {
	t.Helper()
	x, err := New(b, c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, x.Close()) })
	return x
}

func iterations(t testing.TB, x *Training, n int) []run.Metrics {
	t.Helper()
	all := runtest.Steps(t, x, n)
	for i := range all {
		all[i].Timings = nil
	}
	return all
}

var bytesOf = runtest.Bytes

func snapshot(t testing.TB, x *Training) run.Snapshot { return runtest.Snapshot(t, x) }

func same(t testing.TB, want, got run.Snapshot, words string) {
	t.Helper()
	runtest.SameBytes(t, bytesOf(t, want), bytesOf(t, got), words)
}

// Only an iteration with an arena says how long it took: the one after the last iteration is not part of it.
func TestSecondsOfAnArena(t *testing.T) {
	all := runtest.Steps(t, startedOn(t, &xlabridge.Reference{}, small()), 2)
	for i, m := range all {
		at := slices.IndexFunc(m.Timings, func(v run.Value) bool { return v.Name == "arena_seconds" })
		require.Equal(t, i == 1, at >= 0, "iteration %d", i+1)
	}
}

// The same seed is the same games, the same learning and the same ratings, to the byte: on one device and on two, and
// after going on from the middle. The short form has two devices and no arena; TestGolden of cmd/xlarun keeps the bytes
// on two devices, with an arena.
func TestTheSameOnOneAndTwoDevicesAndAfterRestore(t *testing.T) {
	c := small()
	if !long.On() {
		c.ArenaEvery = 0
	}
	devices := 2
	if long.On() {
		devices = 1
	}
	one, two := started(t, c, devices), started(t, c, 2)
	first, end := iterations(t, one, 4), snapshot(t, one)
	half, middle, rest := iterations(t, two, 2), snapshot(t, two), iterations(t, two, 2)
	require.Equal(t, first, append(half, rest...))
	same(t, end, snapshot(t, two), "two devices")

	again := started(t, c, 2)
	require.NoError(t, again.Restore(t.Context(), middle))
	require.Equal(t, rest, iterations(t, again, 2))
	same(t, end, snapshot(t, again), "gone on")
	require.EqualValues(t, 4, snapshot(t, again).Step)

	c.Seed = 1
	x := started(t, c, devices)
	iterations(t, x, 1)
	require.NotEqual(t, bytesOf(t, end)["replay.rows"], bytesOf(t, snapshot(t, x))["replay.rows"])

	for name := range end.Arrays {
		broken := run.Snapshot{Step: 4, Arrays: maps.Clone(end.Arrays)}
		if delete(broken.Arrays, name); name == finalName { // earlier versions had none
			broken.Arrays[name] = graph.Uint32s([]uint32{1})
		}
		require.ErrorContains(t, x.Restore(t.Context(), broken), "restore what the same settings made", name)
	}
	require.NoError(t, x.Close())
	_, err := x.Step(t.Context())
	require.ErrorIs(t, err, run.ErrGone)
	require.ErrorIs(t, x.Restore(t.Context(), end), run.ErrGone)
}

// played are the games of the newest iteration, read out of the replay.
type played struct {
	board  []board.State[board.Edges]
	policy [][]float64
	worth  []float64
}

func readGames(t testing.TB, x *Training) (all []played) {
	t.Helper()
	p := x.program
	rows, err := wordsOf(x.state.Replay.Rows)
	require.NoError(t, err)
	lengths, err := graph.Floats(x.state.Replay.Length)
	require.NoError(t, err)
	n, place := p.replayGames(x.layout), int(x.step-1)%x.config.Replay
	for game := range n {
		var g played
		for move := range int(lengths[place*n+game]) {
			row := rows[((place*n+game)*p.game.moves+move)*p.words():][:p.words()]
			s, err := graph.Eval(p.game.unpack(graph.Uint32s(row[:p.game.stateWords()])))
			require.NoError(t, err)
			g.board = append(g.board, s.(board.State[board.Edges]))
			shares, err := graph.Floats(p.unpackPolicy(graph.Uint32s(row[p.game.stateWords() : len(row)-1])))
			require.NoError(t, err)
			g.policy = append(g.policy, shares)
			g.worth = append(g.worth, float64(math.Float32frombits(row[len(row)-1])))
		}
		all = append(all, g)
	}
	return all
}

// What is learned from are whole games by the rules: each move adds an edge to the board before, policies are shares of
// free edges, and worth is who won, as a plain loop over the last board says, seen by who moves.
func TestGamesAreByTheRules(t *testing.T) {
	for _, c := range []struct {
		name    string
		variant string
		random  int
	}{{"maker", "maker", 0}, {"avoid, behind random moves", "avoid", 3}} {
		t.Run(c.name, func(t *testing.T) {
			config := small()
			config.ArenaEvery, config.Variant, config.RandomMoves = 0, c.variant, c.random
			var b xlabridge.Backend = client(t, 2)
			if c.variant == "avoid" { // a program that no other test has
				b = interpreted(t)
			}
			x := startedOn(t, b, config)
			iterations(t, x, 3) // the replay has room for two
			games := readGames(t, x)
			count, later := 0, 0
			for _, g := range games {
				if len(g.board) == 0 {
					continue
				}
				count++
				var boards [][2]uint32
				for i, s := range g.board {
					words, err := graph.Floats(s.Board.Colored)
					require.NoError(t, err)
					b := [2]uint32{uint32(words[0]), uint32(words[1])}
					mover, err := graph.Float(s.Player)
					require.NoError(t, err)
					require.Equal(t, colors(b).mover(), int(mover))
					if i == 0 && b != [2]uint32{} {
						later++
					}
					total := 0.
					for e, share := range g.policy[i] {
						if (b[0]|b[1])>>e&1 == 1 {
							require.Zero(t, share, "an edge that has a color")
						}
						total += share
					}
					require.InDelta(t, 1, total, 1e-5)
					if i > 0 {
						before := boards[i-1]
						m := colors(before).mover()
						require.Equal(t, before[1-m], b[1-m])
						added := b[m] &^ before[m]
						require.True(t, added != 0 && added&(added-1) == 0 && before[m]&^b[m] == 0 &&
							added&before[1-m] == 0)
						require.Equal(t, -g.worth[i-1], g.worth[i])
					}
					boards = append(boards, b)
				}
				require.Contains(t, []float64{-1, 0, 1}, g.worth[0])
				for player := range 2 {
					p := perfect{vertices: 4, k: [2]int{3, 3}}
					require.False(t, p.closed(colors(boards[len(boards)-1]), player), "the game is not over yet")
				}
			}
			require.Positive(t, count)
			if c.random == 0 {
				require.Equal(t, config.NumEpisodes, count)
				require.Zero(t, later)
			} else {
				require.Positive(t, later)
			}
		})
	}
}

// The search in Go that asks the network position by position plays the games of the compiled one: equal visits, move
// by move, and so equal rows, for a network whose numbers do not depend on the rounding of sums. The short form
// interprets the programs.
func TestPlainSearchPlaysTheSameGames(t *testing.T) {
	for _, search := range []string{"gumbel", "puct"} {
		t.Run(search, func(t *testing.T) {
			c := small() // training has the program of the other tests
			if c.Search, c.ArenaEvery = search, 0; search == "puct" || long.On() {
				c.NumSimulations, c.RandomMoves = 12, 2
			}
			b := interpreted(t)
			compiled := startedOn(t, b, c)
			c.UseTrueMCTX = false
			plain := startedOn(t, b, c)
			first, second := iterations(t, compiled, 1)[0], iterations(t, plain, 1)[0]
			for _, name := range []string{"positions", "mean_length", "first_wins", "draws"} {
				x, _ := first.Get(name)
				y, ok := second.Get(name)
				require.True(t, ok)
				require.Equal(t, x, y, name)
			}
			want, got := readGames(t, compiled), readGames(t, plain)
			require.Len(t, got, len(want))
			for g := range want {
				require.Len(t, got[g].board, len(want[g].board))
				for i := range want[g].board {
					require.InDeltaSlice(t, want[g].policy[i], got[g].policy[i], 1e-4, "game %d, move %d", g, i)
					require.Equal(t, want[g].worth[i], got[g].worth[i])
				}
			}
		})
	}
}

// Rows hold what is packed into them, shares to a step of 1/65535.
func TestPacking(t *testing.T) {
	for _, game := range []string{"clique", "hex", "othello", "connectfour", "tictactoe"} {
		c := smallOf(game)
		p, err := c.program()
		require.NoError(t, err)
		words, err := graph.Eval(p.game.pack(p.game.start))
		require.NoError(t, err)
		state, err := graph.Eval(p.game.unpack(words))
		require.NoError(t, err)
		want, got := graph.Leaves(p.game.start), graph.Leaves(state)
		for i := range want {
			require.Equal(t, want[i].String(), got[i].String(), game)
		}
		n := p.game.actions
		shares, err := graph.Floats(graph.Softmax(random.Normal(random.New(1), graph.ShapeOf(graph.Float32, n)), 0))
		require.NoError(t, err)
		in := make([]float32, n)
		for i, s := range shares {
			in[i] = float32(s)
		}
		out, err := graph.Floats(p.unpackPolicy(p.packPolicy(graph.Float32s(in))))
		require.NoError(t, err)
		require.InDeltaSlice(t, shares, out, 1e-3, game)
	}
	require.Equal(t, []uint32{5, 2, 1, 0, 0, 0}, colors{5, 2}.words())
}

// Every symmetry is a permutation that shows the same game: shown by it, a position's observation and legal moves are
// those of the position that the same moves, renamed, lead to.
func TestSymmetries(t *testing.T) {
	for _, game := range []string{"clique", "tictactoe", "connectfour", "othello"} {
		t.Run(game, func(t *testing.T) {
			c := smallOf(game)
			p, err := c.program()
			require.NoError(t, err)
			g, s := p.game, p.game.symmetries
			require.Equal(t, map[string]int{"clique": 24, "tictactoe": 8, "connectfour": 2, "othello": 8}[game],
				s.count())
			line := func(actions []int) (observation, legal []float64) {
				state := g.start
				var err error
				for _, a := range actions {
					next, _, _, _, _ := g.env.Step(random.New(0), state, graph.Of(int32(a)), g.params)
					state, err = graph.Eval(next)
					require.NoError(t, err)
				}
				observation, err = graph.Floats(g.env.Observe(state, g.params))
				require.NoError(t, err)
				legal, err = graph.Floats(g.traits.Legal(state, g.params))
				require.NoError(t, err)
				return observation, legal
			}
			moves := map[string][]int{"clique": {0, 3}, "tictactoe": {0, 5, 1}, "connectfour": {1, 1, 0}, "othello": {
				19, 18}}[game]
			observation, legal := line(moves)
			matched := 0
			for i := range s.count() {
				to := map[int]int{} // action of the position -> action under the symmetry
				for a, from := range s.actions[i] {
					to[int(from)] = a
				}
				require.Len(t, to, g.actions, "a permutation")
				var renamed []int
				for _, m := range moves {
					renamed = append(renamed, to[m])
				}
				if _, open := line(nil); game == "othello" && open[renamed[0]] == 0 {
					continue // the first position has four of the eight symmetries
				}
				wantSeen, wantLegal := line(renamed)
				features := len(observation) / len(s.cells[i])
				for cell, from := range s.cells[i] {
					for f := range features {
						require.Equal(t, wantSeen[cell*features+f], observation[int(from)*features+f],
							"symmetry %d, cell %d", i, cell)
					}
				}
				for a, from := range s.actions[i] {
					require.Equal(t, wantLegal[a], legal[from], "symmetry %d, action %d", i, a)
				}
				matched++
			}
			require.GreaterOrEqual(t, matched, s.count()/2)
		})
	}
}

// What a symmetry shows is what a plain loop over its orders gives, compiled and interpreted: any number of features,
// flags, and what is no number.
func TestPermuted(t *testing.T) {
	for _, c := range []struct {
		number, n, cells, features, count int
		what                              string
	}{{1, 3, 5, 1, 4, "one feature"}, {2, 2, 3, 2, 2, "two"}, {3, 7, 91, 3, 1024, "those of a graph of 14 vertices"},
		{4, 1, 1, 5, 1, "one cell"}, {5, 0, 4, 2, 2, "no examples"}} {
		r := rand.New(rand.NewPCG(uint64(c.number), 1))
		x, flags, want, raised := make([]float32, c.n*c.cells*c.features), make([]bool, c.n*c.cells), []float32{},
			[]bool{}
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		for i := range flags {
			flags[i] = r.IntN(2) == 1
		}
		if len(x) > 1 {
			x[0], x[1] = float32(math.NaN()), float32(math.Inf(-1))
		}
		var table, which []int32
		for range c.count {
			for _, from := range r.Perm(c.cells) {
				table = append(table, int32(from))
			}
		}
		for i := range c.n {
			which = append(which, int32(r.IntN(c.count)))
			for _, from := range table[int(which[i])*c.cells:][:c.cells] {
				want = append(want, x[(i*c.cells+int(from))*c.features:][:c.features]...)
				raised = append(raised, flags[i*c.cells+int(from)])
			}
		}
		type shown struct{ Features, Flags *graph.Array }
		show := func(in shown, which *graph.Array) shown {
			orders := graph.Int32s(table, c.count, c.cells)
			return shown{permute(in.Features, orders, which), permute(in.Flags, orders, which)}
		}
		backends := map[string]xlabridge.Backend{"interpreted": &xlabridge.Reference{}}
		if c.number == 3 || long.On() {
			backends["compiled"] = client(t, 1)
		}
		for name, b := range backends {
			got, err := xlabridge.Jit2(b, show)(shown{graph.Float32s(x, c.n, c.cells, c.features),
				graph.Reshape(graph.Of(flags), c.n, c.cells)}, graph.Int32s(which))
			require.NoError(t, err)
			words, err := wordsOf(got.Features)
			require.NoError(t, err)
			require.Len(t, words, len(want))
			for i := range want {
				require.Equal(t, math.Float32bits(want[i]), words[i], "case %d (%s), %s, at %d", c.number, c.what, name,
					i)
			}
			numbers, err := graph.Floats(got.Flags)
			require.NoError(t, err)
			for i := range raised {
				require.Equal(t, raised[i], numbers[i] != 0, "case %d (%s), %s, flag %d", c.number, c.what, name, i)
			}
		}
	}
}

// Batches are the positions that there are, each as likely as the others: a plain loop over the games counts the same.
func TestBatchesAreRowsOfTheReplay(t *testing.T) {
	c := small()
	c.Replay = 2
	p, err := c.program()
	require.NoError(t, err)
	l, err := p.layout(plan.Machine{Devices: 1})
	require.NoError(t, err)
	n, moves, words := p.replayGames(l), p.game.moves, p.words()
	rows, lengths := make([]uint32, 2*n*moves*words), make([]int32, 2*n)
	var want []uint32
	for g := range lengths {
		lengths[g] = int32([]int{0, 3, 1, moves}[g%4])
		for m := range int(lengths[g]) {
			at := (g*moves + m) * words
			rows[at] = uint32(1000*g + m)
			want = append(want, rows[at])
		}
	}
	all := make([]int32, len(want))
	for i := range all {
		all[i] = int32(i)
	}
	got, err := wordsOf(
		must(graph.Eval(p.gather(replay{graph.Uint32s(rows, 2, n, moves, words), graph.Int32s(lengths, 2, n)},
			graph.Int32s(all)))))
	require.NoError(t, err)
	for i := range want {
		require.Equal(t, want[i], got[i*words], "position %d", i)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// The gradient of a batch does not depend on its number of parts, and interpreted and compiled training steps agree.
func TestTrainingStepsAgree(t *testing.T) {
	weights := func(change func(c *Config)) []float32 {
		c := small()
		c.ArenaEvery, c.Epochs = 0, settings.Num(1)
		change(&c)
		x := started(t, c, 2)
		iterations(t, x, 1)
		w, err := floats(x.state.Learner.Weights)
		require.NoError(t, err)
		return w
	}
	want := weights(func(*Config) {})
	changes := map[string]func(c *Config){
		"interpreted":   func(c *Config) { c.OptimizedTraining = false },
		"in four parts": func(c *Config) { c.Accumulate, c.OptimizedTraining = 4, long.On() },
	}
	dtypes := []string{"f16"}
	if long.On() {
		changes["in one part"] = func(c *Config) { c.Accumulate = 1 }
		dtypes = append(dtypes, "bf16")
	}
	for name, change := range changes {
		require.InDeltaSlice(t, want, weights(change), 2e-4, name)
	}
	for _, dtype := range dtypes {
		got := weights(func(c *Config) { c.Precision = dtype })
		require.InDeltaSlice(t, want, got, .05, dtype)
		require.NotEqual(t, want, got, dtype)
	}
}

// The rating is the one at which the expected score is the score, and finite where all games were won.
func TestElo(t *testing.T) {
	for _, c := range []struct {
		number  int
		results []result
		want    float64
	}{
		{1, nil, 0}, {2, []result{{rating: 100, score: 5, games: 10}}, 100},
		{3, []result{{rating: 0, score: 10, games: 10}}, 400 * math.Log10(10.5/.5)},
		{4, []result{{rating: 0, score: 0, games: 10}}, -400 * math.Log10(10.5/.5)},
		{5, []result{{rating: -50, score: 20, games: 40}, {rating: 50, score: 20, games: 40}}, 0},
		{6, []result{{rating: 1000, score: 750, games: 999}}, 1000 + 400*math.Log10(750.5/249.5)},
	} {
		require.InDelta(t, c.want, elo(c.results), 1e-6, "case %d", c.number)
	}
}

// The error of the rating is that of the score times the slope of the rating, 400/ln 10 / (p (1 - p)), with one more
// draw against each opponent. After only wins it is large: it once was 0.
func TestEloError(t *testing.T) {
	of := func(results ...result) float64 { return eloError(elo(results), results) }
	won := func(wins float64, games int) result { return result{score: wins, games: games} }
	const p, n = .75, 400
	slope := 400 / math.Ln10 / (p * (1 - p))
	require.InEpsilon(t, slope*math.Sqrt(p*(1-p)/n), of(won(300, n)), .01)
	require.InEpsilon(t, slope*math.Sqrt(p*(1-p)/n/2), of(won(300, n), won(300, n)), .01)
	require.InDelta(t, 400/math.Ln10/math.Sqrt(11*(10.5/11)*(.5/11)), of(won(10, 10)), 1e-6) // 251
	require.InDelta(t, of(won(10, 10)), of(won(0, 10)), 1e-6)
	require.Greater(t, of(won(10, 10)), of(won(9, 10)))
}

// Pools keep the untrained network and the newest checkpoints, and survive a snapshot.
func TestPool(t *testing.T) {
	p := newPool(graph.Float32s([]float32{1, 2}))
	for i := range 5 {
		p = p.with(checkpoint{[]float32{float32(i), 0}, i + 1, float64(10 * i)}, 2)
	}
	require.Len(t, p.checkpoints, 3)
	for i, iteration := range []int{0, 4, 5} {
		require.Equal(t, iteration, p.checkpoints[i].iteration)
	}
	arrays := map[string]*graph.Array{}
	p.save(arrays)
	q, err := loadPool(arrays, 2)
	require.NoError(t, err)
	require.Equal(t, p.checkpoints[1:], q.checkpoints[1:])
	require.True(t, math.IsNaN(q.search) && math.IsNaN(q.checkpoints[0].rating))
	q.checkpoints[0].rating = 0
	require.Equal(t, checkpoint{[]float32{1, 2}, 0, 0}, q.checkpoints[0])
	_, err = loadPool(arrays, 3)
	require.ErrorContains(t, err, "3 parameters")
}

// Bad input is refused in a sentence before anything is compiled.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		number int
		change func(c *Config)
		want   string
	}{
		{1, func(c *Config) { c.K = []int{5} },
			"k: got 5, want cliques of at most as many vertices as the graph has, 4"},
		{2, func(c *Config) { c.K = []int{2} },
			"k: got 2, want cliques of 3 vertices or more: two vertices are an edge"},
		{3, func(c *Config) { c.NumSimulations = 0 }, "num-simulations: got 0, want a whole number from 1"},
		{4, func(c *Config) {
			c.TrainingBatchSize = 1 << 20
			c.Memory = 1 << 20
		}, "training-batch-size: got 1048576, want a smaller batch, or a larger --accumulate: the run takes about"},
		{5, func(c *Config) {
			c.GamesPerDevice, c.GameBatchSize, c.NumEpisodes, c.NumSimulations, c.Memory = 4096, 4096, 4096, 4096, 1<<26
		}, "game-batch-size: got 4096, want fewer games"},
		{6, func(c *Config) { c.NumEpisodes, c.Memory = 1<<20, 1<<26 }, "num-episodes: got 1048576"},
		{7, func(c *Config) { c.ArenaGames = 5 }, "arena-games: got 5, want an even number"},
		{8, func(c *Config) {
			c.Accumulate = 3
		}, "accumulate: got 3, want a number that divides the training batch of 8, as 1 does"},
		{9, func(c *Config) { c.K = []int{3, 4, 4} }, "k: got 3,4,4, want one size"},
		{10, func(c *Config) { c.K = nil }, "k: got , want one size"},
		{11, func(c *Config) { c.Game, c.Vertices, c.Network = "tictactoe", 6, "graph:8" }, "colors no edges"},
		{12, func(c *Config) { c.UseTrueMCTX, c.Reuse = false, true }, "reuse"},
		{13, func(c *Config) { c.Game = "go" }, "game"},
		{14, func(c *Config) { c.Vertices, c.K = 32, []int{9} }, "vertices: got 32, want a smaller graph"},
		{15, func(c *Config) { c.LearningRate = settings.Num(math.NaN()) }, "learning-rate"},
		{16, func(c *Config) { c.Game = "hex" }, "vertices: got 4, want --game clique beside it: it has no " +
			"effect otherwise"},
		{17, func(c *Config) { c.Game, c.Vertices, c.K = "tictactoe", 6, []int{4} }, "k: got 4, want --game clique"},
		{18, func(c *Config) {
			c.Game, c.Vertices, c.Variant = "othello", 6, ramsey
		}, "variant: got ramsey, want --game clique"},
		{19, func(c *Config) { c.GamesPerDevice = 5 },
			"games-per-device: got 5, want at most the 4 games that are played at the same time"},
		{20, func(c *Config) { c.Variant, c.Rotation = ramsey, 3 },
			"rotation: got 3, want a divisor of the 4 vertices, or 0"},
		{21, func(c *Config) { c.Game, c.Vertices, c.Symmetries = "hex", 6, false },
			"symmetries: got false, want --game other than hex"},
	} {
		config := small()
		c.change(&config)
		err := config.Check(plan.Machine{Devices: 2})
		require.ErrorContains(t, err, c.want, "case %d", c.number)
	}
	// Trees that do not fit at the same time are played by fewer lanes.
	c := small()
	c.GameBatchSize, c.NumEpisodes, c.NumSimulations, c.Memory = 4096, 4096, 64, 64<<20
	p, err := c.program()
	require.NoError(t, err)
	l, err := p.layout(plan.Machine{Devices: 2})
	require.NoError(t, err)
	require.Less(t, l.lanes, 2048)
	require.LessOrEqual(t, l.treeBytes, int64(32<<20))
}

// A run that is not evaluated ends without a rating.
func TestEndingWithoutEvaluation(t *testing.T) {
	rated := Training{pool: newPool(graph.Float32s([]float32{1}))}
	require.Equal(t, "without an evaluation", rated.Ending(run.Metrics{}))
	rated.pool.checkpoints[0].rating = 120.4
	require.Equal(t, "Elo 120", rated.Ending(run.Metrics{}))
	last := run.Metrics{Values: []run.Value{{Name: eloErrorMetric, Number: 31.6}}}
	require.Equal(t, "Elo 120 ± 32", rated.Ending(last))
}

// A run with NaN in its replay goes on: steps without a finite gradient are skipped and counted.
func TestWhatIsNoNumberTeachesNothing(t *testing.T) {
	c := small()
	c.ArenaEvery = 0
	x := started(t, c, 2)
	iterations(t, x, 1)
	s := snapshot(t, x)
	before, err := floats(x.state.Learner.Weights)
	require.NoError(t, err)
	rows, err := wordsOf(s.Arrays["replay.rows"])
	require.NoError(t, err)
	for i := x.program.words() - 1; i < len(rows); i += x.program.words() {
		rows[i] = math.Float32bits(float32(math.NaN()))
	}
	shape := s.Arrays["replay.rows"].Dims()
	x.state.Replay.Rows = must(xlabridge.Put(x.backend, x.devices, graph.Uint32s(rows, shape...)))
	v, err := x.learn(x.keys[2], graph.Of(int32(1)), 3)
	require.NoError(t, err)
	require.EqualValues(t, 3, v[slices.Index(trainMetrics, "skipped")])
	after, err := floats(x.state.Learner.Weights)
	require.NoError(t, err)
	require.Equal(t, before, after)
}

// What a network scores follows from the network and the iteration, not from how often the run was evaluated before.
func TestScoresDoNotDependOnEarlierEvaluations(t *testing.T) {
	scores := func(every int) (all []float64) {
		c := shortRun() // the programs of TestAShortRunLearns
		c.ArenaEvery, c.NumIterations, c.Epochs = every, 2, settings.Num(1)
		x := started(t, c, 2)
		last := iterations(t, x, 2)[1]
		for _, name := range []string{"loss", "score_random", "score_search", "score_untrained"} {
			s, ok := last.Get(name)
			require.True(t, ok)
			all = append(all, s)
		}
		return all
	}
	require.Equal(t, scores(1), scores(2))
}

// A run that ended and was evaluated there goes on as one that did not end: to the same rows, opponents and ratings,
// also if that evaluation was the first one, or the pool was full.
func TestAnEndLeavesNoTrace(t *testing.T) {
	iterate := func(ends ...int64) (rows []run.Metrics, state map[string]string) {
		c := shortRun() // the programs of TestAShortRunLearns
		c.ArenaEvery, c.NumIterations, c.Pool, c.Epochs = 2, 4, 1, settings.Num(1)
		x := started(t, c, 2)
		for range 4 {
			rows = append(rows, iterations(t, x, 1)...)
			if slices.Contains(ends, x.step) {
				values, err := x.Describe().Closing(t.Context())
				require.NoError(t, err)
				require.Equal(t, "elo", values[0].Name)
				require.NotContains(t, x.Ending(rows[0]), "without")
			}
		}
		return rows, bytesOf(t, snapshot(t, x))
	}
	rows, state := iterate()
	ended, after := iterate(1, 3)
	require.Equal(t, rows, ended)
	require.Equal(t, state, after)
}
