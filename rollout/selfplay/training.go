package selfplay

import (
	"context"
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

// Training is a run: compiled programs, the state on the devices, and older checkpoints on the host.
type Training struct {
	config  Config
	program *program
	layout  layout
	backend xlabridge.Backend
	devices int
	options xlabridge.CompileOptions
	keys    []random.Key // of the initial parameters, the games, the training and the matches

	play    *run.Stage[replay, playInputs, playResult]
	plain   *plainPlay                                        // instead of play, without UseTrueMCTX
	train   *run.Stage[learner, trainInputs, *graph.Array]    // returns the metrics, f32[len(trainMetrics)]
	arena   *run.Stage[graph.None, matchInputs, *graph.Array] // nil without evaluation
	watch   *Viewer
	perfect *perfect // nil if the game is not solved
	proof   string   // of the last evaluation beside the perfect player, as a sentence

	state   state // on the devices
	step    int64
	pool    pool
	found   [][]uint32 // the first solutions of a puzzle, words of states
	last    lastGame
	counts  playCounts // in the newest iteration of this process
	drawn   drawing
	closed  bool
	busy    time.Duration // time of calls in this step
	profile run.Profile
}

// playInputs are the inputs of the program that plays.
type playInputs struct {
	Weights   *graph.Array // f32[parameters]
	Key       random.Key
	Iteration *graph.Array // i32[]
	Tiles     *graph.Array // i32[]: tiles of games per device
	Settings  map[string]*graph.Array
}

// trainInputs are the inputs of the program that trains.
type trainInputs struct {
	Replay    replay
	Key       random.Key
	Iteration *graph.Array // i32[]
	Steps     *graph.Array // i32[]
	Progress  *graph.Array // f32[]: the part of the run that is done, 0 to 1
	Parts     *graph.Array // i32[]: parts of a batch per device
	Settings  map[string]*graph.Array
}

// matchInputs are the inputs of the program that plays matches.
type matchInputs struct {
	A, B  player
	Key   random.Key
	Tiles *graph.Array // i32[]: tiles of a match per device
}

// lastGame is the first game of the newest iteration, for its picture.
type lastGame struct {
	rows   []uint32 // [moves, words of a row]
	length int
	final  []uint32
}

// score returns the score of the first player: the target of the first position's value, the last word of its row.
func (g lastGame) score(words int) float64 { return float64(math.Float32frombits(g.rows[words-1])) }

// Start checks the settings, traces and compiles the programs for b (through the cache) and puts the first state on the
// devices.
func (c *Config) Start(_ context.Context, b xlabridge.Backend) (run.Run, error) { return New(b, *c) }

// New is Start with a Training as its result.
func New(b xlabridge.Backend, c Config) (*Training, error) {
	p, err := c.program()
	if err != nil {
		return nil, err
	}
	chosen := settings.Values{}
	if c.Precision == plan.PrecisionAuto {
		terms, err := p.terms()
		if err != nil {
			return nil, err
		}
		c.Precision = plan.Precision(b, terms)
		chosen["precision"] = c.Precision
		if p, err = c.program(); err != nil {
			return nil, err
		}
	}
	devices := b.NumDevices()
	if c.Devices > 0 {
		devices = min(c.Devices, devices)
	}
	t := &Training{config: c, program: p, backend: b, devices: devices,
		keys: random.SplitN(random.New(c.Seed), 4)}
	p.config = &t.config
	on := plan.MachineOf(b, devices)
	on.Devices = devices
	if t.layout, err = p.layout(on); err != nil {
		return nil, err
	}
	layout := plan.Plan{Devices: devices, Tile: t.layout.lanes}
	if on.CPU {
		layout.VectorWidth = plan.VectorWidth
	}
	t.options = layout.Compile()
	t.options.Replicas = devices
	if err = t.compile(); err == nil {
		err = t.reset()
	}
	if err != nil {
		_ = t.Close()
		return nil, err
	}
	need, _ := t.layout.bytes.Total()
	t.profile.Devices, t.profile.PlannedBytes, t.profile.MemoryBudget = devices, need, int64(c.Memory)
	t.profile.Choice = plan.Choice{Plan: layout.String(), Source: plan.Static}
	t.profile.Facts = []run.Fact{{Name: "parameters", Value: p.weights.Size()},
		{Name: "tree_bytes", Value: t.layout.treeBytes}, {Name: "replay_bytes", Value: t.layout.replayBytes},
		{Name: "training_step_bytes", Value: t.layout.batchBytes}, {Name: "games_per_device", Value: t.layout.lanes}}
	chosen["games-per-device"] = t.layout.lanes
	t.profile.Chosen = chosen
	return t, nil
}

// stages returns the compiler of the run's programs.
func (t *Training) stages() run.Stages {
	return run.Stages{Backend: t.backend, Purpose: t.config.Purpose(), Options: t.options, Profile: &t.profile,
		Busy: &t.busy}
}

func (t *Training) compile() error {
	s, err := t.newState(random.New(0))
	if err != nil {
		return err
	}
	if err := t.compilePlay(s); err != nil {
		return err
	}
	if err := t.compileTraining(s); err != nil {
		return err
	}
	t.watch = newViewer(t.program, t.stages())
	if t.program.game.players == 2 && t.config.ArenaEvery > 0 {
		return t.compileArena(s)
	}
	return nil
}

func (t *Training) compilePlay(s state) (err error) {
	if !t.config.UseTrueMCTX {
		t.plain, err = newPlainPlay(t)
		return err
	}
	p := t.program
	t.play, err = run.NewStage(t.stages(), "self-play", s.Replay, playInputs{s.Learner.Weights, random.New(0),
		graph.Of(int32(0)), t.layout.gameTiles.Count(), p.inputs()},
		func(r replay, in playInputs) (replay, playResult) {
			return p.withInputs(in.Settings).playIteration(t.layout, r, networkPlayer(in.Weights), in.Key,
				in.Iteration, in.Tiles)
		})
	return err
}

func (t *Training) compileTraining(s state) (err error) {
	p, l, c := t.program, t.layout, t.stages()
	if !t.config.OptimizedTraining {
		c.Backend, c.Options = &xlabridge.Reference{}, xlabridge.CompileOptions{Replicas: 1}
		l.batchTiles.Devices, l.batchTiles.PerDevice = 1, l.batchTiles.Items
	}
	number := graph.Of(int32(0))
	t.train, err = run.NewStage(c, "training", s.Learner, trainInputs{s.Replay, random.New(0), number, number,
		graph.Scalar(0), l.batchTiles.Count(), p.inputs()}, func(s learner, in trainInputs) (learner, *graph.Array) {
		return p.withInputs(in.Settings).train(l, s, in)
	})
	return err
}

func (t *Training) compileArena(s state) (err error) {
	t.perfect = newPerfect(&t.config)
	games := t.config.ArenaGames
	if t.perfect != nil {
		advice, err := t.watch.compileAdvice(games)
		if err != nil {
			return err
		}
		t.profile.Account(run.ProgramOf(advice.Program()))
		t.watch.advice[games] = advice
	}
	one := networkPlayer(s.Learner.Weights)
	t.arena, err = run.NewReading(t.stages(), "arena", matchInputs{one, one, random.New(0),
		graph.Of(int32(0))}, func(in matchInputs) *graph.Array {
		return t.program.match(t.layout, games, in.A, in.B, in.Key, in.Tiles)
	})
	return err
}

// reset puts the first state on the devices.
func (t *Training) reset() error {
	s, err := t.newState(t.keys[0])
	if err != nil {
		return err
	}
	if s.Learner, err = graph.Eval(s.Learner); err != nil {
		return err
	}
	t.pool = newPool(s.Learner.Weights)
	return t.put(s)
}

// gone reports whether the state is lost: the run is closed, or a call failed.
func (t *Training) gone() bool {
	return t.closed || t.state.Learner.Weights == nil || t.state.Replay.Rows == nil
}

// Step is one iteration: games, training, and, every ArenaEvery iterations, evaluation.
func (t *Training) Step(context.Context) (run.Metrics, error) {
	if t.gone() {
		return run.Metrics{}, run.ErrGone
	}
	if !t.evaluates() {
		t.pool = t.pool.before(int(t.step)) // the run had ended here
	}
	t.busy = 0
	m := run.Metrics{Step: t.step + 1}
	number, keys := graph.Of(int32(t.step)), t.keys
	start := time.Now()
	played, err := t.games(keys[1], number)
	if err != nil {
		return m, err
	}
	for i, name := range playMetrics {
		if t.measures(name) {
			m.Values = append(m.Values, run.Value{Name: name, Number: played[i]})
		}
	}
	m.Work = played[0] * float64(t.config.NumSimulations)
	playEnd := time.Now()
	steps := t.trainingSteps(t.counts.positions)
	trained, err := t.learn(keys[2], number, steps)
	if err != nil {
		return m, err
	}
	for i, name := range trainMetrics {
		m.Values = append(m.Values, run.Value{Name: name, Number: trained[i]})
	}
	m.Values = append(m.Values, run.Value{Name: "training_steps", Number: float64(steps)})
	if skipped := trained[len(trained)-1]; int(skipped) == steps && t.config.Precision != "f16" {
		m.Failed = func(context.Context) error {
			return fmt.Errorf("all %d training steps were skipped, since no gradient was finite: take a smaller "+
				"--learning-rate, or find the op that makes the first NaN with --jit=false", steps)
		}
	}
	trainEnd := time.Now()
	t.step++
	if t.evaluates() {
		values, err := t.evaluate(keys[3])
		if err != nil {
			return m, err
		}
		m.Values = append(m.Values, values...)
		m.Timings = []run.Value{{Name: "arena_seconds", Number: time.Since(trainEnd).Seconds()}}
	}
	playSeconds, trainSeconds := playEnd.Sub(start).Seconds(), trainEnd.Sub(playEnd).Seconds()
	m.Timings = append(m.Timings,
		run.Value{Name: "games_per_second", Number: float64(t.config.NumEpisodes) / playSeconds},
		run.Value{Name: "simulations_per_second", Number: m.Work / playSeconds},
		run.Value{Name: "training_steps_per_second", Number: float64(steps) / trainSeconds},
		run.Value{Name: "selfplay_seconds", Number: playSeconds},
		run.Value{Name: "training_seconds", Number: trainSeconds},
		run.Value{Name: "busy_share", Number: min(1, t.busy.Seconds()/time.Since(start).Seconds())})
	return m, nil
}

// bestReturn is the metric of the best game of a puzzle in an iteration.
const bestReturn = "best_return"

// measures reports whether this game has a metric of self-play.
func (t *Training) measures(name string) bool {
	puzzle := t.program.game.players == 1
	switch name {
	case "first_wins", "draws":
		return !puzzle
	case bestReturn, "found", "mean_return":
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
	out, err := t.play.Advance(&t.state.Replay, playInputs{t.state.Learner.Weights, key, number,
		t.layout.gameTiles.Count(), t.program.inputs()})
	if err != nil {
		t.free()
		return nil, err
	}
	defer xlabridge.Free(out)
	result, err := onHost(out)
	if err != nil {
		return nil, err
	}
	return t.keep(result)
}

// maxFound is the largest number of solutions that a run writes.
const maxFound = 16

// keep stores the first game and the new solutions of an iteration, and returns the metrics of its games.
func (t *Training) keep(r playResult) ([]float64, error) {
	var read hostReader
	metrics, solved := read.float64s(r.Metrics), read.words(r.Solved)
	last := lastGame{read.words(r.Game), int(read.number(r.Length)), read.words(r.Final)}
	if read.err != nil {
		return nil, read.err
	}
	t.last, t.counts = last, t.countsOf(metrics)
	n := t.program.game.stateWords()
	for i := range min(int(metrics[slices.Index(playMetrics, "found")]), maxSolved) {
		words := solved[i*n : (i+1)*n]
		known := slices.ContainsFunc(t.found, func(other []uint32) bool { return slices.Equal(other, words) })
		if len(t.found) < maxFound && !known {
			t.found = append(t.found, slices.Clone(words))
		}
	}
	return metrics, nil
}

// countsOf reads from the metrics of an iteration's games how much was played.
func (t *Training) countsOf(metrics []float64) playCounts {
	of := func(name string) float64 { return metrics[slices.Index(playMetrics, name)] }
	p := playCounts{positions: int(of("positions"))}
	if busy := of("lanes_busy"); busy > 0 {
		p.turns = int(math.Round(of("positions") / busy / float64(t.layout.lanes)))
	}
	return p
}

// trainingSteps returns the number of training steps of an iteration with so many positions.
func (t *Training) trainingSteps(positions int) int {
	return max(1, int(math.Round(t.config.Epochs.Value*float64(positions)/float64(t.config.TrainingBatchSize))))
}

// learn takes the training steps of an iteration and returns their metrics.
func (t *Training) learn(key random.Key, number *graph.Array, steps int) ([]float64, error) {
	progress := graph.Scalar(float64(t.step) / float64(t.config.NumIterations))
	r, parts := t.state.Replay, t.layout.batchTiles.Count()
	if !t.config.OptimizedTraining {
		parts = graph.Of(int32(t.layout.batchTiles.Items))
		s, err := onHost(t.state.Learner)
		var bad error
		r, bad = onHost(r)
		if err = errors.Join(err, bad); err != nil {
			return nil, err
		}
		xlabridge.Free(t.state.Learner)
		t.state.Learner = s
	}
	metrics, err := t.train.Advance(&t.state.Learner, trainInputs{r, key, number, graph.Of(int32(steps)), progress,
		parts, t.program.inputs()})
	if err != nil {
		t.free()
		return nil, err
	}
	if !t.config.OptimizedTraining {
		if t.state.Learner, err = xlabridge.Put(t.backend, t.devices, t.state.Learner); err != nil {
			return nil, err
		}
	}
	return graph.Floats(metrics)
}

// Close frees state and programs.
func (t *Training) Close() error {
	t.free()
	err := errors.Join(t.play.Close(), t.train.Close(), t.arena.Close())
	t.watch.Close()
	t.plain.close()
	t.closed = true
	return err
}
