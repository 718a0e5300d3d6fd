package strategy

import (
	"xlarun/graph"
	"xlarun/rollout/population"
)

// Draws are the draws of the groups of a generation, each a D. Results are the same on every device and for any number
// of devices.
type Draws[D any] struct{ of population.Draws }

// DrawsOf gives draws their type.
func DrawsOf[D any](d population.Draws) Draws[D] { return Draws[D]{d} }

// Items returns the number of groups.
func (d Draws[D]) Items() int { return d.of.Items() }

// All returns the draws, leaves [Items, …]. Each device needs memory for all of it.
func (d Draws[D]) All() D { return d.of.All().(D) }

// Sum returns Σ weights[i]·draw i, leaf by leaf in float32, added up tile by tile in a fixed order. weights is
// f32[Items].
func (d Draws[D]) Sum(weights *graph.Array) D { return d.of.Sum(weights, nil).(D) }

// Outer returns Σ weights[i]·v·vᵀ with v = term(draw i), f32[n]: f32[n, n], added up as by Sum.
func (d Draws[D]) Outer(weights *graph.Array, term func(draw D) *graph.Array) *graph.Array {
	return d.of.Outer(weights, func(draw any) *graph.Array { return term(draw.(D)) })
}

// SumOf returns Σ weights[i]·term(draw i), as Draws.Sum. term returns a tree.
func SumOf[D, T any](d Draws[D], weights *graph.Array, term func(draw D) T) T {
	return d.of.Sum(weights, func(draw any) any { return term(draw.(D)) }).(T)
}

// MapOf returns term of every draw, leaves [Items, …]. Each device needs memory for all of it.
func MapOf[D, T any](d Draws[D], term func(draw D) T) T {
	return d.of.Map(func(draw any) any { return term(draw.(D)) }).(T)
}

// EachOf returns f of every group's number, i32[], leaves [Items, …]. The devices share the work, and each needs memory
// for all of it.
func EachOf[D, T any](d Draws[D], f func(group *graph.Array) T) T {
	return d.of.Each(func(group *graph.Array) any { return f(group) }).(T)
}
