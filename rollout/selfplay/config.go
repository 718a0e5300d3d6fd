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

// Config is one experiment. Start from DefaultConfig: zero means zero, but where a field says otherwise.
type Config struct {
	Game     string `set:"game" oneof:"clique,tictactoe,connectfour,hex,othello" help:"game that is learned"`
	Vertices int    `set:"vertices" min:"3" max:"32" help:"of clique: vertices of the complete graph whose edges are coloured"`
	K        []int  `set:"k" min:"1" max:"32" wants:"a size of cliques from 3 on, or one for each colour as in 3,4" help:"of clique: vertices of the clique that decides; as 3,4 one for each colour"`
	Variant  string `set:"variant" oneof:"maker,avoid,ramsey" help:"of clique: who closes a clique in its own colour wins (maker) or loses (avoid), or one player colours all edges without one (ramsey)"`
	Network  string `set:"network" help:"network with the policy and the value"`

	NumIterations     int `set:"num-iterations" program:"no" resume:"goal" min:"1" max:"1000000" help:"iterations: games, training, evaluation"`
	NumEpisodes       int `set:"num-episodes" min:"1" max:"1048576" help:"games of an iteration"`
	NumSimulations    int `set:"num-simulations" min:"1" max:"65536" help:"simulations of a move's search"`
	GameBatchSize     int `set:"game-batch-size" min:"1" max:"1048576" help:"games that are played at the same time on all devices together"`
	TrainingBatchSize int `set:"training-batch-size" min:"1" max:"1048576" help:"positions of a training step"`
	// Lanes is the number of games that one device plays at a time; what is not played at the same time is played one after the other.
	Lanes int `set:"lanes" min:"0" max:"65536" zero:"half of the game batch, or as many as have their trees in memory" help:"games that a device plays at the same time; 0 for half of the game batch, or as many as have their trees in the memory"`

	Search      string          `set:"search" oneof:"gumbel,puct" help:"how moves are searched: with sequential halving (gumbel), or with noise at the root (puct)"`
	MaxDepth    int             `set:"max-depth" min:"0" max:"65536" zero:"as many as there are simulations" help:"most moves from a search's root to a node"`
	Considered  int             `set:"considered" min:"1" max:"65536" help:"of gumbel: most actions that are tried at the root"`
	Temperature settings.Number `set:"temperature" min:"0" help:"of puct: temperature of the first moves, by the visits"`
	DrawnMoves  int             `set:"drawn-moves" min:"0" max:"65536" help:"moves of a game that are drawn; those behind them are the most visited (of puct; in the arena of both)"`
	RandomMoves int             `set:"random-moves" min:"0" max:"4096" help:"every other game begins behind so many moves at most that are drawn at random, and are not learned from: for positions that good play does not come to"`
	Reuse       bool            `set:"reuse" help:"go on with the part of a move's tree that the next move finds itself in"`
	UseTrueMCTX bool            `set:"use-true-mctx" help:"search inside the compiled program; false: in Go, asking the network position by position"`

	Replay            int             `set:"replay" min:"1" max:"4096" help:"iterations whose games are kept to be learned from"`
	Epochs            settings.Number `set:"epochs" program:"no" above:"0" help:"how often a position is learned from, on average, in the iteration that played it; training steps follow from it"`
	LearningRate      settings.Number `set:"learning-rate" above:"0" help:"step size of Adam"`
	Schedule          string          `set:"schedule" oneof:"constant,linear,cosine" help:"how the learning rate goes to 0 over the iterations, or stays"`
	L2                settings.Number `set:"l2" min:"0" help:"weight of the sum of the squared parameters in the loss"`
	ValueWeight       settings.Number `set:"value-weight" min:"0" help:"weight of the value's squared error in the loss"`
	MaxGradNorm       settings.Number `set:"max-grad-norm" above:"0" help:"norm that a gradient is cut to"`
	Accumulate        int             `set:"accumulate" min:"1" max:"65536" help:"parts of a training batch whose gradients are added up: devices share them, and each needs memory for one at a time"`
	Precision         string          `set:"precision" oneof:"float32,bfloat16,float16" help:"dtype in which training computes; parameters are float32"`
	Symmetries        bool            `set:"symmetries" help:"learn from each position as one of the symmetries of its game shows it: permutations of vertices, turns of a board"`
	OptimizedTraining bool            `set:"optimized-training" help:"compile the training step; false: the reference interpreter computes it, which finds numbers that are none"`

	ArenaEvery int `set:"arena-every" program:"no" min:"0" max:"1000000" zero:"never" help:"iterations between two evaluations; 0 for none; the last iteration is evaluated in any case"`
	ArenaGames int `set:"arena-games" min:"2" max:"65536" wants:"an even number from 2 to 65536: each side begins half of the games" help:"games against each opponent of an evaluation"`
	Pool       int `set:"pool" program:"no" min:"1" max:"1024" help:"older checkpoints that are kept as opponents, the untrained one among them"`

	Memory settings.Bytes `set:"memory" program:"no" resume:"any" min:"1" zero:"what is free" wants:"a number of bytes such as 2G, 500M or 1.5GiB" help:"memory that trees, games and batches may take on all devices, as 2G or 500MiB (default what is free)"`
	Parted settings.Values
	run.Common
}

