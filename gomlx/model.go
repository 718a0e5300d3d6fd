package gomlx

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gomlx/compute/shapes"
	mlgraph "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/support/exceptions"
	"github.com/pkg/errors"

	"xlarun/graph"
	"xlarun/graph/random"
)

// Build is GoMLX's function that builds a model: it makes the nodes of the results from those of the inputs, with the
// variables of a scope.
type Build = func(scope *model.Scope, inputs []*mlgraph.Node) []*mlgraph.Node

// Model is a recorded GoMLX model: a function of parameters and inputs. The parameters are a map of the trainable
// variables, by their paths in GoMLX without the first slash: "dense/weights". Other variables are constants.
type Model struct {
	call       *Function
	initialize *Function // nil if all variables have values
	inputs     []graph.Shape
	parameters map[string]graph.Shape
	values     map[string]*graph.Array // of variables that have them, and of constants
	drawn      map[string]int          // which result of initialize a variable is
}

// rngState is the path of the variable with the state of GoMLX's random numbers.
const rngState = model.RNGStateVariableName

// NewModel records a model for inputs of given shapes. Variables of the store that have values, such as those of a
// loaded checkpoint, start from them, and the others are drawn by their initializers. A nil store means a new one.
// What GoMLX or package graph refuses is an error.
func NewModel(store *model.Store, build Build, inputs ...graph.Shape) (m *Model, err error) {
	if store == nil {
		store = model.NewStore()
	}
	failed := exceptions.TryCatch[error](func() { m, err = newModel(store, build, inputs) }) // GoMLX panics with errors
	if failed != nil {
		err = failed
	}
	if err != nil {
		return nil, errors.Cause(err) // without the names of GoMLX's own functions on the way
	}
	return m, nil
}

func newModel(store *model.Store, build Build, inputs []graph.Shape) (m *Model, err error) {
	recorder := &Backend{}
	exec, err := model.NewExec(recorder, store, build)
	if err != nil {
		return nil, err
	}
	var all []shapes.Shape
	for _, s := range inputs {
		all = append(all, shapeToGoMLX(s))
	}
	built, err := exec.Compile(all...)
	if err != nil {
		return nil, err
	}
	m = &Model{call: recorder.recorded, inputs: inputs, parameters: map[string]graph.Shape{},
		values: map[string]*graph.Array{}, drawn: map[string]int{}}
	var missing []*model.Variable
	for v := range store.IterVariables() {
		name := nameOf(v)
		switch {
		case name == rngState:
			continue
		case v.ChangedInGraph(built):
			return nil, fmt.Errorf("the GoMLX model changes its variable %q when it is called: a recorded model "+
				"cannot, so build it for inference", name)
		}
		if v.Trainable && v.DType().IsFloat() && v.InUseByGraph(built) {
			if m.parameters[name], err = shapeOf(v.Shape()); err != nil {
				return nil, fmt.Errorf("variable %q: %w", name, err)
			}
		}
		if !v.HasValue() {
			missing = append(missing, v)
			continue
		}
		if m.values[name], err = valueOf(v); err != nil {
			return nil, fmt.Errorf("variable %q: %w", name, err)
		}
	}
	return m, m.draw(recorder, store, missing)
}

// draw records the initializers of variables without values. Those that are no parameters are computed at once.
func (m *Model) draw(recorder *Backend, store *model.Store, missing []*model.Variable) error {
	if len(missing) == 0 {
		return nil
	}
	if err := store.InitializeVariables(recorder, nil); err != nil {
		return err
	}
	m.initialize = recorder.recorded
	first := len(m.initialize.results) - len(missing) // the variables that changed are before
	for i, v := range missing {
		name := nameOf(v)
		if err := v.Reset(); err != nil { // a recorder's results are no values
			return err
		}
		m.drawn[name] = first + i
		if _, ok := m.parameters[name]; ok {
			continue
		}
		err := graph.Try(func() { m.values[name] = m.drawAll(random.New(0))[first+i] })
		if err == nil {
			m.values[name], err = graph.Eval(m.values[name])
		}
		if err != nil {
			return fmt.Errorf("variable %q: %w", name, err)
		}
	}
	return nil
}

