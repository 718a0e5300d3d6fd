// Package sparse trains populations of sparse networks. Every member has connections of its own, trains them by SGD on
// the same batches as the others, and replaces the weakest ones at intervals.
package sparse

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/plan"
	"xlarun/rollout/population"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// Stats of the members, in their order.
type Stats struct {
	Loss     []float64 // mean cross-entropy
	Accuracy []float64 // part of the answers that are correct
}

const (
	// roundBytes bounds the batches of one round. A device reads them once for each of its members.
	roundBytes = 4 << 20
	// maxRound is the largest number of updates in a round.
	maxRound = 64
)

// testLanes is the number of examples in a chunk of test data.
const testLanes = 512

// Population is a run: compiled programs, and the members on the devices. It is not for use by several goroutines at a
// time.
type Population struct {
	config  Config
	shape   Shape
	backend xlabridge.Backend
	data    Data
	tiles   population.Tiles
	profile run.Profile
	free    int64 // the memory budget; 0: unknown

	programs                  // of the method
	late      *sync.WaitGroup // measurements that still run after their deadline
	mutate    *run.Stage[Member, inputs, graph.None]
	evaluate  *evaluation
	pick      *run.Stage[graph.None, pick, Member]
	members   Member         // the state, on the devices; nil: it is lost
	indexes   []*graph.Array // of the members; see method
	count     *graph.Array
	counter   *run.PartCounter // of the members of a training round
	test      Batches
	order     order
	selection selection
	rounds    int // most updates of a round
	lanes     int // of a training batch, padding included
	images    []byte
	labels    []byte
	done      int // updates
	mutations int
}

// New checks the config, chooses the method, makes the members and compiles the programs.
func New(ctx context.Context, b xlabridge.Backend, c Config, d Data) (*Population, error) {
	p, name, err := newPopulation(ctx, b, c, d)
	if err != nil {
		return nil, err
	}
	if err := p.build(name); err != nil {
		_ = p.Close()
		return nil, err
	}
	return p, nil
}

// newPopulation returns a population without members and programs, and the name of its method.
func newPopulation(ctx context.Context, b xlabridge.Backend, c Config, d Data) (p *Population, name string, err error) {
	if err := c.Check(plan.MachineOf(b, c.Devices)); err != nil {
		return nil, "", err
	}
	if c.Devices == 0 {
		c.Devices = b.NumDevices()
	}
	c.TestEvery = c.testEvery()
	p = &Population{config: c, shape: c.Shape(d), backend: b, data: d, late: new(sync.WaitGroup)}
	for _, l := range p.shape {
		if l.In > maxPlaces/l.Out {
			return nil, "", settings.Wrong("hidden", fmt.Sprintf("a layer of %d x %d", l.In, l.Out),
				"layers of at most %d places", maxPlaces)
		}
	}
	if err := p.holdOut(); err != nil {
		return nil, "", err
	}
	d = p.data
	if c.Batch > d.Train.Len() {
		return nil, "", settings.Wrong("batch", c.Batch, "at most %d, the examples of the training data", d.Train.Len())
	}
	p.profile.Devices = c.Devices
	p.order = order{seed: c.Seed, n: d.Train.Len()}
	p.lanes = (c.Batch + laneMultiple - 1) / laneMultiple * laneMultiple
	p.rounds = max(1, min(maxRound, roundBytes/(p.lanes*d.Train.Pixels)))
	p.tiles = population.CutTiles(c.Population, 1, c.Devices)
	p.counter = run.NewPartCounter("members", c.Population, c.Devices)
	p.free = int64(c.Memory)
	if p.free == 0 {
		p.free = plan.FreeOn(b, c.Devices)
	}
	p.images, p.labels = make([]byte, p.rounds*p.lanes*d.Train.Pixels), make([]byte, 4*p.rounds*p.lanes)
	if name, err = p.choose(ctx); err == nil {
		err = p.fit(name)
	}
	if err != nil {
		_ = p.Close()
		return nil, "", err
	}
	p.profile.Facts = []run.Fact{{Name: "method", Value: name}, {Name: "connections", Value: p.shape.Connections()}}
	p.profile.Chosen = settings.Values{"method": name, "test-every": c.TestEvery}
	return p, name, nil
}