// DefaultConfig learns the game of six vertices and triangles.
func DefaultConfig() Config {
	return Config{Game: clique, Vertices: 6, K: []int{3}, Variant: "maker", Network: "mlp:128,128",
		NumIterations: 20, NumEpisodes: 200, NumSimulations: 50, GameBatchSize: 64, TrainingBatchSize: 256,
		Search: "gumbel", Considered: 16, Temperature: settings.Num(1), DrawnMoves: 4, UseTrueMCTX: true,
		Replay: 5, Epochs: settings.Num(8), LearningRate: settings.Num(3e-3), Schedule: "constant", L2: settings.Num(1e-5), ValueWeight: settings.Num(1),
		MaxGradNorm: settings.Num(5), Accumulate: 2, Precision: "float32", Symmetries: true, OptimizedTraining: true,
		ArenaEvery: 5, ArenaGames: 40, Pool: 8}
}

// Parts are the networks.
func (c *Config) Parts() []settings.Part { return []settings.Part{network.Part()} }

// Own are the settings of the parts.
func (c *Config) Own() *settings.Values { return &c.Parted }

// Title is the game.
func (c *Config) Title() string {
	if g, err := c.game(); err == nil {
		return strings.TrimSuffix(g.env.Spec().ID, "-v1")
	}
	return c.Game
}

// Last is the number of iterations.
func (c *Config) Last() int64 { return int64(c.NumIterations) }

// Setup says what is run.
func (c *Config) Setup() string {
	return fmt.Sprintf("%s, %s, %d games an iteration, %d simulations (%s), batches of %d, seed %d", c.Title(), c.Network, c.NumEpisodes, c.NumSimulations, c.Search, c.TrainingBatchSize, c.Seed)
}

// Purpose says in a few words what the programs are for.
func (c *Config) Purpose() string {
	return fmt.Sprintf("selfplay %s, %s, %d games, %d at a time, %d simulations (%s), batch %d", c.Title(), c.Network, c.NumEpisodes, c.GameBatchSize, c.NumSimulations, c.Search, c.TrainingBatchSize)
}

// Bound: a rate that falls over the iterations is another one where there are more of them.
func (c *Config) Bound() []string {
	if c.Schedule == "constant" {
		return nil
	}
	return []string{"num-iterations"}
}

// Check finds the first mistake in the config, a *settings.Error, before anything is traced or compiled.
func (c *Config) Check(on plan.Machine) error {
	p, err := c.program()
	if err != nil {
		return err
	}
	_, err = p.layout(max(1, on.Devices), on.Free)
	return err
}

