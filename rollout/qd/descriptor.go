package qd

import (
	"fmt"
	"slices"
	"strings"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/rollout/episode"
	"xlarun/rollout/settings"
)

// Describer is a pointer to a struct of settings that make the descriptor of an environment's episodes. Errors are
// *settings.Error.
type Describer interface {
	Make(env envs.Environment) (episode.Descriptor, error)
}

var descriptors = settings.NewRegistry[Describer]("qd", "descriptor", "descriptor")

// MustRegisterDescriptor adds a descriptor with its default settings, for --descriptor. It panics if the name is taken.
func MustRegisterDescriptor(name string, defaults Describer) {
	descriptors.MustRegister(name, func() Describer { return settings.Copy(defaults) })
}

func init() {
	MustRegisterDescriptor("env", &envDescriptor{})
	MustRegisterDescriptor("observations", &Observations{Elements: []int{0, 1}})
}

// envDescriptor is the environment's own descriptor.
type envDescriptor struct{}

func (*envDescriptor) Make(env envs.Environment) (episode.Descriptor, error) {
	d, ok := episode.EnvDescriptor(env)
	if !ok {
		without := ""
		if len(env.Spec().Objectives) > 1 {
			without = ". --archive nsga2 needs none"
		}
		return nil, settings.Wrong("descriptor", "env", "observations, or a descriptor of your own: %s describes no "+
			"behavior; these environments do: %s%s", env.Spec().ID, strings.Join(describing(), ", "), without)
	}
	return d, nil
}

// describing lists the environments with a descriptor of their own.
func describing() (ids []string) {
	for _, id := range envs.IDs() {
		_ = envs.Try(func() {
			if env, err := envs.Make(id); err == nil && len(env.Spec().Descriptor.Dims) > 0 {
				ids = append(ids, id)
			}
		})
	}
	return ids
}

// Observations describes an episode by the means of some elements of its observations, each in the state before a step.
type Observations struct {
	Elements []int     `set:"elements" min:"0" max:"16777215" wants:"numbers of elements from 0, with commas between" help:"elements of the flat observation, from 0"`
	Bounds   []float64 `set:"bounds" zero:"those of the observation" wants:"the least and the greatest mean of each element: LOW,HIGH,LOW,HIGH" help:"least and greatest mean of each element; by default those of the observation"`
}

// Make checks the elements against the observation.
func (o *Observations) Make(env envs.Environment) (episode.Descriptor, error) {
	box, ok := env.Spec().Observation.(envs.Box)
	if !ok {
		return nil, settings.Wrong("descriptor", "observations", "env: the observation of %s is %s, no Box",
			env.Spec().ID, env.Spec().Observation)
	}
	if len(o.Elements) == 0 {
		return nil, settings.Wrong("descriptor.elements", "", "one element or more, as in 0,1")
	}
	size := box.Shape().Size()
	space := envs.Box{Dims: []int{len(o.Elements)}, DType: graph.Float32}
	if n := len(o.Bounds); n != 0 && n != 2*len(o.Elements) {
		return nil, settings.Wrong("descriptor.bounds", fmt.Sprintf("%d numbers", n), "%d: the least and the greatest "+
			"mean of each of the elements", 2*len(o.Elements))
	}
	indices := make([]int32, len(o.Elements))
	for i, e := range o.Elements {
		if e >= size || slices.Contains(o.Elements[:i], e) {
			return nil, settings.Wrong("descriptor.elements", e, "different numbers from 0 to %d, elements of the "+
				"observation of %s", size-1, env.Spec().ID)
		}
		indices[i] = int32(e)
		low, high := box.Low[0], box.High[0]
		if len(box.Low) > 1 {
			low, high = box.Low[e], box.High[e]
		}
		if len(o.Bounds) > 0 {
			low, high = o.Bounds[2*i], o.Bounds[2*i+1]
		}
		if !(low < high) || low <= -envs.Unbounded || high >= envs.Unbounded {
			return nil, settings.Wrong("descriptor.bounds", fmt.Sprintf("%g,%g", low, high), "finite bounds of "+
				"element %d, the lower one first: give them all by --descriptor.bounds LOW,HIGH,…", e)
		}
		space.Low, space.High = append(space.Low, low), append(space.High, high)
	}
	return episode.StepMean{Bounds: space, Of: func(s episode.Step, _ any) *graph.Array {
		return graph.Take(graph.Flatten1D(s.Observation).Convert(graph.Float32), graph.Int32s(indices), 0)
	}}, nil
}