// Train makes up to n updates, at most one round and at most up to the next mutation. A mutation that is due comes
// before the first of them, so the state after the last does not depend on whether more follow. It returns the number
// of updates, and the members' mean loss and accuracy over them, measured before each update.
func (p *Population) Train(n int) (updates int, s Stats, err error) {
	if p.members == nil {
		return 0, s, run.ErrGone
	}
	c := p.config
	if c.MutateEvery > 0 && p.mutations < p.done/c.MutateEvery {
		if err := p.mutation(); err != nil {
			return 0, s, err
		}
	}
	updates = min(n, p.rounds)
	if c.MutateEvery > 0 {
		updates = min(updates, c.MutateEvery-p.done%c.MutateEvery)
	}
	batches, err := xlabridge.Put(p.backend, c.Devices, p.nextBatches(updates))
	if err != nil {
		return 0, s, err
	}
	defer xlabridge.Free(batches)
	in := inputs{Count: p.count, Key: random.New(c.Seed), Turn: graph.Of(int32(updates)),
		Rate: graph.Of(float32(c.LearningRate / float64(c.Batch))), Data: batches, Counter: p.counter.Input()}
	p.counter.Begin()
	stats, err := p.train.Advance(&p.members, learning{p.indexes, in})
	if err != nil {
		return 0, s, err
	}
	p.done += updates
	s, err = p.stats(stats, updates*c.Batch)
	return updates, s, err
}

// mutation selects and mutates the members, and computes their indexes again.
func (p *Population) mutation() error {
	if err := p.selectMembers(); err != nil {
		return err
	}
	if err := p.mutateMembers(); err != nil {
		return err
	}
	return p.reindex()
}

// mutateMembers mutates the members. After it, their indexes are out of date.
func (p *Population) mutateMembers() error {
	in := p.baseInputs()
	in.Turn = graph.Of(int32(p.mutations))
	if _, err := p.mutate.Advance(&p.members, in); err != nil {
		return err
	}
	p.mutations++
	return nil
}

// baseInputs returns the inputs of a program that reads no data.
func (p *Population) baseInputs() inputs {
	return inputs{Count: p.count, Key: random.New(p.config.Seed), Turn: graph.Of(int32(0)), Rate: graph.Scalar(0)}
}

// Evaluate returns the members' loss and accuracy on the test data.
func (p *Population) Evaluate() (Stats, error) {
	if p.members == nil {
		return Stats{}, run.ErrGone
	}
	in := p.baseInputs()
	in.Data = p.test
	out, err := p.evaluate.Call(reading{p.members, p.indexes, in})
	if err != nil {
		return Stats{}, err
	}
	return p.stats(out, p.data.Test.Len())
}

func (p *Population) stats(a *graph.Array, examples int) (s Stats, err error) {
	v, err := graph.Floats(a)
	xlabridge.Free(a)
	for i := 0; err == nil && i < p.config.Population; i++ {
		s.Loss = append(s.Loss, v[2*i]/float64(examples))
		s.Accuracy = append(s.Accuracy, v[2*i+1]/float64(examples))
	}
	return s, err
}

// Member copies member i's connections to the host.
func (p *Population) Member(i int) (Member, error) {
	if p.members == nil || i < 0 || i >= p.config.Population {
		return nil, fmt.Errorf("sparse: there is no member %d of %d", i, p.config.Population)
	}
	out, err := p.pick.Call(pick{p.members, graph.Of(int32(i))})
	if err != nil {
		return nil, err
	}
	defer xlabridge.Free(out)
	leaves := graph.Leaves(out)
	for j, a := range leaves {
		if leaves[j], err = xlabridge.ToHost(a); err != nil {
			return nil, err
		}
	}
	return memberOf(leaves), nil
}

// Updates returns the number of updates of SGD.
func (p *Population) Updates() int { return p.done }

// Shape returns the members' layers.
func (p *Population) Shape() Shape { return p.shape }

// Counter counts the members of a training round.
func (p *Population) Counter() *run.PartCounter { return p.counter }

// Profile returns what was compiled.
func (p *Population) Profile() run.Profile { return p.profile }

// Close frees members and programs. It waits for measurements that still run.
func (p *Population) Close() error {
	p.late.Wait()
	xlabridge.Free(p.members)
	xlabridge.Free(p.indexes)
	p.members, p.indexes = nil, nil
	for _, data := range []Batches{p.test, p.selection.data} {
		if data.Images != nil {
			xlabridge.Free(data)
		}
	}
	p.counter.Close()
	return errors.Join(p.programs.close(), p.mutate.Close(), p.evaluate.Close(), p.pick.Close(),
		p.selection.evaluate.Close())
}
