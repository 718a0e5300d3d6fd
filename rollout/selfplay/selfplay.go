// Package selfplay learns games by playing them against itself, as AlphaZero does (Silver et al., "A general
// reinforcement learning algorithm that masters chess, shogi, and Go through self-play", 2018). An iteration has three
// parts: searches with the network play games; the network learns the policies of the searches and the results of the
// games; the network is rated by matches. Games, replay, training and matches are compiled programs whose arrays stay
// on the devices.
package selfplay

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/plan"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

func init() {
	run.MustRegister(run.Kind{
		Name:  "selfplay",
		Short: "Learn a game by playing it against oneself, with tree search",
		Long: "Selfplay learns a game of two players, or a puzzle. By default, players colour the edges of a " +
			"complete graph until one\n" +
			"closes a clique. An iteration is self-play with tree search, training on the games, and matches against " +
			"other players.\n" +
			"The run's folder holds the resolved config, metrics, checkpoints, the network, a game as a GIF, and the " +
			"colourings that were found.",
		Example: "  xlarun selfplay --vertices 6 --k 3\n" +
			"  xlarun selfplay --vertices 14 --k 4 --num_episodes 1000 --game_batch_size 64 " +
			"--training_batch_size 256\n" +
			"  xlarun selfplay --vertices 6 --k 3 --variant avoid\n" +
			"  xlarun selfplay --vertices 5 --k 3 --variant ramsey\n" +
			"  xlarun selfplay --game tictactoe",
		Version: 1,
		Unit:    "iteration",
		Work:    "simulations of all searches",
		New: func() run.Experiment {
			c := DefaultConfig()
			return &c
		},
	})
}

// Training is a run: compiled programs, the state on the devices, and older checkpoints on the host.
type Training struct {
	config  Config
	program *program
	layout  layout
	backend xlabridge.Backend
	devices int
	options xlabridge.CompileOptions

	play  *stage[playing]
	plain *plainPlay // instead of play, without UseTrueMCTX
	train *stage[learning]
	arena *stage[*graph.Array]
	watch *Viewer

	learner learner // on the devices
	replay  replay
	step    int64
	pool    pool
	found   [][]uint32 // words of the first solutions of a puzzle
	last    lastGame
	drawn   drawing
	closed  bool
	busy    time.Duration
	began   time.Time
	profile run.Profile
	solved  *perfect
}

// playing is the result of the program that plays.
type playing = graph.Pair[replay, playResult]

// learning is the result of the program that trains: the learner and the metrics, f32[len(trainMetrics)].
type learning = graph.Pair[learner, *graph.Array]

// lastGame is the first game of the newest iteration, for its picture.
type lastGame struct {
	rows   []uint32 // [moves, words of a row]
	length int
	final  []uint32
}

// Start checks the settings, traces and compiles the programs for b (through the cache) and puts the first state on the
// devices.
func (c *Config) Start(b xlabridge.Backend) (run.Run, error) { return New(b, *c) }

// New is Start with a Training as its result.
func New(b xlabridge.Backend, c Config) (*Training, error) {
	p, err := c.program()
	if err != nil {
		return nil, err
	}
	devices := b.NumDevices()
	if c.Devices > 0 {
		devices = min(c.Devices, devices)
	}
	t := &Training{config: c, program: p, backend: b, devices: devices}
	p.config = &t.config
	if t.layout, err = p.layout(devices, plan.FreeOn(b, devices)); err != nil {
		return nil, err
	}
	layout := plan.Plan{Devices: devices, Tile: t.layout.lanes}
	if plan.MachineOf(b, devices).CPU {
		layout.VectorWidth = plan.VectorWidth
	}
	t.options = layout.Compile()
	t.options.Replicas = devices
	if err := t.compile(); err != nil {
		_ = t.Close()
		return nil, err
	}
	if err := t.reset(); err != nil {
		_ = t.Close()
		return nil, err
	}
	need, _ := t.layout.bytes.Total()
	t.profile.Devices, t.profile.PlannedBytes, t.profile.MemoryBudget = devices, need, int64(c.Memory)
	t.profile.Choice = plan.Choice{Plan: layout.String(), Source: plan.Static}
	t.profile.Facts = []run.Fact{{Name: "parameters", Value: p.weights.Size()},
		{Name: "tree_bytes", Value: t.layout.treeBytes}, {Name: "replay_bytes", Value: t.layout.replayBytes},
		{Name: "training_step_bytes", Value: t.layout.batchBytes}, {Name: "lanes", Value: t.layout.lanes}}
	t.profile.Chosen = settings.Values{"lanes": t.layout.lanes}
	return t, nil
}

