package selfplay

import (
	"fmt"
	"math"
	"strings"

	"xlarun/graph/precision"
	"xlarun/rollout/plan"
	"xlarun/rollout/run"
	"xlarun/rollout/search"
	"xlarun/rollout/selfplay/network"
	"xlarun/rollout/settings"
)

// Config is one experiment. Start from DefaultConfig: zero means zero, unless a field says otherwise.
type Config struct {
	Game     string `set:"game" oneof:"clique,tictactoe,connectfour,hex,othello" help:"game that is learned"`
	Vertices int    `set:"vertices" needs:"game=clique" min:"3" max:"32" help:"clique: vertices of the complete graph whose edges are colored"`
	K        []int  `set:"k" needs:"game=clique" min:"1" max:"32" wants:"a size of cliques from 3 on, or one for each color as in 3,4" help:"clique: vertices of the clique that decides, or 3,4: one size for each color"`
	Variant  string `set:"variant" needs:"game=clique" oneof:"maker,avoid,ramsey" help:"clique: closing a clique wins (maker) or loses (avoid); ramsey: one player colors all edges without one"`
	Rotation int    `set:"rotation" advanced:"" min:"0" max:"32" zero:"any coloring" needs:"game=clique&variant=ramsey" wants:"a divisor of the number of vertices, or 0 for any coloring" help:"ramsey: only colorings that stay the same when the vertices are rotated by so many; 0: any coloring"`
	Network  string `set:"network" help:"network with the policy and the value"`

	NumIterations     int `set:"num-iterations" program:"no" resume:"goal" min:"1" max:"1000000" help:"iterations of games, training and evaluation"`
	NumEpisodes       int `set:"num-episodes" min:"1" max:"1048576" help:"games per iteration"`
	NumSimulations    int `set:"num-simulations" min:"1" max:"65536" help:"simulations per search"`
	GameBatchSize     int `set:"game-batch-size" min:"1" max:"1048576" help:"games played at the same time on all devices, at most --num-episodes"`
	TrainingBatchSize int `set:"training-batch-size" min:"1" max:"1048576" help:"positions per training step"`
	GamesPerDevice    int `set:"games-per-device" advanced:"" min:"0" max:"65536" zero:"half of the game batch, or as many as have their trees in memory" help:"games that a device plays at the same time; 0 for half of the game batch, or as many as have their trees in memory"`

	Search       string          `set:"search" oneof:"gumbel,puct" help:"gumbel: sequential halving; puct: noise at the root"`
	MaxDepth     int             `set:"max-depth" advanced:"" min:"0" max:"65536" zero:"as many as there are simulations" help:"most moves from the root of a search to a node"`
	Considered   int             `set:"considered" advanced:"" min:"1" max:"65536" needs:"search=gumbel" help:"gumbel: most actions tried at the root"`
	Temperature  settings.Number `set:"temperature" advanced:"" min:"0" needs:"search=puct&sampled-moves=!0" help:"puct: temperature of the first moves"`
	SampledMoves int             `set:"sampled-moves" advanced:"" min:"0" max:"65536" needs:"search=puct|variant=!ramsey&search=puct|arena-every=!0" help:"first moves of a game that are drawn, not the most visited (puct; in matches also gumbel)"`
	RandomMoves  int             `set:"random-moves" advanced:"" min:"0" max:"4096" help:"every other game begins with up to so many random moves, which are not learned from; they show positions that good play does not reach"`
	Reuse        bool            `set:"reuse" advanced:"" help:"the next search goes on from the tree of the last one"`
	UseTrueMCTX  bool            `set:"use-true-mctx" advanced:"" help:"search inside the compiled program; false: in Go, position by position"`

	Replay            int             `set:"replay" advanced:"" min:"1" max:"4096" help:"iterations whose games are learned from"`
	Epochs            settings.Number `set:"epochs" program:"no" above:"0" max:"1e6" help:"times that a position is learned from; sets the number of steps"`
	LearningRate      settings.Number `set:"learning-rate" above:"0" help:"step size of Adam"`
	Schedule          string          `set:"schedule" advanced:"" oneof:"constant,linear,cosine" help:"course of the learning rate over the iterations; linear and cosine end at 0"`
	L2                settings.Number `set:"l2" advanced:"" min:"0" help:"weight of the sum of the squared parameters in the loss"`
	ValueWeight       settings.Number `set:"value-coef" advanced:"" min:"0" help:"weight of the squared error of the value in the loss"`
	MaxGradNorm       settings.Number `set:"max-grad-norm" advanced:"" above:"0" help:"largest norm of a gradient; larger ones are scaled down to it"`
	Accumulate        int             `set:"accumulate" advanced:"" min:"1" max:"65536" help:"parts of a training batch; devices share them and compute one at a time"`
	Precision         string          `set:"precision" advanced:"" oneof:"f32,bf16,f16,auto" help:"dtype of training; parameters stay float32; auto: bf16 where it is faster, and config.toml then has what was chosen"`
	Symmetries        bool            `set:"symmetries" advanced:"" needs:"game=!hex" help:"show positions to training under random symmetries of the game: permuted vertices, turned boards"`
	OptimizedTraining bool            `set:"optimized-training" advanced:"" help:"compile the training step; false: the reference interpreter computes it, to find NaN"`

	ArenaEvery int `set:"arena-every" advanced:"" needs:"variant=!ramsey" program:"no" min:"0" max:"1000000" zero:"never" help:"iterations between evaluations, the last is one, too; 0: there is none"`
	ArenaGames int `set:"arena-games" advanced:"" needs:"variant=!ramsey&arena-every=!0" min:"2" max:"65536" wants:"an even number from 2 to 65536: each side begins half of the games" help:"games against each opponent of an evaluation"`
	Pool       int `set:"pool" advanced:"" needs:"variant=!ramsey&arena-every=!0" program:"no" min:"1" max:"1024" help:"older checkpoints that are opponents; the untrained network is one of them"`

	Memory settings.Bytes `set:"memory" advanced:"" program:"no" resume:"any" min:"1" zero:"what is free" wants:"a number of bytes such as 2G, 500M or 1.5GiB" help:"memory for trees, games and batches on all devices, as 2G or 500MiB (default what is free)"`
	Parted settings.Values
	run.Common
}

