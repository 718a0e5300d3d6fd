package sparse

import (
	"errors"

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

// learning are the inputs of a program that reads indexes, beside the members.
type learning struct {
	Indexes []*graph.Array // of the members; see method
	In      inputs
}

// reading are the inputs of a program that leaves the members as they are.
type reading struct {
	Members Member
	Indexes []*graph.Array
	In      inputs
}

// evaluation is a program that returns the stats of members.
type evaluation = run.Stage[graph.None, reading, *graph.Array]

// programs are the programs of one method.
type programs struct {
	method method
	name   string                                          // of the method
	index  *run.Stage[graph.None, reading, []*graph.Array] // nil where the method keeps none
	train  *run.Stage[Member, learning, *graph.Array]      // returns the stats
}

// build makes the members, and compiles the programs for a method.
func (p *Population) build(name string) (err error) {
	if p.test, err = xlabridge.Put(p.backend, p.config.Devices, p.data.Test.chunks()); err != nil {
		return err
	}
	if err := p.initMembers(); err != nil {
		return err
	}
	if p.programs, err = p.prepare(name); err != nil {
		return err
	}
	if err := p.reindex(); err != nil {
		return err
	}
	if p.config.MutateEvery > 0 {
		p.mutate, err = run.NewStage(p.stages(), "sparse_mutate", p.abstract(), p.abstractInputs(),
			func(m Member, in inputs) (Member, graph.None) { return p.mutateAll(m, in), graph.None{} })
		if err != nil {
			return err
		}
	}
	if p.evaluate, err = p.compileEvaluation("sparse_evaluate", p.test); err != nil {
		return err
	}
	if err := p.compileSelection(); err != nil {
		return err
	}
	p.pick, err = run.NewReading(p.stages(), "sparse_member", pick{p.abstract(), graph.Of(int32(0))},
		func(in pick) Member { return p.memberAt(in.Members, in.I) })
	if err != nil {
		return err
	}
	return p.fitCompiled()
}

// pick are the inputs of the program that returns a member.
type pick struct {
	Members Member
	I       *graph.Array // i32[]: its number
}

// compileEvaluation compiles a program that evaluates the members on data. It returns the stats.
func (p *Population) compileEvaluation(name string, data Batches) (*evaluation, error) {
	in := p.abstractInputs()
	in.Data = data
	return run.NewReading(p.stages(), name, reading{p.abstract(), p.abstractIndex(p.method), in},
		func(r reading) *graph.Array { return p.evaluateAll(p.method, r.Members, r.Indexes, r.In) })
}

// stages returns the compiler of the programs.
func (p *Population) stages() run.Stages {
	s := run.Stages{Backend: p.backend, Purpose: p.config.Purpose(p.shape), Profile: &p.profile}
	if s.Options.Replicas = p.config.Devices; p.backend.Backend() == "cpu" {
		s.Options.XLA = map[string]any{"xla_cpu_prefer_vector_width": 512}
	}
	return s
}

// initMembers makes the members; earlier ones are freed.
func (p *Population) initMembers() error {
	first, err := run.NewReading(p.stages(), "sparse_members", p.abstractInputs(), p.start)
	if err != nil {
		return err
	}
	defer func() { _ = first.Close() }()
	if p.count == nil {
		if p.count, err = xlabridge.Put(p.backend, p.config.Devices, p.abstractInputs().Count); err != nil {
			return err
		}
	}
	xlabridge.Free(p.members)
	p.members, err = first.Call(p.baseInputs())
	return err
}

// prepare traces and compiles the programs of a method.
func (p *Population) prepare(name string) (r programs, err error) {
	r.method, r.name = p.config.methodOf(name, p.shape), name
	in := learning{p.abstractIndex(r.method), p.abstractInputs()}
	if len(in.Indexes) > 0 {
		r.index, err = run.NewReading(p.stages(), "sparse_index", reading{p.abstract(), nil, in.In},
			func(in reading) []*graph.Array { return p.indexAll(r.method, in.Members, in.In) })
		if err != nil {
			return r, err
		}
	}
	in.In.Data = Batches{graph.Abstract(graph.ShapeOf(graph.Uint8, p.rounds, p.data.Train.Pixels, p.lanes)),
		graph.Abstract(graph.ShapeOf(graph.Int32, p.rounds, p.lanes))}
	in.In.Counter = graph.Abstract(graph.ShapeOf(graph.Int32))
	r.train, err = run.NewStage(p.stages(), "sparse_train", p.abstract(), in,
		func(m Member, in learning) (Member, *graph.Array) {
			return p.trainRound(r.method, m, in.Indexes, in.In)
		})
	return r, err
}

func (r programs) close() error { return errors.Join(r.index.Close(), r.train.Close()) }

// reindex computes the members' indexes again.
func (p *Population) reindex() (err error) {
	xlabridge.Free(p.indexes)
	p.indexes = nil
	if p.index != nil {
		p.indexes, err = p.index.Call(reading{p.members, nil, p.baseInputs()})
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
