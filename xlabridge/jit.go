package xlabridge

import (
	"fmt"
	"sync"

	"xlarun/graph"
)

// JitOptions holds the options of tracing and compiling.
type JitOptions struct {
	Name    string // of the program; default "jit"
	Trace   graph.TraceOptions
	Compile CompileOptions
	// Programs keeps the compiled programs, so that the caller can close them or keep more; nil means a private one.
	Programs *Programs
}

// jit compiles a function for each structure and set of shapes of the arguments.
type jit struct {
	backend Backend
	options JitOptions
	f       func(args []any) any

	tracing sync.Mutex // f runs once at a time

	mu        sync.Mutex
	compiling map[string]chan struct{} // by shapes; closed when the compilation has ended
}

func newJit(b Backend, options []JitOptions, f func(args []any) any) *jit {
	j := &jit{backend: b, f: f}
	if len(options) > 0 {
		j.options = options[0]
	}
	if j.options.Name == "" {
		j.options.Name = "jit"
	}
	if j.options.Programs == nil {
		j.options.Programs = &Programs{}
	}
	return j
}

func (j *jit) call(args []any) (any, error) {
	if j.backend == nil {
		return nil, fmt.Errorf("xlabridge: Jit %s: got no backend: give what Open returns, or a *Reference",
			j.options.Name)
	}
	var leaves []*graph.Array
	var tree *graph.Tree
	if err := graph.Try(func() { leaves, tree = graph.Flatten(args) }); err != nil {
		return nil, err
	}
	key := tree.Key()
	for i, a := range leaves {
		if a.IsTraced() {
			return nil, fmt.Errorf("xlabridge: Jit %s: argument %s is a traced %s, of a function that is being "+
				"traced: call the function itself there, not its Jit", j.options.Name, tree.Path(i), a.Shape())
		}
		key += a.Shape().String()
	}
	x, err := j.program(key, args)
	if err != nil {
		return nil, err
	}
	defer x.release()
	outs, err := x.call(leaves)
	if err != nil {
		return nil, err
	}
	return x.Program.OutTree().Unflatten(outs), nil
}

// program returns the compiled program of the shapes in key. The caller releases it. Calls with other shapes run while
// it is compiled.
func (j *jit) program(key string, args []any) (*Compiled, error) {
	id := programKey{j, key}
	for {
		j.mu.Lock()
		if x := j.options.Programs.get(id); x != nil {
			j.mu.Unlock()
			return x, nil
		}
		compiled := j.compiling[key]
		if compiled == nil {
			break
		}
		j.mu.Unlock()
		<-compiled
	}
	compiled := make(chan struct{})
	if j.compiling == nil {
		j.compiling = map[string]chan struct{}{}
	}
	j.compiling[key] = compiled
	j.mu.Unlock()
	defer func() { // also after a panic of f
		j.mu.Lock()
		delete(j.compiling, key)
		j.mu.Unlock()
		close(compiled)
	}()
	p, err := j.trace(args)
	if err != nil {
		return nil, err
	}
	x, err := j.backend.Compile(p, j.options.Compile.ForJit(j.backend))
	if err != nil {
		return nil, err
	}
	if err := x.use(); err != nil {
		return nil, err
	}
	j.options.Programs.put(id, x)
	return x, nil
}

func (j *jit) trace(args []any) (*graph.Program, error) {
	j.tracing.Lock()
	defer j.tracing.Unlock()
	return graph.TraceArgs(j.options.Name, args, j.options.Trace, j.f)
}

func result[R any](v any, err error) (R, error) { return as[R](v), err }

// as is v as a T. A nil is the T of an empty tree, whose type is an interface.
func as[T any](v any) T {
	t, _ := v.(T)
	return t
}

// given is f, or a function that refuses, if the user's function is nil.
func given(ok bool, f func(args []any) any) func(args []any) any {
	if ok {
		return f
	}
	return func([]any) any {
		graph.Throw("Jit", "got a nil function")
		return nil
	}
}

// Jit compiles a function of one argument, once for each structure and shape of the argument, and runs it on the
// backend. Arguments and results are concrete arrays. A nil of an interface type is an argument without arrays. A
// *graph.Error in f is returned as the error. Other panics of f pass through with their stack.
func Jit[A, R any](b Backend, f func(A) R, options ...JitOptions) func(A) (R, error) {
	j := newJit(b, options, given(f != nil, func(args []any) any { return f(as[A](args[0])) }))
	return func(a A) (R, error) { return result[R](j.call([]any{a})) }
}

// Jit2 is Jit for functions of two arguments. More are a struct.
func Jit2[A, B, R any](b Backend, f func(A, B) R, options ...JitOptions) func(A, B) (R, error) {
	j := newJit(b, options, given(f != nil, func(args []any) any { return f(as[A](args[0]), as[B](args[1])) }))
	return func(a A, b B) (R, error) { return result[R](j.call([]any{a, b})) }
}