// DefaultConfig returns the settings for the game of six vertices and triangles.
func DefaultConfig() Config {
	return Config{Game: clique, Vertices: 6, K: []int{3}, Variant: "maker", Network: "mlp:128,128",
		NumIterations: 20, NumEpisodes: 200, NumSimulations: 50, GameBatchSize: 64, TrainingBatchSize: 256,
		Search: "gumbel", Considered: 16, Temperature: settings.Num(1), SampledMoves: 4, UseTrueMCTX: true,
		Replay: 5, Epochs: settings.Num(8), LearningRate: settings.Num(3e-3), Schedule: "constant",
		L2: settings.Num(1e-5), ValueWeight: settings.Num(1),
		MaxGradNorm: settings.Num(5), Accumulate: 2, Precision: "f32", Symmetries: true, OptimizedTraining: true,
		ArenaEvery: 5, ArenaGames: 40, Pool: 8}
}

// Parts returns the settings of the network.
func (c *Config) Parts() []settings.Part { return []settings.Part{network.Part()} }

// Own returns the settings of the parts.
func (c *Config) Own() *settings.Values { return &c.Parted }

// Title returns the name of the game.
func (c *Config) Title() string {
	if g, err := c.game(); err == nil {
		return strings.TrimSuffix(g.env.Spec().ID, "-v1")
	}
	return c.Game
}

// Purpose says in a few words what the programs are for.
func (c *Config) Purpose() string {
	return fmt.Sprintf("selfplay %s, %s, %d games, %d at a time, %d simulations (%s), batch %d", c.Title(), c.Network,
		c.NumEpisodes, c.GameBatchSize, c.NumSimulations, c.Search, c.TrainingBatchSize)
}

// Check finds the first mistake in the config, a *settings.Error, before anything is traced or compiled.
func (c *Config) Check(on plan.Machine) error {
	p, err := c.program()
	if err != nil {
		return err
	}
	_, err = p.layout(on)
	return err
}