// keys are the keys of the initial parameters, the games, the training and the matches.
func (t *Training) keys() []random.Key { return random.SplitN(random.New(t.config.Seed), 4) }

func (t *Training) compile() (err error) {
	p, l := t.program, t.layout
	var s learner
	var r replay
	var key random.Key
	if err := graph.Try(func() {
		s, r, key = p.newLearner(random.New(0)), p.emptyReplay(l), random.New(0)
	}); err != nil {
		return err
	}
	number, tiles, parts := graph.Of(int32(0)), l.gameTiles.Count(), l.batchTiles.Count()
	purpose := t.config.Purpose()
	if t.config.UseTrueMCTX {
		t.play, err = newStage(t.backend, "self-play", purpose, t.options, &t.busy, []int{0},
			[]any{r, s.Weights, key, number, tiles, p.inputs()}, func(a []any) playing {
				return graph.PairOf(p.withInputs(a[5]).playIteration(l, a[0].(replay),
					networkPlayer(a[1].(*graph.Array)), a[2].(random.Key), a[3].(*graph.Array), a[4].(*graph.Array)))
			})
	} else {
		t.plain, err = newPlainPlay(t)
	}
	if err != nil {
		return err
	}
	t.play.profile(&t.profile)
	trainer, options := t.backend, t.options
	if !t.config.OptimizedTraining {
		trainer, options = &xlabridge.Reference{}, xlabridge.CompileOptions{Replicas: 1}
		l.batchTiles.Devices, l.batchTiles.PerDevice = 1, l.batchTiles.Items
		parts = l.batchTiles.Count()
	}
	t.train, err = newStage(trainer, "training", purpose, options, &t.busy, []int{0}, []any{s, r, key, number, number,
		graph.Scalar(0), parts, p.inputs()}, func(a []any) learning {
		return graph.PairOf(p.withInputs(a[7]).train(l, a[0].(learner), a[1].(replay), a[2].(random.Key),
			a[3].(*graph.Array), a[4].(*graph.Array), a[5].(*graph.Array), a[6].(*graph.Array)))
	})
	if err != nil {
		return err
	}
	t.train.profile(&t.profile)
	t.watch = newViewer(p, t.backend, t.options, &t.busy)
	if p.game.players == 2 && t.config.ArenaEvery > 0 {
		if t.solved, err = newPerfect(&t.config); err != nil {
			return err
		}
		if n := t.config.ArenaGames; t.solved != nil {
			if t.watch.ready[n], err = t.watch.make(n); err != nil {
				return err
			}
			t.watch.ready[n].profile(&t.profile)
		}
		one := networkPlayer(s.Weights)
		t.arena, err = newStage(t.backend, "arena", purpose, t.options, &t.busy, nil, []any{one, one, key, number},
			func(a []any) *graph.Array {
				return p.match(t.layout, t.config.ArenaGames, a[0].(player), a[1].(player), a[2].(random.Key),
					a[3].(*graph.Array))
			})
		t.arena.profile(&t.profile)
	}
	return err
}

// reset puts the initial state on the devices.
func (t *Training) reset() error {
	var s learner
	var r replay
	if err := graph.Try(func() {
		s, r = t.program.newLearner(t.keys()[0]), t.program.emptyReplay(t.layout)
	}); err != nil {
		return err
	}
	s, err := graph.Eval(s)
	if err != nil {
		return err
	}
	t.pool = newPool(s.Weights)
	return t.put(s, r)
}

// put puts a state on the devices.
func (t *Training) put(s learner, r replay) (err error) {
	if s, err = xlabridge.Put(t.backend, t.devices, s); err != nil {
		return err
	}
	if r, err = xlabridge.Put(t.backend, t.devices, r); err != nil {
		xlabridge.Free(s)
		return err
	}
	t.learner, t.replay = s, r
	return nil
}

