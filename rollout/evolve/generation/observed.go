package generation

import (
	"xlarun/graph"
	"xlarun/rollout/policy"
	"xlarun/rollout/population"
)

// Observed holds the statistics of observations: moments, or unobserved if observations are not normalized.
type Observed interface {
	// Scale returns how these statistics normalize observations.
	Scale() Scaling
	// merge joins the statistics of both; more has the same type.
	merge(more Observed) Observed
	// fold merges rows, those of all tiles in the population's order.
	fold() Observed
}

// Scaling says how the observations of a member are normalized.
type Scaling interface {
	// params returns the parameters of a member, given those of the policy that evolves.
	params(own any) any
}

// moments are the statistics of observations that are normalized.
type moments policy.Moments

func (m moments) Scale() Scaling { return scaled(policy.Moments(m).Scale()) }

func (m moments) merge(more Observed) Observed {
	return moments(policy.Moments(m).Merge(policy.Moments(more.(moments))))
}

func (m moments) fold() Observed {
	return moments(population.FoldRows(policy.Moments(m), policy.Moments.Merge))
}

type scaled policy.Scale

func (s scaled) params(genome any) any {
	return policy.Normalized{Own: genome, Observation: policy.Scale(s)}
}

// unobserved and unscaled are Observed and Scaling without normalization.
type (
	unobserved struct{}
	unscaled   struct{}
)

func (unobserved) Scale() Scaling          { return unscaled{} }
func (unobserved) merge(Observed) Observed { return unobserved{} }
func (unobserved) fold() Observed          { return unobserved{} }
func (unscaled) params(genome any) any     { return genome }

// observedOf returns the statistics of an episode.Summary.
func observedOf(m *policy.Moments) Observed {
	if m == nil {
		return unobserved{}
	}
	return moments(*m)
}

// observed joins the statistics of one tile's members, without padding. each has those of each member, leaves
// [sides, lanes, …], or nil.
func (p *Program) observed(tile *graph.Array, each *policy.Moments) Observed {
	if each == nil {
		return unobserved{}
	}
	all := graph.MapTree(func(a *graph.Array) *graph.Array { return a.MergeAxes(0, 2) }, *each)
	first := p.Groups.Tile(tile).Mul(p.Groups.Lanes)
	group := graph.Iota(all.Count.Dim(0)).Rem(p.Groups.Lanes).Add(first)
	all.Count = graph.Select(group.Lt(p.Groups.Items), all.Count, graph.ZerosLike(all.Count))
	return moments(all.MergeRows())
}
