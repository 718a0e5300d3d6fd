package selfplay

import (
	"encoding/json"
	"fmt"
	"image"
	"math"
	"strings"

	"xlarun/envs"
	"xlarun/envs/board"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/graph/safetensors"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// Viewer searches positions with a network, for pictures, for people who play against it, and for the perfect player.
type Viewer struct {
	program *program
	stages  run.Stages
	weights *graph.Array                                         // set by Load
	advice  map[int]*run.Stage[graph.None, adviceInputs, advice] // by number of positions
	steps   *run.Stage[graph.None, moveInputs, positions]
}

// adviceInputs are the inputs of a search of n positions.
type adviceInputs struct {
	Player    player
	Positions *graph.Array // u32[n, words of a state]
}

// moveInputs are positions and the actions that are played in them.
type moveInputs struct {
	Positions *graph.Array // u32[n, words of a state]
	Actions   *graph.Array // i32[n]
}

// newViewer returns a viewer that compiles programs when they are first used.
func newViewer(p *program, c run.Stages) *Viewer {
	c.Options.Replicas, c.Profile = 1, nil
	return &Viewer{program: p, stages: c, advice: map[int]*run.Stage[graph.None, adviceInputs, advice]{}}
}

// compileAdvice compiles the search of n positions.
func (v *Viewer) compileAdvice(n int) (*run.Stage[graph.None, adviceInputs, advice], error) {
	p := v.program
	weights, err := p.someWeights()
	if err != nil {
		return nil, err
	}
	positions := graph.Zeros(graph.ShapeOf(graph.Uint32, n, p.game.stateWords()))
	return run.NewReading(v.stages, "advice", adviceInputs{networkPlayer(weights), positions},
		func(in adviceInputs) advice { return p.advise(in.Player, in.Positions) })
}

// ask searches positions, given as the words of their states.
func (v *Viewer) ask(by player, words []uint32) (a advice, err error) {
	n := len(words) / v.program.game.stateWords()
	if v.advice[n] == nil {
		if v.advice[n], err = v.compileAdvice(n); err != nil {
			return a, err
		}
	}
	if by, err = onHost(by); err != nil { // it may lie on several devices
		return a, err
	}
	positions := graph.Uint32s(words, n, v.program.game.stateWords())
	return v.advice[n].Call(adviceInputs{by, positions})
}

// moves returns the moves that a player's searches find in positions, of which there are at most n.
func (v *Viewer) moves(by player, positions []colors, n int) ([]int, error) {
	var words []uint32
	for i := range n {
		words = append(words, positions[min(i, len(positions)-1)].words()...)
	}
	a, err := v.ask(by, words)
	if err != nil {
		return nil, err
	}
	defer xlabridge.Free(a)
	var read hostReader
	actions := read.ints(a.Action)
	if read.err != nil {
		return nil, read.err
	}
	return actions[:len(positions)], nil
}

// Close frees the programs.
func (v *Viewer) Close() {
	if v == nil {
		return
	}
	for _, s := range v.advice {
		_ = s.Close()
	}
	_ = v.steps.Close()
}

// settingPrefix goes before the names of settings in a saved network's metadata.
const settingPrefix = "setting."

// save returns the network for a file: its parameters by name, and the settings of its run.
func (t *Training) save() (map[string]*graph.Array, map[string]string, error) {
	w, err := xlabridge.ToHost(t.state.Learner.Weights)
	if err != nil {
		return nil, nil, err
	}
	arrays := map[string]*graph.Array{}
	var tree any
	if err := graph.Try(func() { tree = t.program.weights.Unravel(w) }); err != nil {
		return nil, nil, err
	}
	if tree, err = graph.Eval(tree); err != nil {
		return nil, nil, err
	}
	leaves, names := graph.Flatten(tree)
	for i, a := range leaves {
		arrays[safetensors.Name(names.Path(i))] = a
	}
	metadata := map[string]string{"kind": "selfplay", "iteration": fmt.Sprint(t.step),
		"seed": fmt.Sprint(t.config.Seed), "game": t.program.game.env.Spec().ID, "elo": fmt.Sprint(t.pool.newest())}
	c := t.config
	c.GamesPerDevice = t.layout.lanes // as in a resumed run
	for _, f := range settings.Fields(&c) {
		if !f.MayChange() { // the same network on other devices is the same file
			metadata[settingPrefix+f.Name] = f.Text()
		}
	}
	for name, x := range t.config.Parted {
		metadata[settingPrefix+name] = fmt.Sprint(x)
	}
	return arrays, metadata, nil
}

// Load returns the network of a file that a run saved. change, if not nil, may change settings of the search. Errors: a
// file of another kind, arrays that do not fit.
func Load(b xlabridge.Backend, arrays map[string]*graph.Array, metadata map[string]string,
	change func(c *Config)) (*Viewer, error) {
	if metadata["kind"] != "selfplay" {
		return nil, fmt.Errorf("this is not a network of a selfplay run: its kind is %q", metadata["kind"])
	}
	c := DefaultConfig()
	for key, text := range metadata {
		name, ok := strings.CutPrefix(key, settingPrefix)
		if !ok {
			continue
		}
		f, known := settings.Lookup(&c, name)
		switch {
		case known:
			if err := f.Set(text); err != nil {
				return nil, err
			}
		case strings.Contains(name, "."):
			if c.Parted == nil {
				c.Parted = settings.Values{}
			}
			c.Parted[name] = text
		}
	}
	if change != nil {
		change(&c)
	}
	p, err := c.program()
	if err != nil {
		return nil, err
	}
	v := newViewer(p, run.Stages{Backend: b, Purpose: c.Purpose()})
	err = graph.Try(func() {
		leaves, tree := graph.Flatten(p.network.Init(random.New(0)))
		for i, want := range leaves {
			name := safetensors.Name(tree.Path(i))
			a, ok := arrays[name]
			if !ok || !a.Shape().Equal(want.Shape()) {
				graph.Throw("selfplay.Load", "the file has no array %q of %s, as the network %s wants", name,
					want.Shape(), c.Network)
			}
			leaves[i] = a
		}
		v.weights = p.weights.Ravel(tree.Unflatten(leaves))
	})
	if err == nil {
		v.weights, err = graph.Eval(v.weights)
	}
	return v, err
}

// Config returns the settings of the network's run.
func (v *Viewer) Config() Config { return *v.program.config }

// Position is a position of a game.
type Position struct {
	words  []uint32
	Player int    // to move
	Legal  []bool // by action
	Over   bool
	Score  float64 // of player 0: 1 for a win, -1 for a loss; of a puzzle, the part that is done
}

// Start returns the first position.
func (v *Viewer) Start() (Position, error) {
	g := v.program.game
	var read hostReader
	words, err := graph.Eval(g.pack(g.start))
	if err != nil {
		return Position{}, err
	}
	p := Position{words: read.words(words), Legal: read.bools(g.traits.Legal(g.start, g.params))}
	return p, read.err
}

// Move plays a legal action.
func (v *Viewer) Move(p Position, action int) (next Position, err error) {
	if action < 0 || action >= len(p.Legal) || !p.Legal[action] || p.Over {
		return p, fmt.Errorf("%d is not a legal move", action)
	}
	in := moveInputs{graph.Uint32s(p.words, 1, len(p.words)), graph.Int32s([]int32{int32(action)})}
	if v.steps == nil {
		v.steps, err = run.NewReading(v.stages, "step", in, func(in moveInputs) positions {
			return v.program.step(in.Positions, in.Actions)
		})
		if err != nil {
			return p, err
		}
	}
	out, err := v.steps.Call(in)
	if err != nil {
		return p, err
	}
	defer xlabridge.Free(out)
	var read hostReader
	next = Position{words: read.words(out.Words), Player: int(read.number(out.Player)), Legal: read.bools(out.Legal),
		Over: read.number(out.Over) != 0, Score: p.Score + read.number(out.Score)}
	return next, read.err
}

// Advice is the result of a search.
type Advice struct {
	Action int     `json:"action"`
	Value  float64 `json:"value"` // of the position, for the player to move
	// By action: visits, Q-values (0 for actions that were not tried) and the network's probabilities.
	Visits []int     `json:"visits"`
	Values []float64 `json:"values"`
	Prior  []float64 `json:"prior"`
	Legal  []bool    `json:"legal"`
	Tree   []Node    `json:"tree"`
}

// Node is a node of a search tree. The first is the root.
type Node struct {
	Parent int     `json:"parent"` // -1 for the root
	Action int     `json:"action"` // that led here; -1 for the root
	Visits int     `json:"visits"`
	Value  float64 `json:"value"` // for the player who moves there
}

// Ask searches a position with the loaded network.
func (v *Viewer) Ask(p Position) (Advice, error) { return v.search(networkPlayer(v.weights), p) }

// search searches a position.
func (v *Viewer) search(by player, p Position) (out Advice, err error) {
	a, err := v.ask(by, p.words)
	if err != nil {
		return out, err
	}
	defer xlabridge.Free(a)
	var read hostReader
	out = Advice{Action: int(read.number(a.Action)), Value: read.number(a.Value), Visits: read.ints(a.Visits),
		Values: read.float64s(a.Values), Prior: read.float64s(a.Prior), Legal: read.bools(a.Legal)}
	parents, actions, visits, values := read.ints(a.Parents), read.ints(a.ActionsFrom), read.ints(a.NodeVisits),
		read.float64s(a.NodeValues)
	nodes := int(read.number(a.Nodes))
	if read.err != nil {
		return Advice{}, read.err
	}
	for i := range nodes {
		out.Tree = append(out.Tree, Node{parents[i], actions[i], visits[i], values[i]})
	}
	out.Tree[0].Parent, out.Tree[0].Action = -1, -1
	return out, nil
}

// Name returns an action as text: an edge as "0-3" (in a puzzle with the number of the color, "0-3:1"), a cell as
// "b2", a column as "c".
func (v *Viewer) Name(action int) string {
	g := v.program.game
	dims := g.env.Spec().Observation.Shape().Dims
	switch {
	case g.vertices > 0:
		edges := g.vertices * (g.vertices - 1) / 2
		a, b := board.Ends(g.vertices, action%edges)
		if g.actions > edges {
			return fmt.Sprintf("%d-%d:%d", a, b, action/edges+1)
		}
		return fmt.Sprintf("%d-%d", a, b)
	case g.actions == dims[1]:
		return string(rune('a' + action))
	case action >= dims[0]*dims[1]:
		return map[bool]string{true: "pass", false: "swap"}[dims[2] == 2]
	}
	return fmt.Sprintf("%c%d", 'a'+action%dims[1], action/dims[1]+1)
}

// Picture draws a position.
func (v *Viewer) Picture(p Position, size image.Point) (image.Image, error) {
	g := v.program.game
	state, err := graph.Eval(g.unpack(graph.Uint32s(p.words)))
	if err != nil {
		return nil, err
	}
	draw := envs.TraitsOf(g.env).Draw
	if draw == nil {
		return nil, fmt.Errorf("%s cannot be drawn", g.env.Spec().ID)
	}
	return draw(state, size)
}

// JSON returns the advice with the actions' names, for a file.
func (v *Viewer) JSON(a Advice) map[string]any {
	text, _ := json.Marshal(a) // the numbers of a search are finite
	out := map[string]any{}
	_ = json.Unmarshal(text, &out)
	names := make([]string, len(a.Visits))
	for i := range names {
		names[i] = v.Name(i)
	}
	out["names"] = names
	return out
}

// share returns the share of an action in all visits.
func (a Advice) share(action int) float64 {
	all := 0
	for _, n := range a.Visits {
		all += n
	}
	return float64(a.Visits[action]) / math.Max(1, float64(all))
}

// Action returns the legal action with a name, as Name returns it. The ends of an edge may have any order.
func (v *Viewer) Action(p Position, name string) (action int, ok bool) {
	name = strings.ToLower(strings.TrimSpace(name))
	edge, color, colored := strings.Cut(name, ":")
	if a, b, ok := strings.Cut(edge, "-"); ok {
		edge = b + "-" + a
		if colored {
			edge += ":" + color
		}
	}
	for i, legal := range p.Legal {
		if n := v.Name(i); legal && (n == name || n == edge) {
			return i, true
		}
	}
	return 0, false
}
