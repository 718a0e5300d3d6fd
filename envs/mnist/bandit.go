// Package mnist has a bandit over pictures of digits, bsuite's "mnist" (Osband et al., "Behaviour Suite for
// Reinforcement Learning", 2020). Its id is "mnist:" with the pictures of MNIST, which
//
//	xlarun sparse --updates 1 --out none
//
// fetches, or "mnist:FOLDER" with those of a folder that has train-images-idx3-ubyte and train-labels-idx1-ubyte.
package mnist

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"path/filepath"
	"sync"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/dataset"
)

// Scheme goes before the folder in an id.
const Scheme = "mnist"

// fetchHint is the command that fetches the data set.
const fetchHint = "xlarun sparse --updates 1 --out none"

func init() { envs.MustRegisterScheme(Scheme, Open) }

// opened has the environments by folder.
var opened sync.Map

// Open reads the pictures of a folder; "" is the folder of the fetched data set. Errors: files that are missing, of
// another form, without a picture, or with labels beyond 9.
func Open(folder string) (envs.Environment, error) {
	if e, ok := opened.Load(folder); ok {
		return e.(envs.Environment), nil
	}
	dir := folder
	if dir == "" {
		var err error
		if dir, err = dataset.Folder(context.Background(), "mnist", dataset.Request{Offline: true}); err != nil {
			return nil, errors.New("the environment mnist: needs the pictures of MNIST, which are not here: run " +
				fetchHint + ", or give a folder that has them, as in mnist:FOLDER")
		}
	}
	b, err := read(dir)
	if err != nil {
		return nil, err
	}
	b.id = Scheme + ":" + folder
	e := envs.Erase[State, Params](b)
	opened.Store(folder, e)
	return e, nil
}

func read(dir string) (*Bandit, error) {
	m, err := dataset.ReadImages(dir, "train")
	if err != nil {
		return nil, err
	}
	for i, label := range m.Labels {
		if label >= digits {
			name := filepath.Join(dir, "train"+dataset.LabelsFile)
			return nil, fmt.Errorf("%s: label %d is %d, want a digit", name, i, label)
		}
	}
	n := len(m.Labels)
	return &Bandit{size: []int{m.Rows, m.Columns}, data: m.Data,
		pictures: graph.FromBytes(graph.ShapeOf(graph.Uint8, n, m.Rows, m.Columns), m.Data),
		labels:   graph.FromBytes(graph.ShapeOf(graph.Uint8, n), m.Labels)}, nil
}

// digits is the number of actions.
const digits = 10

// Bandit shows a picture of a digit, which Reset draws. The action says which digit it is: the reward is 1 if it is
// right and -1 otherwise. An episode is one step.
//
// Observation f32 [rows, columns]: the picture from 0 to 1, all zeros after the step. Equal to gymnax 1.0.1, except
// that gymnax reads pixels from 128 on as negative numbers.
type Bandit struct {
	id               string
	size             []int  // rows and columns
	data             []byte // the pictures, to draw one
	pictures, labels *graph.Array
}

// Params are scalars, MaxSteps of int32 and OptimalReturn of float32: what the regret is counted from.
type Params struct {
	OptimalReturn *graph.Array
	MaxSteps      *graph.Array `min:"1"`
}

// State is int32 scalars, except Regret of float32. Picture is the number of the picture.
type State struct{ Picture, Label, Regret, Time *graph.Array }

// Spec has the size of the pictures.
func (b *Bandit) Spec() envs.Spec {
	box := envs.Box{Low: []float64{0}, High: []float64{1}, Dims: b.size, DType: graph.Float32}
	return envs.Spec{ID: b.id, Observation: box, Action: envs.Discrete{N: digits}, MaxSteps: 1}
}

// DefaultParams are gymnax's.
func (b *Bandit) DefaultParams() Params {
	return Params{OptimalReturn: graph.Scalar(1), MaxSteps: envs.Steps(1)}
}

// Reset draws a picture.
func (b *Bandit) Reset(key random.Key, _ Params) (State, *graph.Array) {
	i := random.Randint(key, graph.ShapeOf(graph.Int32), 0, b.labels.Dim(0))
	label := graph.DynamicIndex(b.labels, i, 0).Convert(graph.Int32)
	s := State{Picture: i, Label: label, Regret: graph.Scalar(0), Time: envs.Steps(0)}
	return s, b.picture(s)
}

func (b *Bandit) picture(s State) *graph.Array {
	return graph.DynamicIndex(b.pictures, s.Picture, 0).Convert(graph.Float32).Div(255)
}

func (b *Bandit) zeros() *graph.Array { return graph.Zeros(graph.ShapeOf(graph.Float32, b.size...)) }

// Observe is the picture before the step, and zeros after it.
func (b *Bandit) Observe(s State, _ Params) *graph.Array {
	return graph.Select(s.Time.Eq(0), b.picture(s), b.zeros())
}

// Step compares the action with the label. The key is not used.
func (b *Bandit) Step(_ random.Key, s State, action *graph.Array,
	p Params) (next State, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(b.Spec(), action)
	reward = graph.Select(action.Convert(graph.Int32).Eq(s.Label), graph.Scalar(1), graph.Scalar(-1))
	next = State{Picture: s.Picture, Label: s.Label, Regret: s.Regret.Add(p.OptimalReturn).Sub(reward)}
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	return next, b.zeros(), reward, envs.True(), truncated
}

// Draw paints the picture, and a frame in the color of the last answer.
func (b *Bandit) Draw(state any, size image.Point) (image.Image, error) {
	rows, columns := b.size[0], b.size[1]
	c := draw.NewCanvas(size, draw.At(-2, -2), draw.At(float64(columns)+2, float64(rows)+2))
	v := draw.Scalars(c, b.id, state, func(s State) []*graph.Array {
		return []*graph.Array{s.Picture, s.Regret, s.Time}
	})
	if v[2] > 0 {
		frame := draw.Accent
		if v[1] > 0 {
			frame = draw.Signal
		}
		c.Rectangle(frame, draw.At(-1, -1), draw.At(float64(columns)+1, float64(rows)+1))
	}
	pixels := b.data[int(v[0])*rows*columns:]
	for y := range rows {
		for x := range columns {
			at := draw.At(float64(x), float64(rows-1-y))
			c.Rectangle(color.Gray{Y: 255 - pixels[y*columns+x]}, at, draw.At(at.X+1, at.Y+1))
		}
	}
	return c.Image()
}
