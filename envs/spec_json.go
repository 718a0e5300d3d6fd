package envs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"xlarun/graph"
)

// specJSON is a Spec as programs in other languages write it.
type specJSON struct {
	Observation SpaceDescription `json:"observation"`
	Action      SpaceDescription `json:"action"`
	MaxSteps    int              `json:"max_steps"`
	Threshold   float64          `json:"threshold"`
}

// SpaceDescription is a space for programs in other languages, as JSON: of n choices, of several choices, or a box.
type SpaceDescription struct {
	Type  string    `json:"type,omitempty"` // "Discrete", "MultiDiscrete", "Box"; it may be missing
	N     *int      `json:"n,omitempty"`
	NVec  []int     `json:"nvec,omitempty"` // number of values of each element of a MultiDiscrete
	Low   boundJSON `json:"low,omitempty"`  // of each element, row-major; null or missing means no bound
	High  boundJSON `json:"high,omitempty"`
	Shape []int     `json:"shape"`
	DType string    `json:"dtype"` // NumPy's name
}

// boundJSON is a number for all elements, or a list with one for each, row-major.
type boundJSON []*float64

func (b *boundJSON) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '[' {
		return json.Unmarshal(text, (*[]*float64)(b))
	}
	*b = make(boundJSON, 1)
	return json.Unmarshal(text, &(*b)[0])
}

func (b boundJSON) numbers(none float64) []float64 {
	if len(b) == 0 {
		return []float64{none}
	}
	all := make([]float64, len(b))
	for i, x := range b {
		all[i] = none
		if x != nil {
			all[i] = *x
		}
	}
	return all
}

// jsonTypes are the names of element types of spaces.
var jsonTypes = map[string]graph.DType{"float32": graph.Float32, "int32": graph.Int32, "uint8": graph.Uint8,
	"bool": graph.Bool}

// ReadSpec reads a Spec without an ID from JSON:
//
//	{"observation": {"low": [-1, null], "high": [1, null], "shape": [2], "dtype": "float32"},
//	 "action": {"n": 3}, "max_steps": 200, "threshold": 195}
//
// A space is {"n": 3} (Discrete), {"nvec": [3, 2]} (MultiDiscrete) or a Box, or what DescribeSpace returns of these.
// Bounds are a number for all elements or a list, null for none. shape and dtype (float32, int32, uint8 or bool) of a
// Box may be missing where the caller knows the shape of the observations and of the actions; nil: it does not.
// threshold is Spec.RewardThreshold and may be missing.
func ReadSpec(text []byte, observation, action *graph.Shape) (Spec, error) {
	var j specJSON
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&j); err != nil {
		if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
			return Spec{}, fmt.Errorf("%s is a %s, want another type", wrong.Field, wrong.Value)
		}
		return Spec{}, fmt.Errorf("it is no JSON of a Spec (%w)", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Spec{}, errors.New("there is text after the JSON of the Spec")
	}
	s := Spec{MaxSteps: j.MaxSteps, RewardThreshold: j.Threshold}
	var err error
	if s.Observation, err = j.Observation.space(observation); err != nil {
		return s, fmt.Errorf("observation: %w", err)
	}
	if s.Action, err = j.Action.space(action); err != nil {
		return s, fmt.Errorf("action: %w", err)
	}
	if j.MaxSteps < 1 || j.MaxSteps > math.MaxInt32 {
		return s, fmt.Errorf("max_steps: got %d, want the step limit of an episode, 1 or more", j.MaxSteps)
	}
	return s, nil
}

func (j SpaceDescription) space(known *graph.Shape) (Space, error) {
	box := Box{Low: j.Low.numbers(-Unbounded), High: j.High.numbers(Unbounded), Dims: j.Shape, DType: graph.Float32}
	hasBounds, kind, choices := j.Low != nil || j.High != nil, "Box", Space(nil)
	if j.N != nil {
		kind, choices = "Discrete", Discrete{N: *j.N}
	} else if j.NVec != nil {
		kind, choices = "MultiDiscrete", MultiDiscrete{N: j.NVec}
	}
	if choices != nil {
		d := DescribeSpace(choices)
		if hasBounds || j.N != nil && j.NVec != nil || j.Shape != nil && !slices.Equal(j.Shape, d.Shape) ||
			j.DType != "" && j.DType != d.DType {
			return nil, errors.New("got several kinds of space, want n, nvec, or low, high, shape and dtype")
		}
	}
	if j.Type != "" && j.Type != kind {
		return nil, fmt.Errorf("got the type %q of a %s, want Discrete with n, MultiDiscrete with nvec, or Box", j.Type,
			kind)
	}
	if choices != nil {
		return fitting(choices, known)
	}
	if j.DType != "" {
		d, ok := jsonTypes[j.DType]
		if !ok {
			return nil, fmt.Errorf("got the dtype %q, want float32, int32, uint8 or bool", j.DType)
		}
		box.DType = d
	}
	if known != nil {
		if j.DType == "" {
			box.DType = known.DType
		}
		if j.Shape == nil {
			box.Dims = known.Dims
		}
	} else if !hasBounds && j.Shape == nil && j.DType == "" {
		return nil, errors.New(`got nothing, want a space such as {"n": 2}`)
	}
	n := max(len(box.Low), len(box.High))
	box.Low, box.High = spread(box.Low, n), spread(box.High, n)
	if err := box.Check(); err != nil {
		return nil, err
	}
	return fitting(box, known)
}

// spread repeats a single bound.
func spread(bound []float64, n int) []float64 {
	if len(bound) == 1 {
		return slices.Repeat(bound, n)
	}
	return bound
}

func fitting(s Space, known *graph.Shape) (Space, error) {
	if known != nil && !s.Shape().Equal(*known) {
		return nil, fmt.Errorf("got %s, of %s, want a space of %s", s, s.Shape(), *known)
	}
	return s, nil
}

// DescribeSpace returns a space for programs in other languages. The type of a space of your own is its String.
func DescribeSpace(s Space) SpaceDescription {
	shape := s.Shape()
	out := SpaceDescription{Shape: append([]int{}, shape.Dims...), DType: strings.ToLower(shape.DType.String())}
	switch s := s.(type) {
	case Discrete:
		out.Type, out.N = "Discrete", &s.N
	case MultiDiscrete:
		out.Type, out.NVec = "MultiDiscrete", s.N
	case Box:
		out.Type, out.Low, out.High = "Box", nullable(s.Low, shape.Size()), nullable(s.High, shape.Size())
	default:
		out.Type = s.String()
	}
	return out
}

// nullable returns n bounds, nil for none. There may be a single one for all elements.
func nullable(bounds []float64, n int) (all []*float64) {
	for _, x := range spread(bounds, n) {
		bound := &x
		if math.Abs(x) >= Unbounded {
			bound = nil
		}
		all = append(all, bound)
	}
	return all
}
