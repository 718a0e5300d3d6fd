package episode

import (
	"slices"
	"strconv"

	"xlarun/envs"
	"xlarun/graph"
)

// Param is a parameter of an environment that is one number, or a size, as --env-param sets it.
type Param struct {
	Name    string // "mass-cart", of the field MassCart
	Default string
	Wants   string // the possible values: "a number above 0"
	With    string // the size without which the environment lacks it: "factors=1"; "": none
}

// Params lists the parameters of an environment that are one number, in the order of their fields, then its sizes.
func Params(env envs.Environment) (all []Param, err error) {
	leaves, names, ranges, err := scalars(env)
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		if name == "" {
			continue
		}
		value, err := graph.Float(leaves[i])
		if err != nil {
			return nil, err
		}
		noun := "a number"
		if leaves[i].DType().IsInt() {
			noun = "a whole number"
		}
		all = append(all, Param{name, strconv.FormatFloat(value, 'g', -1, 32), noun + ranges[i].String(), ""})
	}
	for _, size := range sizesOf(env) {
		all = append(all, Param{size.Name, strconv.Itoa(size.Value), size.Wants, ""})
	}
	return all, nil
}

// Added lists the parameters that an environment has only with a size of 1 instead of 0.
func Added(env envs.Environment) (all []Param, err error) {
	own, err := Params(env)
	if err != nil {
		return nil, err
	}
	for _, size := range sizesOf(env) {
		if size.Value != 0 {
			continue
		}
		sized, err := envs.TraitsOf(env).Resize(size.Name, 1)
		if err != nil {
			continue
		}
		with, err := Params(sized)
		if err != nil {
			return nil, err
		}
		for _, p := range with {
			if !slices.ContainsFunc(own, func(o Param) bool { return o.Name == p.Name }) {
				p.With = size.Name + "=1"
				all = append(all, p)
			}
		}
	}
	return all, nil
}
