// Package process has environments that another program simulates, such as one in Python with Gymnasium. Its id is
// "exec:COMMAND". The program speaks a protocol on its standard input and output, which docs/how-to/gymnasium.md
// describes.
//
// Such an environment runs on the host: a step of all lanes is one request, and the devices wait for it. It is for
// simulators that cannot be written for the device. Its states cannot be copied: each episode goes on from its last
// state only, as runs play them. A run that goes on in another process begins new episodes: the step at which one is
// lost gives no reward and counts as truncated.
package process

import (
	"fmt"
	"strings"
	"sync"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
)

// Scheme goes before the command in an id.
const Scheme = "exec"

func init() { envs.MustRegisterScheme(Scheme, Open) }

// Params are the parameters.
type Params struct {
	MaxSteps *graph.Array `min:"1"`
}

// State is a state. The simulator's own state is in its process.
type State struct {
	Handle      *graph.Array // u32[3]: session, number and seed of the episode
	Time        *graph.Array // i32[]
	Over        *graph.Array // bool[]: the episode has ended
	Observation *graph.Array
}

// Env is an environment of another program.
type Env struct {
	spec envs.Spec
	// reset and step are the names of functions of the host.
	reset, step string
}

// commands are the commands that may run, and the environments that run. Files must not name commands, so they are
// allowed one by one.
var commands = struct {
	sync.Mutex
	allowed map[string]bool
	open    map[string]*running
}{allowed: map[string]bool{}, open: map[string]*running{}}

// running is a command that runs.
type running struct {
	env  envs.Environment
	pool *pool
}

// Allow lets Open run a command. The user must have given it: a command in a file of a stranger is not to be run.
func Allow(command string) {
	commands.Lock()
	defer commands.Unlock()
	commands.allowed[command] = true
}

// Open starts a command that was allowed, and returns its environment. A command that runs already is not started
// again, except after it has failed. The command's words are separated by blanks; no shell reads them.
func Open(command string) (envs.Environment, error) {
	commands.Lock()
	defer commands.Unlock()
	if r, ok := commands.open[command]; ok && r.pool.works() {
		return r.env, nil
	}
	if !commands.allowed[command] {
		return nil, fmt.Errorf("%s:%s names a command, which only the command line may do: give --env \"%s:%s\" there "+
			"if you trust it", Scheme, command, Scheme, command)
	}
	if r, ok := commands.open[command]; ok {
		r.pool.close()
		delete(commands.open, command)
	}
	p, spec, err := newPool(strings.Fields(command))
	if err != nil {
		return nil, fmt.Errorf("%s:%s: %w", Scheme, command, err)
	}
	id := Scheme + ":" + command
	spec.ID, spec.Host = id, true
	e := &Env{spec: spec, reset: id + " reset", step: id + " step"}
	named := func(f graph.HostFunction) graph.HostFunction {
		return func(args []*graph.Array) ([]*graph.Array, error) {
			results, err := f(args)
			if err != nil {
				err = fmt.Errorf("%s: %w", id, err)
			}
			return results, err
		}
	}
	graph.RegisterHostFunction(e.reset, named(p.reset))
	graph.RegisterHostFunction(e.step, named(p.step))
	commands.open[command] = &running{envs.Erase(e), p}
	return commands.open[command].env, nil
}

// Spec describes the environment.
func (e *Env) Spec() envs.Spec { return e.spec }

// DefaultParams has the step limit of the program.
func (e *Env) DefaultParams() Params { return Params{MaxSteps: envs.Steps(e.spec.MaxSteps)} }

var handleShape = graph.ShapeOf(graph.Uint32, 3)

// Reset begins an episode in a simulator of the program. Equal keys give equal episodes if the program's do for equal
// seeds.
func (e *Env) Reset(key random.Key, _ Params) (State, *graph.Array) {
	out := graph.HostCall(e.reset, []graph.Shape{e.spec.Observation.Shape(), handleShape}, key.Data)
	return State{Handle: out[1], Time: envs.Steps(0), Over: envs.False(), Observation: out[0]}, out[0]
}

// Step plays one action in the episode's simulator. After the end of the episode it changes nothing.
func (e *Env) Step(key random.Key, s State, action *graph.Array, p Params) (next State, obs, reward, terminated,
	truncated *graph.Array) {
	envs.CheckAction(e.spec, action)
	flag := graph.ShapeOf(graph.Bool)
	out := graph.HostCall(e.step, []graph.Shape{e.spec.Observation.Shape(), handleShape, graph.ShapeOf(graph.Float32),
		flag, flag}, key.Data, s.Handle, s.Time, s.Over, s.Observation, action.Convert(e.spec.Action.Shape().DType))
	next = State{Handle: out[1], Observation: out[0]}
	reward, terminated, truncated = out[2], out[3], out[4]
	var limit *graph.Array
	next.Time, limit = envs.Tick(s.Time, p.MaxSteps)
	truncated = truncated.Or(limit)
	next.Over = s.Over.Or(terminated).Or(truncated)
	return next, next.Observation, reward, terminated, truncated
}

// Observe returns the observation that belongs to a state.
func (e *Env) Observe(s State, _ Params) *graph.Array { return s.Observation }