// Step is one iteration: games, training, and, every ArenaEvery iterations, evaluation.
func (t *Training) Step() (run.Metrics, error) {
	if t.closed || t.learner.Weights == nil {
		return run.Metrics{}, run.ErrGone
	}
	t.began, t.busy = time.Now(), 0
	m := run.Metrics{Step: t.step + 1}
	number := graph.Of(int32(t.step))
	keys := t.keys()
	played, err := t.games(keys[1], number)
	if err != nil {
		return m, err
	}
	at := time.Now()
	for i, name := range playMetrics {
		if t.measures(name) {
			m.Values = append(m.Values, run.Value{Name: name, Number: played[i]})
		}
	}
	m.Work = played[0] * float64(t.config.NumSimulations)
	playSeconds := at.Sub(t.began).Seconds()
	steps := max(1, int(math.Round(t.config.Epochs.Value*played[0]/float64(t.config.TrainingBatchSize))))
	trained, err := t.learn(keys[2], number, steps)
	if err != nil {
		return m, err
	}
	for i, name := range trainMetrics {
		m.Values = append(m.Values, run.Value{Name: name, Number: trained[i]})
	}
	m.Values = append(m.Values, run.Value{Name: "training_steps", Number: float64(steps)})
	trainSeconds := time.Since(at).Seconds()
	at = time.Now()
	t.step++
	if t.evaluates() {
		values, err := t.evaluate(keys[3])
		if err != nil {
			return m, err
		}
		m.Values = append(m.Values, values...)
	}
	arenaSeconds := time.Since(at).Seconds()
	m.Timings = []run.Value{{Name: "games_per_second", Number: float64(t.config.NumEpisodes) / playSeconds},
		{Name: "simulations_per_second", Number: m.Work / playSeconds},
		{Name: "training_steps_per_second", Number: float64(steps) / trainSeconds},
		{Name: "selfplay_seconds", Number: playSeconds}, {Name: "training_seconds", Number: trainSeconds},
		{Name: "arena_seconds", Number: arenaSeconds},
		{Name: "busy_share", Number: min(1, t.busy.Seconds()/time.Since(t.began).Seconds())}}
	return m, nil
}

// measures tells whether a metric of self-play means something in this game.
func (t *Training) measures(name string) bool {
	puzzle := t.program.game.players == 1
	switch name {
	case "first_wins", "draws":
		return !puzzle
	case "best_return", "found", "mean_return":
		return puzzle
	case "reused_share":
		return t.config.Reuse
	}
	return true
}

// games plays an iteration's games and returns their metrics.
func (t *Training) games(key random.Key, number *graph.Array) ([]float64, error) {
	if t.plain != nil {
		return t.plain.iteration(t, key, number)
	}
	r := t.replay
	t.replay = replay{} // donated
	out, err := t.play.call(r, t.learner.Weights, key, number, t.layout.gameTiles.Count(), t.program.inputs())
	if err != nil {
		t.drop()
		return nil, err
	}
	t.replay = out.First
	defer xlabridge.Free(out.Second)
	result, err := onHost(out.Second)
	if err != nil {
		return nil, err
	}
	return t.keep(result)
}

// keep stores what the host needs of an iteration's games, and returns their metrics.
func (t *Training) keep(r playResult) ([]float64, error) {
	metrics, err := graph.Floats(r.Metrics)
	if err != nil {
		return nil, err
	}
	rows, err := wordsOf(r.Game)
	if err != nil {
		return nil, err
	}
	length, err := graph.Float(r.Length)
	if err != nil {
		return nil, err
	}
	solved, err := wordsOf(r.Solved)
	if err != nil {
		return nil, err
	}
	final, err := wordsOf(r.Final)
	if err != nil {
		return nil, err
	}
	t.last = lastGame{rows, int(length), final}
	n := t.program.game.stateWords()
	found := min(int(metrics[slices.Index(playMetrics, "found")]), maxSolved, maxFound-len(t.found))
	for i := range max(0, found) {
		t.found = append(t.found, slices.Clone(solved[i*n:(i+1)*n]))
	}
	return metrics, nil
}

// maxFound is the largest number of solutions that a run writes.
const maxFound = 16

// learn takes the training steps of an iteration and returns their metrics.
func (t *Training) learn(key random.Key, number *graph.Array, steps int) ([]float64, error) {
	progress := graph.Scalar(float64(t.step) / float64(t.config.NumIterations))
	s, r := t.learner, t.replay
	parts := t.layout.batchTiles.Count()
	if !t.config.OptimizedTraining {
		parts = graph.Of(int32(t.layout.batchTiles.Items))
		var err, bad error
		s, err = onHost(s)
		r, bad = onHost(r)
		if err = errors.Join(err, bad); err != nil {
			return nil, err
		}
		xlabridge.Free(t.learner)
	}
	t.learner = learner{} // donated
	out, err := t.train.call(s, r, key, number, graph.Of(int32(steps)), progress, parts, t.program.inputs())
	if err != nil {
		t.drop()
		return nil, err
	}
	t.learner = out.First
	if !t.config.OptimizedTraining {
		if t.learner, err = xlabridge.Put(t.backend, t.devices, out.First); err != nil {
			return nil, err
		}
	}
	return graph.Floats(out.Second)
}

