package main

import (
	"math"

	"xlarun/envs"
	"xlarun/envs/bodies"
	"xlarun/envs/mujoco"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() {
	legs := mujoco.HalfCheetah
	legs.ID, legs.Designs, legs.Design = "Legs-v0", 6, stretched
	legs.Start = func(t mujoco.Task, key random.Key, p mujoco.Params) (q, v *graph.Array) {
		q, v = mujoco.HalfCheetah.Start(t, key, p)
		return q.Add(graph.Float32s([]float32{0, .3, 0, 0, 0, 0, 0, 0, 0})), v // long legs start in the air
	}
	envs.MustRegister(legs)
}

// stretched is HalfCheetah with other lengths of thigh, shin and foot, of the leg behind and then of that in front:
// each from 2/3 to 3/2 of its own. Inertias are those of thin rods.
func stretched(m *bodies.Model, design *graph.Array) bodies.Params {
	factors := graph.Concatenate(0, graph.Ones(graph.ShapeOf(graph.Float32, len(m.Bodies)-design.Dim(0))),
		design.Mul(math.Log(1.5)).Exp())
	own := m.Params()
	var parents, geoms, sizes, inertias []*graph.Array
	for _, b := range m.Bodies {
		parents = append(parents, factors.Index(b.Parent).Mul(graph.Float32s([]float32{1, 1, 1})))
	}
	for i := range m.Bodies {
		f := factors.Index(i)
		inertias = append(inertias, graph.Stack([]*graph.Array{f.Mul(f).Mul(f), f.Mul(f).Mul(f), f}, 0))
	}
	for _, g := range m.Geoms {
		f, one := factors.Index(g.Body), graph.Scalar(1)
		geoms = append(geoms, graph.Stack([]*graph.Array{f, f, f}, 0))
		sizes = append(sizes, graph.Stack([]*graph.Array{one, f, one}, 0)) // radius, half length
	}
	return bodies.Params{Mass: own.Mass.Mul(factors), Inertia: own.Inertia.Mul(graph.Stack(inertias, 0)),
		Com: own.Com.Mul(factors.ExpandDims(1)), Pos: own.Pos.Mul(graph.Stack(parents, 0)),
		GeomPos: own.GeomPos.Mul(graph.Stack(geoms, 0)), Size: own.Size.Mul(graph.Stack(sizes, 0))}
}