// program makes game and network, and checks them.
func (c *Config) program() (*program, error) {
	if err := settings.Check(c); err != nil {
		return nil, err
	}
	g, err := c.game()
	if err != nil {
		return nil, err
	}
	if err := c.ofAnotherGame(); err != nil {
		return nil, err
	}
	if playing := min(c.GameBatchSize, max(2, c.NumEpisodes)); c.Lanes > playing {
		return nil, settings.Wrong("lanes", c.Lanes, "at most the %d games that are played at the same time: the smaller of --game-batch-size and --num-episodes", playing)
	}
	if c.ArenaGames%2 != 0 {
		return nil, settings.Wrong("arena-games", c.ArenaGames, "an even number from 2 to 65536: each side begins half of the games")
	}
	if c.TrainingBatchSize%c.Accumulate != 0 {
		return nil, settings.Wrong("accumulate", c.Accumulate, "a number that divides the training batch of %d, as 1 does", c.TrainingBatchSize)
	}
	if c.NumEpisodes*g.moves > math.MaxInt32/c.Replay {
		return nil, settings.Wrong("num-episodes", c.NumEpisodes, "at most %d games of %d moves for %d iterations", math.MaxInt32/c.Replay/g.moves, g.moves, c.Replay)
	}
	if !c.UseTrueMCTX && c.Reuse {
		return nil, settings.Wrong("reuse", true, "false where --use-true-mctx=false searches in Go, which begins each move anew")
	}
	spec := g.env.Spec()
	net, err := network.Make(c.Network, c.Parted.Under("network."), network.Game{Observation: spec.Observation.Shape().Dims, Actions: g.actions, Vertices: g.vertices})
	if err != nil {
		return nil, err
	}
	p := &program{config: c, game: g, network: net}
	policy, err := precision.ParsePolicy("params=float32,compute=" + c.Precision + ",output=float32")
	if err != nil {
		return nil, err
	}
	p.precision = policy
	return p, p.learn()
}

// Idle are the settings of the games of cliques where another one is played.
func (c *Config) Idle() (names []string, wants string) {
	if c.Game == clique {
		return nil, ""
	}
	return []string{"vertices", "k", "variant"}, fmt.Sprintf("no such setting where --game is %s: it is one of the game clique", c.Game)
}

// ofAnotherGame refuses idle settings that are not as usual. Those that were given as they are by default are known to the command line alone.
func (c *Config) ofAnotherGame() error {
	usual := DefaultConfig()
	names, wants := c.Idle()
	for _, name := range names {
		now, _ := settings.Lookup(c, name)
		if was, _ := settings.Lookup(&usual, name); now.Text() != was.Text() {
			return &settings.Error{Key: name, Got: now.Text(), Wants: wants}
		}
	}
	return nil
}

// searching is the search of moves that are learned from.
func (c *Config) searching() search.Policy {
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

// playing is the search of moves that are to win.
func (c *Config) playing() search.Policy {
	switch p := c.searching().(type) {
	case search.PUCT:
		p.Fraction, p.Nodes = 0, 0
		return p
	case search.Gumbel:
		p.Nodes = 0
		return p
	}
	return nil
}

// Board is what a display shows.
func (c *Config) Board() []run.Row {
	rows := []run.Row{
		{Label: "loss", Plain: true, Parts: []run.Part{{Metric: "loss", Format: run.Loss}, {Before: ", policy ", Metric: "policy_loss", Format: run.Loss}, {Before: ", value ", Metric: "value_loss", Format: run.Loss}}, Curve: "loss", Colour: "yellow"},
	}
	if c.Variant == ramsey && c.Game == clique {
		rows = append(rows, run.Row{Label: "coloured", Plain: true, Parts: []run.Part{{Before: "mean ", Metric: "mean_return", Format: run.Percent}, {Before: ", best ", Metric: "best_return", Format: run.Percent}, {Before: ", whole colourings ", Metric: "found", Format: run.Whole}}, Curve: "mean_return", Colour: "cyan"})
	} else {
		rows = append(rows, run.Row{Label: "Elo", Plain: true, Parts: []run.Part{{Metric: "elo", Format: run.Whole}}, Curve: "elo", Colour: "cyan"},
			run.Row{Label: "score", Parts: []run.Part{{Before: "random ", Metric: "score_random", Format: run.Percent}, {Before: ", search alone ", Metric: "score_search", Format: run.Percent},
				{Before: ", untrained ", Metric: "score_untrained", Format: run.Percent}, {Before: ", older ", Metric: "score_older", Format: run.Percent}, {Before: ", won positions kept ", Metric: "wins_kept", Format: run.Percent}}})
	}
	return append(rows,
		run.Row{Label: "games", Plain: true, Parts: []run.Part{{Metric: "games_per_second", Behind: " games/s"}, {Before: ", ", Metric: "simulations_per_second", Behind: " simulations/s"}, {Before: ", ", Metric: "mean_length", Behind: " moves"}}},
		run.Row{Label: "parts", Parts: []run.Part{{Before: "games ", Metric: "selfplay_seconds", Behind: " s"}, {Before: ", training ", Metric: "training_seconds", Behind: " s"},
			{Before: ", evaluation ", Metric: "arena_seconds", Behind: " s"}, {Before: ", devices busy ", Metric: "busy_share", Format: run.Percent}}})
}
