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
	body := graph.Concatenate(0, graph.Ones(graph.ShapeOf(graph.Float32, len(m.Bodies)-design.Dim(0))),
		design.Mul(math.Log(1.5)).Exp())
	var parents, geoms []*graph.Array
	for _, b := range m.Bodies {
		parents = append(parents, body.Index(b.Parent))
	}
	for _, g := range m.Geoms {
		geoms = append(geoms, body.Index(g.Body))
	}
	own, cube, parent, geom := m.Params(), body.Mul(body).Mul(body), graph.Stack(parents, 0), graph.Stack(geoms, 0)
	size := graph.Stack([]*graph.Array{graph.OnesLike(geom), geom, graph.OnesLike(geom)}, 1) // radius, half length
	return bodies.Params{Mass: own.Mass.Mul(body), Com: own.Com.Mul(body.ExpandDims(1)), Size: own.Size.Mul(size),
		Pos: own.Pos.Mul(parent.ExpandDims(1)), GeomPos: own.GeomPos.Mul(geom.ExpandDims(1)),
		Inertia: own.Inertia.Mul(graph.Stack([]*graph.Array{cube, cube, body}, 1))}
}
