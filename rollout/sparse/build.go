package sparse

import (
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// inputs are the inputs of a program, except the members.
type inputs struct {
	Count *graph.Array // i32[]: members of a device; see population.Each
	Key   random.Key
	Turn  *graph.Array // i32[]: the number of a mutation, or the steps of a training round
	Rate  *graph.Array // f32[]: the learning rate over the batch's size
	Data  Batches
	// Counter counts the members that a training round has begun with; see graph.Counted.
	Counter *graph.Array `tree:"optional"` // i32[]
}

// programs are the programs of one method.
type programs struct {
	method       method
	name         string              // of the method
	index, train *xlabridge.Compiled // index is nil where the method keeps none
	compiled     []run.Program
}

// build makes the members, and compiles the programs for a method.
func (p *Population) build(name string) (err error) {
	if p.test, err = xlabridge.Put(p.backend, p.config.Devices, p.data.Test.chunks()); err != nil {
		return err
	}
	first, err := p.compileFirst()
	if err != nil {
		return err
	}
	defer func() { _ = first.Close() }()
	if err := p.initMembers(first); err != nil {
		return err
	}
	if p.programs, err = p.prepare(name); err != nil {
		return err
	}
	for _, c := range p.compiled {
		p.profile.Account(c)
	}
	if err := p.reindex(); err != nil {
		return err
	}
	members, index, in := p.abstract(), p.abstractIndex(p.method), p.abstractInputs()
	if p.config.MutateEvery > 0 {
		p.mutate, err = p.compile("sparse_mutate", func(a []any) any {
			return p.mutateAll(a[0].(Member), a[1].(inputs))
		}, []int{0}, members, in)
		if err != nil {
			return err
		}
	}
	in.Data = p.test
	p.evaluate, err = p.compile("sparse_evaluate", func(a []any) any {
		return p.evaluateAll(p.method, a[0].(Member), a[1].([]*graph.Array), a[2].(inputs))
	}, nil, members, index, in)
	if err != nil {
		return err
	}
	if err := p.compileSelection(); err != nil {
		return err
	}
	p.pick, err = p.compile("sparse_member", func(a []any) any {
		return p.memberAt(a[0].(Member), a[1].(*graph.Array))
	}, nil, members, graph.Of(int32(0)))
	if err != nil {
		return err
	}
	return p.fitCompiled()
}

// compileFirst compiles the program that makes the members.
func (p *Population) compileFirst() (*xlabridge.Compiled, error) {
	return p.compile("sparse_members", func(a []any) any { return p.start(a[0].(inputs)) }, nil, p.abstractInputs())
}

// initMembers makes the members; earlier ones are freed.
func (p *Population) initMembers(first *xlabridge.Compiled) (err error) {
	if p.count == nil {
		if p.count, err = xlabridge.Put(p.backend, p.config.Devices, p.abstractInputs().Count); err != nil {
			return err
		}
	}
	xlabridge.Free(p.members)
	p.members, err = first.Call(graph.Leaves(p.baseInputs()))
	return err
}

// prepare traces and compiles the programs of a method. It does not change p.
func (p *Population) prepare(name string) (r programs, err error) {
	r.method, r.name = p.config.methodOf(name, p.shape), name
	members, index, in := p.abstract(), p.abstractIndex(r.method), p.abstractInputs()
	if len(index) > 0 {
		if r.index, err = p.compileAs(&r, "sparse_index", func(a []any) any {
			return p.indexAll(r.method, a[0].(Member), a[1].(inputs))
		}, nil, members, in); err != nil {
			return r, err
		}
	}
	in.Data = Batches{graph.Abstract(graph.ShapeOf(graph.Uint8, p.rounds, p.data.Train.Pixels, p.lanes)),
		graph.Abstract(graph.ShapeOf(graph.Int32, p.rounds, p.lanes))}
	in.Counter = graph.Abstract(graph.ShapeOf(graph.Int32))
	r.train, err = p.compileAs(&r, "sparse_train", func(a []any) any {
		return p.trainRound(r.method, a[0].(Member), a[1].([]*graph.Array), a[2].(inputs))
	}, []int{0}, members, index, in)
	if err != nil {
		r.close()
	}
	return r, err
}

func (r programs) close() {
	for _, x := range []*xlabridge.Compiled{r.index, r.train} {
		if x != nil {
			_ = x.Close()
		}
	}
}

// reindex computes the members' indexes again.
func (p *Population) reindex() (err error) {
	xlabridge.Free(p.indexes)
	p.indexes = nil
	if p.index != nil {
		p.indexes, err = p.index.Call(p.arguments(p.baseInputs(), false))
	}
	return err
}

// abstract returns a device's members as shapes.
func (p *Population) abstract() Member {
	var m Member
	for _, l := range p.shape {
		m = append(m, Connections{graph.Abstract(graph.ShapeOf(graph.Int32, p.tiles.PerDevice+1, l.Connections)),
			graph.Abstract(graph.ShapeOf(graph.Float32, p.tiles.PerDevice+1, l.Connections))})
	}
	return m
}

// abstractIndex returns a device's indexes as shapes.
func (p *Population) abstractIndex(m method) []*graph.Array {
	var index []*graph.Array
	for _, s := range m.indexShapes() {
		index = append(index,
			graph.Abstract(graph.ShapeOf(s.DType, append([]int{p.tiles.PerDevice + 1}, s.Dims...)...)))
	}
	return index
}

func (p *Population) abstractInputs() inputs {
	return inputs{Count: graph.Of(int32(p.tiles.PerDevice)), Key: random.New(p.config.Seed), Turn: graph.Of(int32(0)),
		Rate: graph.Scalar(0)}
}

// compile compiles a program that does not depend on the method.
func (p *Population) compile(name string, f func([]any) any, donate []int, args ...any) (*xlabridge.Compiled, error) {
	var r programs
	x, err := p.compileAs(&r, name, f, donate, args...)
	for _, c := range r.compiled {
		p.profile.Account(c)
	}
	return x, err
}

func (p *Population) compileAs(r *programs, name string, f func([]any) any, donate []int,
	args ...any) (*xlabridge.Compiled, error) {
	program, err := graph.TraceArgs(name, args, graph.TraceOptions{Replicas: p.config.Devices, Donate: donate}, f)
	if err != nil {
		return nil, err
	}
	o := xlabridge.CompileOptions{Purpose: p.config.Purpose(p.shape)}
	if p.backend.Backend() == "cpu" {
		o.XLA = map[string]any{"xla_cpu_prefer_vector_width": 512}
	}
	x, err := p.backend.Compile(program, o)
	if err != nil {
		return nil, err
	}
	r.compiled = append(r.compiled, run.ProgramOf(x))
	return x, nil
}
