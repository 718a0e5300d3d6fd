package episode

import (
	"strconv"

	"xlarun/envs"
	"xlarun/graph"
)

// Param is a parameter of an environment that is one number, or a size, as --env-param sets it.
type Param struct {
	Name    string // "mass-cart", of the field MassCart
	Default string
	Wants   string // the possible values: "a number above 0"
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
		all = append(all, Param{name, strconv.FormatFloat(value, 'g', -1, 32), noun + ranges[i].String()})
	}
	for _, size := range sizesOf(env) {
		all = append(all, Param{size.Name, strconv.Itoa(size.Value), size.Wants})
	}
	return all, nil
}