// drop frees the state, of which a failed call may have taken a part.
func (t *Training) drop() {
	if t.learner.Weights != nil {
		xlabridge.Free(t.learner)
	}
	if t.replay.Rows != nil {
		xlabridge.Free(t.replay)
	}
	t.learner, t.replay = learner{}, replay{}
}

// wordsOf returns the 32-bit elements of an array.
func wordsOf(a *graph.Array) ([]uint32, error) {
	host, err := xlabridge.ToHost(a)
	if err != nil {
		return nil, err
	}
	data, err := host.Data()
	if err != nil {
		return nil, err
	}
	b, err := data.HostBytes()
	if err != nil {
		return nil, err
	}
	out := make([]uint32, len(b)/4)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return out, nil
}

// state is the state on the devices, for snapshots.
type state struct {
	Learner learner
	Replay  replay
}

// Snapshot copies what is learned, the games and the pool to the host.
func (t *Training) Snapshot() (run.Snapshot, error) {
	if t.learner.Weights == nil || t.replay.Rows == nil {
		return run.Snapshot{}, run.ErrGone
	}
	s := run.Snapshot{Step: t.step, Arrays: map[string]*graph.Array{}}
	leaves, tree := graph.Flatten(state{t.learner, t.replay})
	for i, a := range leaves {
		h, err := xlabridge.ToHost(a)
		if err != nil {
			return run.Snapshot{}, err
		}
		s.Arrays[run.LeafName(tree.Path(i))] = h
	}
	t.pool.save(s.Arrays)
	saveFound(s.Arrays, t.found, t.program.game.stateWords())
	return s, nil
}

// Restore replaces the state by a snapshot's.
func (t *Training) Restore(s run.Snapshot) error {
	if t.closed {
		return run.ErrGone
	}
	var want state
	if err := graph.Try(func() {
		want = state{t.program.newLearner(random.New(0)), t.program.emptyReplay(t.layout)}
	}); err != nil {
		return err
	}
	leaves, tree := graph.Flatten(want)
	for i, a := range leaves {
		name := run.LeafName(tree.Path(i))
		saved, ok := s.Arrays[name]
		if !ok || !saved.Shape().Equal(a.Shape()) {
			return fmt.Errorf("the state has no array %q of %s, as these settings want: restore what the same "+
				"settings made", name, a.Shape())
		}
		leaves[i] = saved
	}
	pool, err := loadPool(s.Arrays, t.program.weights.Size())
	if err != nil {
		return err
	}
	found, err := loadFound(s.Arrays, t.program.game.stateWords())
	if err != nil {
		return err
	}
	oldLearner, oldReplay := t.learner, t.replay
	full := tree.Unflatten(leaves).(state)
	if err := t.put(full.Learner, full.Replay); err != nil {
		return err
	}
	if oldLearner.Weights != nil {
		xlabridge.Free(oldLearner)
	}
	if oldReplay.Rows != nil {
		xlabridge.Free(oldReplay)
	}
	t.step, t.pool, t.found = s.Step, pool, found
	return nil
}

// Profile returns what was compiled.
func (t *Training) Profile() run.Profile { return t.profile }

// Compiled returns the program that plays; without UseTrueMCTX, the one that trains.
func (t *Training) Compiled() *xlabridge.Compiled {
	if t.play == nil {
		return t.train.program
	}
	return t.play.program
}

// Close frees state and programs.
func (t *Training) Close() error {
	t.drop()
	t.play.close()
	t.train.close()
	t.arena.close()
	t.watch.Close()
	t.plain.close()
	t.closed = true
	return nil
}

// Ending summarises the run.
func (t *Training) Ending(last run.Metrics) string {
	if x, ok := last.Get("best_return"); ok {
		text := fmt.Sprintf("at best %.4g %% of the edges are coloured", 100*x)
		if len(t.found) > 0 {
			text += fmt.Sprintf("; whole colourings that are kept: %d", len(t.found))
		}
		return text
	}
	elo := t.pool.newest()
	if math.IsNaN(elo) {
		return "without an evaluation"
	}
	text := fmt.Sprintf("Elo %.0f", elo)
	for _, v := range []struct{ name, words string }{{"score_random", "against random"},
		{"score_untrained", "against the untrained network"}} {
		if x, ok := last.Get(v.name); ok {
			text += fmt.Sprintf(", %.4g %% %s", 100*x, v.words)
		}
	}
	return text
}