// drawAll runs the initializers.
func (m *Model) drawAll(key random.Key) []*graph.Array {
	args := make([]*graph.Array, len(m.initialize.params))
	for i, name := range m.initialize.variables() {
		if name == rngState {
			args[i] = stateOf(key)
		} else if args[i] = m.values[name]; args[i] == nil {
			graph.Throw("gomlx.Model.Init", "an initializer reads the variable %q, which has no value yet", name)
		}
	}
	return m.initialize.replay(args, nil)
}

// nameOf is a variable's path without the first slash.
func nameOf(v *model.Variable) string { return strings.TrimPrefix(v.Path(), "/") }

// variables are the names of a recorded function's parameters as nameOf gives them, "" for those that are inputs.
// GoMLX names a variable's parameter by its path, which begins with a slash.
func (f *Function) variables() []string {
	names := make([]string, len(f.names))
	for i, name := range f.names {
		if path, ok := strings.CutPrefix(name, "/"); ok {
			names[i] = path
		}
	}
	return names
}

// valueOf copies a variable's value.
func valueOf(v *model.Variable) (*graph.Array, error) {
	value, err := v.Value()
	if err != nil {
		return nil, err
	}
	var a *graph.Array
	failed := value.ConstFlatData(func(flat any) { a, err = arrayOf(flat, v.Shape()) })
	if failed != nil {
		err = failed
	}
	return a, err
}

// Parameters returns the shapes of the parameters by name.
func (m *Model) Parameters() map[string]graph.Shape { return m.parameters }

// Outputs returns the shapes of the results.
func (m *Model) Outputs() []graph.Shape {
	all := m.call.resultShapes()
	return all[len(all)-m.outputs():]
}

// outputs is the number of results. The state of the random numbers stands before them if the model draws.
func (m *Model) outputs() int {
	n := len(m.call.results)
	for _, name := range m.call.variables() {
		if name == rngState {
			n--
		}
	}
	return n
}

// Init returns one member's parameters: those that have values, and draws of the others by GoMLX's initializers. The
// key decides the draws.
func (m *Model) Init(key random.Key) map[string]*graph.Array {
	var drawn []*graph.Array
	if m.initialize != nil {
		drawn = m.drawAll(key)
	}
	out := map[string]*graph.Array{}
	for name := range m.parameters {
		if i, ok := m.drawn[name]; ok {
			out[name] = drawn[i]
		} else {
			out[name] = m.values[name]
		}
	}
	return out
}

// Call returns the results for parameters, as Init returns them, and inputs. Draws within the model, such as noise,
// follow from the key.
func (m *Model) Call(parameters map[string]*graph.Array, key random.Key, inputs ...*graph.Array) []*graph.Array {
	const op = "gomlx.Model.Call"
	if len(inputs) != len(m.inputs) {
		graph.Throw(op, "got %d inputs, want %d", len(inputs), len(m.inputs))
	}
	args := make([]*graph.Array, len(m.call.params))
	next := 0
	for i, name := range m.call.variables() {
		want := m.call.params[i].shape
		_, isParameter := m.parameters[name]
		switch {
		case name == "":
			args[i] = inputs[next]
			if !args[i].Shape().Equal(want) {
				graph.Throw(op, "input %d is %s, want %s", next, args[i].Shape(), want)
			}
			next++
		case name == rngState:
			args[i] = stateOf(key)
		case !isParameter:
			args[i] = m.values[name]
		default:
			args[i] = parameters[name]
			if args[i] == nil || !slices.Equal(args[i].Dims(), want.Dims) {
				graph.Throw(op, "the parameters have no array %q of %s", name, want)
			}
			args[i] = args[i].Convert(want.DType)
		}
	}
	out := m.call.replay(args, nil)
	return out[len(out)-m.outputs():]
}