// program returns the game and the network. It checks all settings.
func (c *Config) program() (*program, error) {
	if err := settings.Check(c); err != nil {
		return nil, err
	}
	g, err := c.game()
	if err != nil {
		return nil, err
	}
	// The config file of a run has all settings, so those of other games must have their defaults.
	usual := DefaultConfig()
	if err := settings.CheckChanged(c, &usual, "game"); err != nil {
		return nil, err
	}
	if most := max(2, c.NumEpisodes); c.GameBatchSize > most && c.GameBatchSize != DefaultConfig().GameBatchSize {
		return nil, settings.Wrong("game-batch-size", c.GameBatchSize, "at most the %d games of an iteration, "+
			"--num-episodes", most)
	}
	if playing := min(c.GameBatchSize, max(2, c.NumEpisodes)); c.GamesPerDevice > playing {
		return nil, settings.Wrong("games-per-device", c.GamesPerDevice, "at most the %d games that are played at "+
			"the same time: the smaller of --game-batch-size and --num-episodes", playing)
	}
	if c.ArenaGames%2 != 0 {
		return nil, settings.Wrong("arena-games", c.ArenaGames, "an even number from 2 to 65536: each side begins "+
			"half of the games")
	}
	if c.TrainingBatchSize%c.Accumulate != 0 {
		return nil, settings.Wrong("accumulate", c.Accumulate,
			"a number that divides the training batch of %d, as 1 does", c.TrainingBatchSize)
	}
	if c.NumEpisodes*g.moves > math.MaxInt32/c.Replay {
		return nil, settings.Wrong("num-episodes", c.NumEpisodes, "at most %d games of %d moves for %d iterations",
			math.MaxInt32/c.Replay/g.moves, g.moves, c.Replay)
	}
	if !c.UseTrueMCTX && c.Reuse {
		return nil, settings.Wrong("reuse", true, "false: with --use-true-mctx=false, searches in Go start each "+
			"move with an empty tree")
	}
	spec := g.env.Spec()
	net, err := network.Make(c.Network, c.Parted.Under("network."), network.Game{
		Observation: spec.Observation.Shape().Dims, Actions: g.actions, Vertices: g.vertices})
	if err != nil {
		return nil, err
	}
	p := &program{config: c, game: g, network: net}
	compute := c.Precision
	if compute == plan.PrecisionAuto { // until New chooses
		compute = "f32"
	}
	policy, err := precision.ParsePolicy("params=f32,compute=" + compute + ",output=f32")
	if err != nil {
		return nil, err
	}
	p.precision = policy
	return p, p.resolve()
}

// trainingSearch returns the search of self-play.
func (c *Config) trainingSearch() search.Policy {
	o := search.Options{Simulations: c.NumSimulations, MaxDepth: c.MaxDepth}
	if c.Reuse {
		o.Nodes = 2 * (c.NumSimulations + 1)
	}
	if c.Search == "puct" {
		p := search.DefaultPUCT(c.NumSimulations)
		p.Options = o
		return p
	}
	g := search.DefaultGumbel(c.NumSimulations)
	g.Options, g.Considered = o, c.Considered
	return g
}

// matchSearch returns the search of matches: without noise, and with an empty tree in each move.
func (c *Config) matchSearch() search.Policy {
	switch p := c.trainingSearch().(type) {
	case search.PUCT:
		p.Fraction, p.Nodes = 0, 0
		return p
	case search.Gumbel:
		p.Nodes = 0
		return p
	}
	return nil
}

// Board returns the rows of the display.
func (c *Config) Board() []run.DisplayRow {
	rows := []run.DisplayRow{
		{Label: "loss", Plain: true, Parts: []run.Part{{Metric: "loss", Format: run.Loss},
			{Before: ", policy ", Metric: "policy_loss", Format: run.Loss}, {Before: ", value ", Metric: "value_loss",
				Format: run.Loss}}, Curve: "loss", Color: "yellow"},
	}
	if c.Variant == ramsey && c.Game == clique {
		rows = append(rows, run.DisplayRow{Label: "colored", Plain: true, Parts: []run.Part{
			{Before: "mean ", Metric: "mean_return", Format: run.Percent}, {Before: ", best ", Metric: "best_return",
				Format: run.Percent}, {Before: ", whole colorings ", Metric: "found", Format: run.Whole}},
			Curve: "mean_return", Color: "cyan"})
	} else {
		rows = append(rows,
			run.DisplayRow{Label: "Elo", Plain: true, Parts: []run.Part{{Metric: "elo", Format: run.Whole},
				{Before: " ± ", Metric: eloErrorMetric, Format: run.Whole}},
				Curve: "elo", Color: "cyan"},
			run.DisplayRow{Label: "score", Parts: []run.Part{
				{Before: "random ", Metric: "score_random", Format: run.Percent},
				{Before: ", search alone ", Metric: "score_search", Format: run.Percent},
				{Before: ", untrained ", Metric: "score_untrained", Format: run.Percent},
				{Before: ", older ", Metric: "score_older", Format: run.Percent},
				{Before: ", won positions kept ", Metric: "wins_kept", Format: run.Percent}}})
	}
	return append(rows,
		run.DisplayRow{Label: "games", Plain: true, Parts: []run.Part{{Metric: "games_per_second", Behind: " games/s"},
			{Before: ", ", Metric: "simulations_per_second", Behind: " simulations/s"},
			{Before: ", ", Metric: "mean_length", Behind: " moves"}}},
		run.DisplayRow{Label: "parts", Parts: []run.Part{{Before: "games ", Metric: "selfplay_seconds", Behind: " s"},
			{Before: ", training ", Metric: "training_seconds", Behind: " s"},
			{Before: ", evaluation ", Metric: "arena_seconds", Behind: " s"},
			{Before: ", devices busy ", Metric: "busy_share", Format: run.Percent}}})
}
