package sparse

import (
	"encoding/binary"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/population"
)

// Each device runs its own members, one after the other. Member i has the key FoldIn(key, i), counted over the whole
// population, and all devices have the same batches. So results do not depend on the number of devices.

// stepsLoop is the name of the loop over a round's steps.
const stepsLoop = "steps"

// rows returns a device's members, all zero.
func (p *Population) rows() Member {
	var m Member
	for _, l := range p.shape {
		m = append(m, Connections{p.tiles.Rows(graph.Int32, l.Connections), p.tiles.Rows(graph.Float32, l.Connections)})
	}
	return m
}

// sharedDraw is the number of the draw of what members have in common. Mutations have the numbers from 1 on.
const sharedDraw = 1<<31 - 1

func (p *Population) key(in inputs, draw any, local *graph.Array) random.Key {
	return random.FoldIn(random.FoldIn(in.Key, draw), p.tiles.First().Add(local))
}

// common draws the places that all members have. They follow from the seed, so they are not part of the state.
func (p *Population) common(in inputs) commonPlaces {
	return p.shape.common(random.FoldIn(in.Key, sharedDraw), p.config.Shared)
}

// start makes the members.
func (p *Population) start(in inputs) Member {
	common := p.common(in)
	return population.Each(p.tiles, in.Count, p.rows(), func(local *graph.Array) Member {
		return p.shape.random(p.key(in, 0, local), common)
	})
}

// mutateAll mutates the members. Mutation t draws from FoldIn(key, t+1).
func (p *Population) mutateAll(members Member, in inputs) Member {
	common := p.common(in)
	return population.Each(p.tiles, in.Count, p.rows(), func(local *graph.Array) Member {
		return p.shape.mutate(population.At(members, local), common, p.key(in, in.Turn.Add(1), local),
			p.config.MutateFraction)
	})
}

// indexAll computes the members' indexes. They follow from the members, so they are not part of the state.
func (p *Population) indexAll(m method, members Member, in inputs) []*graph.Array {
	return population.Each(p.tiles, in.Count, p.indexRows(m), func(local *graph.Array) []*graph.Array {
		return m.index(population.At(members, local))
	})
}

func (p *Population) indexRows(m method) []*graph.Array {
	var rows []*graph.Array
	for _, s := range m.indexShapes() {
		rows = append(rows, p.tiles.Rows(s.DType, s.Dims...))
	}
	return rows
}

// trainRound takes in.Turn steps with each member. It returns also the stats, f32[members, 2]; see judge.
func (p *Population) trainRound(m method, members Member, index []*graph.Array, in inputs) (Member, *graph.Array) {
	type row struct {
		W     []*graph.Array
		Stats *graph.Array
	}
	var weights []*graph.Array
	for _, c := range p.rows() {
		weights = append(weights, c.W)
	}
	out := population.Each(p.tiles, in.Count, row{weights, p.tiles.Rows(graph.Float32, 2)},
		func(local *graph.Array) row {
			local = graph.Counted(in.Counter, local)
			member := population.At(members, local)
			weights, fixed := m.load(member, population.At(index, local))
			type loop struct {
				T       *graph.Array
				Weights []*graph.Array
				Stats   *graph.Array
			}
			end := graph.NamedWhile(stepsLoop, func(c loop) *graph.Array {
				return c.T.Lt(in.Turn)
			}, func(c loop) loop {
				next, stats := m.step(c.Weights, fixed, in.Data, c.T, in.Rate)
				return loop{c.T.Add(1), next, c.Stats.Add(stats)}
			}, loop{graph.Scalar(0, graph.Int32), weights, graph.Zeros(graph.ShapeOf(graph.Float32, 2))})
			return row{m.store(end.Weights, fixed, member), end.Stats}
		})
	var next Member
	for l, c := range members {
		next = append(next, Connections{c.At, out.W[l]})
	}
	return next, p.tiles.Gather(out.Stats)
}

// evaluateAll returns the members' stats, summed over all of in.Data: f32[members, 2].
func (p *Population) evaluateAll(m method, members Member, index []*graph.Array, in inputs) *graph.Array {
	rows := population.Each(p.tiles, in.Count, p.tiles.Rows(graph.Float32, 2), func(local *graph.Array) *graph.Array {
		weights, fixed := m.load(population.At(members, local), population.At(index, local))
		type loop struct{ T, Stats *graph.Array }
		chunks := in.Data.Labels.Dim(0)
		end := graph.While(func(c loop) *graph.Array { return c.T.Lt(chunks) }, func(c loop) loop {
			return loop{c.T.Add(1), c.Stats.Add(m.evaluate(weights, fixed, in.Data, c.T))}
		}, loop{graph.Scalar(0, graph.Int32), graph.Zeros(graph.ShapeOf(graph.Float32, 2))})
		return end.Stats
	})
	return p.tiles.Gather(rows)
}

// memberAt returns member i of the population, on every device.
func (p *Population) memberAt(members Member, i *graph.Array) Member {
	local, device := i.Rem(p.tiles.PerDevice), graph.Quo(i, p.tiles.PerDevice)
	return graph.MapTree(func(a *graph.Array) *graph.Array {
		return graph.DynamicIndex(graph.AllGather(graph.DynamicIndex(a, local, 0), graph.DeviceAxis), device, 0)
	}, members)
}

// nextBatches lays out the examples of the next steps.
func (p *Population) nextBatches(steps int) Batches {
	pixels, train := p.data.Train.Pixels, p.data.Train
	for t := range steps {
		image := p.images[t*pixels*p.lanes : (t+1)*pixels*p.lanes]
		for lane := range p.lanes {
			label := int32(-1)
			if lane < p.config.Batch {
				i := p.order.next()
				train.write(i, image, p.lanes, lane)
				label = int32(train.Labels[i])
			}
			binary.LittleEndian.PutUint32(p.labels[4*(t*p.lanes+lane):], uint32(label))
		}
	}
	return Batches{graph.FromBytes(graph.ShapeOf(graph.Uint8, p.rounds, pixels, p.lanes), p.images),
		graph.FromBytes(graph.ShapeOf(graph.Int32, p.rounds, p.lanes), p.labels)}
}

// chunks lays examples out for an evaluation.
func (m Images) chunks() Batches {
	lanes := min(testLanes, (m.Len()+laneMultiple-1)/laneMultiple*laneMultiple)
	chunks := (m.Len() + lanes - 1) / lanes
	images, labels := make([]byte, chunks*lanes*m.Pixels), make([]byte, 4*chunks*lanes)
	for i := range chunks * lanes {
		label := int32(-1)
		if i < m.Len() {
			chunk := i / lanes
			m.write(i, images[chunk*lanes*m.Pixels:(chunk+1)*lanes*m.Pixels], lanes, i%lanes)
			label = int32(m.Labels[i])
		}
		binary.LittleEndian.PutUint32(labels[4*i:], uint32(label))
	}
	return Batches{graph.FromBytes(graph.ShapeOf(graph.Uint8, chunks, m.Pixels, lanes), images),
		graph.FromBytes(graph.ShapeOf(graph.Int32, chunks, lanes), labels)}
}
