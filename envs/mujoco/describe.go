package mujoco

import (
	"slices"

	"xlarun/envs"
	"xlarun/envs/bodies"
	"xlarun/graph"
)

// omniFlag describes an episode by the place where it ends, instead of by feet. Its reward is for going anywhere with
// --env-param forward-reward-weight=0 (QDax's ant_omni and humanoid_omni).
var omniFlag = Flag{"omni", false}

func (t Task) omni() bool { return slices.Contains(t.Flags, Flag{omniFlag.Name, true}) }

// reach is how far from the start a last place counts, in m (QDax's bounds).
const reach = 30

// descriptor has the bounds and the names of what describes an episode.
func (t Task) descriptor() (space envs.Box, names []string) {
	switch {
	case t.omni():
		return envs.Symmetric(reach, reach), []string{"x (m)", "y (m)"}
	case len(t.Feet) == 0:
		return envs.Box{}, nil
	}
	for _, foot := range t.Feet {
		names = append(names, "share of time of "+foot+" on the ground")
	}
	return envs.Positive(slices.Repeat([]float64{1}, len(t.Feet))...), names
}

// lastPlace is x and y of the first body.
func (t Task) lastPlace(s State, _ Params) *graph.Array {
	return cut(s.Data.Q, 0, 2).Clamp(-reach, reach)
}

// onGround is 1 for each foot that the ground pushes after a step, else 0: the directional ("uni") tasks of Nilsson and
// Cully, "Policy gradient assisted MAP-elites" (2021), and of QDax. Feet that touch each other count as well.
func (t Task) onGround(_, next State, _ *graph.Array, p Params) *graph.Array {
	force := next.Frames.Force
	if force == nil {
		_, _, nu := t.Model().Sizes()
		o := t.options()
		o.Frames = bodies.Contacts
		force = t.Model().Forward(next.Data, zeros(nu), t.numbers(p, next.Design), o).Force
	}
	var feet []*graph.Array
	for _, foot := range t.Feet {
		feet = append(feet, force.Index(t.geom(foot).Body).Square().Sum())
	}
	return graph.Stack(feet, 0).Gt(0).Convert(graph.Float32)
}

// geom is a geom by its name.
func (t Task) geom(name string) bodies.Geom {
	for _, g := range t.Model().Geoms {
		if g.Name == name {
			return g
		}
	}
	panic("no geom " + name)
}
