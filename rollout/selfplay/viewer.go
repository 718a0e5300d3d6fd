package selfplay

import (
	"encoding/json"
	"fmt"
	"image"
	"maps"
	"math"
	"strings"
	"time"

	"xlarun/envs"
	"xlarun/envs/board"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/graph/safetensors"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// Viewer searches positions with a network, one by one or side by side: for pictures, for people who play against it,
// and for the perfect player.
type Viewer struct {
	program *program
	backend xlabridge.Backend
	options xlabridge.CompileOptions
	busy    *time.Duration
	weights *graph.Array // of Load
	ready   map[int]*stage[advice]
	steps   *stage[positions]
}

// newViewer compiles nothing yet.
func newViewer(p *program, b xlabridge.Backend, options xlabridge.CompileOptions, busy *time.Duration) *Viewer {
	options.Replicas = 1
	return &Viewer{program: p, backend: b, options: options, busy: busy, ready: map[int]*stage[advice]{}}
}

// make compiles the search of n positions.
func (v *Viewer) make(n int) (*stage[advice], error) {
	p := v.program
	var weights *graph.Array
	if err := graph.Try(func() { weights = p.weights.Ravel(p.network.Init(random.New(0))) }); err != nil {
		return nil, err
	}
	positions := graph.Zeros(graph.ShapeOf(graph.Uint32, n, p.game.stateWords()))
	return newStage(v.backend, "advice", p.config.Purpose(), v.options, v.busy, nil,
		[]any{networkPlayer(weights), positions},
		func(a []any) advice {
			return p.advise(a[0].(player), random.New(0), a[1].(*graph.Array))
		})
}

// ask searches positions, each so many words.
func (v *Viewer) ask(by player, words []uint32) (a advice, err error) {
	n := len(words) / v.program.game.stateWords()
	if v.ready[n] == nil {
		if v.ready[n], err = v.make(n); err != nil {
			return a, err
		}
	}
	if by, err = onHost(by); err != nil { // it may lie on several devices
		return a, err
	}
	return v.ready[n].call(by, graph.Uint32s(words, n, v.program.game.stateWords()))
}

// Close frees the programs.
func (v *Viewer) Close() {
	if v == nil {
		return
	}
	for _, s := range v.ready {
		s.close()
	}
	v.steps.close()
}

// settingPrefix is in front of the settings' names in a saved network's metadata.
const settingPrefix = "setting."

// save is a network as it is saved: its parameters by name, and the settings that it was trained with.
func (t *Training) save() (map[string]*graph.Array, map[string]string, error) {
	w, err := xlabridge.ToHost(t.learner.Weights)
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
	c.Lanes = t.layout.lanes // as a run that goes on has it
	for _, f := range settings.Fields(&c) {
		if f.MayChange() { // the same network on other devices is the same file
			continue
		}
		metadata[settingPrefix+f.Name] = f.Text()
	}
	for name, x := range t.config.Parted {
		metadata[settingPrefix+name] = fmt.Sprint(x)
	}
	return arrays, metadata, nil
}

// Load is the network of a file that a run saved, ready to be asked. change may change settings, those of its search.
// Errors: a file of something else, arrays that do not fit.
func Load(b xlabridge.Backend, arrays map[string]*graph.Array, metadata map[string]string,
	change func(c *Config)) (*Viewer, error) {
	if metadata["kind"] != "selfplay" {
		return nil, fmt.Errorf("this is no network of a run of selfplay: its kind is %q", metadata["kind"])
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
	v := newViewer(p, b, xlabridge.CompileOptions{}, new(time.Duration))
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

// Config are the settings of the network's run.
func (v *Viewer) Config() Config { return *v.program.config }

// Position is one of a game.
type Position struct {
	words  []uint32
	Player int    // to move
	Legal  []bool // by action
	Over   bool
	Score  float64 // what player 0 has got: of a game that is over, 1 won, -1 lost; of a puzzle, the part that is done
}

// Start is the first position.
func (v *Viewer) Start() (Position, error) {
	g := v.program.game
	words, err := graph.Eval(g.pack(g.start))
	if err != nil {
		return Position{}, err
	}
	p := Position{}
	if p.words, err = wordsOf(words); err != nil {
		return p, err
	}
	legal, err := graph.Floats(g.parts.Masker.Legal(g.start, g.params))
	for _, x := range legal {
		p.Legal = append(p.Legal, x != 0)
	}
	return p, err
}

// Move plays a legal action.
func (v *Viewer) Move(p Position, action int) (next Position, err error) {
	if action < 0 || action >= len(p.Legal) || !p.Legal[action] || p.Over {
		return p, fmt.Errorf("%d is no legal move", action)
	}
	n := len(p.words)
	if v.steps == nil {
		v.steps, err = newStage(v.backend, "step", v.program.config.Purpose(), v.options, v.busy, nil,
			[]any{graph.Zeros(graph.ShapeOf(graph.Uint32, 1, n)), graph.Int32s([]int32{0})}, func(a []any) positions {
				return v.program.step(a[0].(*graph.Array), a[1].(*graph.Array))
			})
		if err != nil {
			return p, err
		}
	}
	out, err := v.steps.call(graph.Uint32s(p.words, 1, n), graph.Int32s([]int32{int32(action)}))
	if err != nil {
		return p, err
	}
	defer xlabridge.Free(out)
	read := func(a *graph.Array) []float64 {
		x, bad := graph.Floats(a)
		if err == nil {
			err = bad
		}
		return x
	}
	score, over, mover, legal := read(out.Score), read(out.Over), read(out.Player), read(out.Legal)
	if err != nil {
		return p, err
	}
	next = Position{Player: int(mover[0]), Over: over[0] != 0, Score: p.Score + score[0]}
	for _, x := range legal {
		next.Legal = append(next.Legal, x != 0)
	}
	next.words, err = wordsOf(out.Words)
	return next, err
}

// Advice is what a search found in a position.
type Advice struct {
	Action int     `json:"action"`
	Value  float64 `json:"value"` // of the position, to the player to move
	// Of each action: visits, what it was found to be worth (0 where it was not tried) and the network's share.
	Visits []int     `json:"visits"`
	Values []float64 `json:"values"`
	Prior  []float64 `json:"prior"`
	Legal  []bool    `json:"legal"`
	Tree   []Node    `json:"tree"`
}

// Node is one of a search's tree; the first is the root.
type Node struct {
	Parent int     `json:"parent"` // the root's is -1
	Action int     `json:"action"` // that led here
	Visits int     `json:"visits"`
	Value  float64 `json:"value"` // to the player who moves there
}

// Ask searches a position with the loaded network.
func (v *Viewer) Ask(p Position) (Advice, error) { return v.advice(networkPlayer(v.weights), p.words) }

func (v *Viewer) advice(by player, words []uint32) (out Advice, err error) {
	a, err := v.ask(by, words)
	if err != nil {
		return out, err
	}
	defer xlabridge.Free(a)
	list := func(x *graph.Array) []float64 {
		f, bad := graph.Floats(x)
		if err == nil {
			err = bad
		}
		return f
	}
	action, value, visits, prior, legal := list(a.Action), list(a.Value), list(a.Visits), list(a.Prior), list(a.Legal)
	values, parents, from, counts, worth, nodes := list(a.Values), list(a.Parents), list(a.From), list(a.NodeVisits),
		list(a.NodeValues), list(a.Nodes)
	if err != nil {
		return out, err
	}
	out = Advice{Action: int(action[0]), Value: value[0], Values: values, Prior: prior}
	for i, n := range visits {
		out.Visits, out.Legal = append(out.Visits, int(n)), append(out.Legal, legal[i] != 0)
	}
	for i := range int(nodes[0]) {
		n := Node{Parent: int(parents[i]), Action: int(from[i]), Visits: int(counts[i]), Value: worth[i]}
		if i == 0 {
			n.Parent, n.Action = -1, -1
		}
		out.Tree = append(out.Tree, n)
	}
	return out, nil
}

// Name is an action as people write it: an edge as "0-3" (of a puzzle with the number of the colour, "0-3:1"), a cell
// as "b2", a column as "c".
func (v *Viewer) Name(action int) string { return v.program.game.name(action) }

func (g *game) name(action int) string {
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

// Picture paints a position.
func (v *Viewer) Picture(p Position, size image.Point) (image.Image, error) {
	return v.program.game.picture(p.words, size)
}

func (g *game) picture(words []uint32, size image.Point) (image.Image, error) {
	state, err := graph.Eval(g.unpack(graph.Uint32s(words)))
	if err != nil {
		return nil, err
	}
	d, ok := envs.DrawerOf(g.env)
	if !ok {
		return nil, fmt.Errorf("%s cannot be drawn", g.env.Spec().ID)
	}
	return d.Draw(state, size)
}

// JSON is the advice for a file, with the actions' names.
func (v *Viewer) JSON(a Advice) map[string]any { return a.json(v.program.game) }

func (a Advice) json(g *game) map[string]any {
	text, _ := json.Marshal(a) // numbers of a search: finite
	out := map[string]any{}
	_ = json.Unmarshal(text, &out)
	names := make([]string, len(a.Visits))
	for i := range names {
		names[i] = g.name(i)
	}
	return withValue(out, "names", names)
}

func withValue(m map[string]any, key string, value any) map[string]any {
	out := maps.Clone(m)
	out[key] = value
	return out
}

// share is visits of all.
func (a Advice) share(action int) float64 {
	all := 0
	for _, n := range a.Visits {
		all += n
	}
	return float64(a.Visits[action]) / math.Max(1, float64(all))
}

// Action is the legal action of a name, as Name writes it; an edge's ends may stand in either order.
func (v *Viewer) Action(p Position, name string) (action int, ok bool) {
	name = strings.ToLower(strings.TrimSpace(name))
	edge, colour, coloured := strings.Cut(name, ":")
	if a, b, ok := strings.Cut(edge, "-"); ok {
		edge = b + "-" + a
		if coloured {
			edge += ":" + colour
		}
	}
	for i, legal := range p.Legal {
		if n := v.Name(i); legal && (n == name || n == edge) {
			return i, true
		}
	}
	return 0, false
}
