package episode

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

// EnvParam is a parameter of an environment with another value than its default: a number, or a range from which each
// episode draws. The numbers are inputs of a program (see Bound), so that changing them compiles nothing.
type EnvParam struct {
	Name      string  // "mass-cart", of the field MassCart
	Low, High float64 // the range, bounds included; equal for a number
	leaf      int     // in the tree of parameters; -1: a size of the environment, which is no data
	low, high *graph.Array
}

// envKey is folded into an episode's key for the parameters that it draws. It is larger than any step's number.
const envKey = 1<<31 - 2

// envPrefix goes before the names of the parameters among a program's inputs.
const envPrefix = "env."

// rangeMark stands between the bounds of a range.
const rangeMark = ".."

// ReadEnvParams reads parameters of an environment from texts by name: "0.2", or "0.1..0.3" for a range. sized is the
// environment with the sizes among them, to which the parameters belong; other sizes make another program.
//
// It returns a *settings.Error for an unknown name, for a value outside of envs.RangeOf, and for one that is not a
// finite float32 or, of an integer parameter, not a whole number. The same holds for a range with the larger bound
// first, and for a size that env cannot have.
func ReadEnvParams(env envs.Environment, given settings.Pairs) (sized envs.Environment, all []EnvParam, err error) {
	if len(given) == 0 {
		return env, nil, nil
	}
	var sizes []EnvParam
	for _, name := range given.Names() {
		if size, ok := envs.SizeOf(env, name); ok {
			if env, err = resize(env, size, given[name]); err != nil {
				return nil, nil, err
			}
			if !size.Room {
				size, _ = envs.SizeOf(env, name)
				value := float64(size.Value)
				sizes = append(sizes, EnvParam{Name: name, Low: value, High: value, leaf: -1})
			}
		}
	}
	all, err = readData(env, given)
	return env, append(all, sizes...), err
}

// resize returns an environment with a size that fits a text.
func resize(env envs.Environment, size envs.Size, text string) (envs.Environment, error) {
	if size.Room { // the larger bound decides; readData reports what is no number
		if low, high, isRange := strings.Cut(text, rangeMark); isRange {
			text = high
		} else {
			text = low
		}
	}
	x, whole := numberOf(text, true)
	if size.Room && (!whole || x <= float64(size.Value)) {
		return env, nil
	}
	if whole {
		sized, err := envs.TraitsOf(env).Resize(size.Name, int(min(max(x, math.MinInt32), math.MaxInt32)))
		if err == nil {
			return sized, nil
		}
	}
	return nil, settings.Wrong(settings.EnvParam, size.Name+"="+text, "%s for %s of %s", size.Wants, size.Name,
		env.Spec().ID)
}

// readData reads the parameters that are data.
func readData(env envs.Environment, given settings.Pairs) (all []EnvParam, err error) {
	leaves, names, ranges, err := scalars(env)
	if err != nil {
		return nil, err
	}
	for _, name := range given.Names() {
		if size, ok := envs.SizeOf(env, name); ok && !size.Room {
			continue
		}
		text := given[name]
		index := -1
		for i, n := range names {
			if n == name {
				index = i
			}
		}
		if index < 0 {
			return nil, noParam(env, name, text, names)
		}
		wrong := func(wants string) error {
			return settings.Wrong(settings.EnvParam, name+"="+text, "%s for %s of %s, or two with %s between them, "+
				"\"0.1%s0.3\", from which each episode draws one", wants, name, env.Spec().ID, rangeMark, rangeMark)
		}
		whole := leaves[index].DType().IsInt()
		within := ranges[index]
		wants := "a number" + within.String() + " that a float32 holds"
		low, high, isRange := strings.Cut(text, rangeMark)
		if whole {
			within.Low, within.High = max(within.Low, math.MinInt32), min(within.High, math.MaxInt32)
			wants = "a whole number" + within.String()
		}
		if !isRange {
			high = low
		}
		p := EnvParam{Name: name, leaf: index}
		var ok [2]bool
		p.Low, ok[0] = numberOf(low, whole)
		p.High, ok[1] = numberOf(high, whole)
		if !ok[0] || !ok[1] || !within.Holds(p.Low) || !within.Holds(p.High) {
			return nil, wrong(wants)
		}
		if p.Low > p.High {
			return nil, settings.Wrong(settings.EnvParam, name+"="+text, "the smaller bound first: %s=%s%s%s", name,
				high, rangeMark, low)
		}
		if whole && p.drawn() && p.High == math.MaxInt32 { // the exclusive bound of the draw would overflow
			return nil, settings.Wrong(settings.EnvParam, name+"="+text,
				"a range of whole numbers that ends with %d at most", math.MaxInt32-1)
		}
		p.low, p.high = p.array(p.Low, whole), p.array(p.High, whole)
		all = append(all, p)
	}
	return all, nil
}

// noParam returns the error for an unknown parameter.
func noParam(env envs.Environment, name, text string, names []string) error {
	id := env.Spec().ID
	var known []string
	for _, n := range names {
		if n != "" {
			known = append(known, n)
		}
	}
	for _, size := range sizesOf(env) {
		known = append(known, size.Name)
	}
	if len(known) == 0 {
		return settings.Wrong(settings.EnvParam, name+"="+text, "nothing: %s has no parameters that are numbers, "+
			"leave it out", id)
	}
	added, err := Added(env)
	if err != nil {
		return err
	}
	for _, p := range added {
		if p.Name == name {
			return settings.Wrong(settings.EnvParam, name+"="+text, "%s beside it: %s has %s only with that", p.With,
				id, name)
		}
	}
	hint := ""
	if near := envs.Nearest(name, known); near != "" {
		hint = "; did you mean " + near + "?"
	}
	return settings.Wrong(settings.EnvParam, name+"="+text, "one of the parameters that %s has: %s%s", id,
		strings.Join(known, ", "), hint)
}

// sizesOf lists the sizes of an environment that are no data.
func sizesOf(env envs.Environment) (sizes []envs.Size) {
	if all := envs.TraitsOf(env).Sizes; all != nil {
		for _, size := range all() {
			if !size.Room {
				sizes = append(sizes, size)
			}
		}
	}
	return sizes
}

// scalars returns the leaves of an environment's parameters, the name of each leaf that is a number ("" for others),
// and its range.
func scalars(env envs.Environment) (leaves []*graph.Array, names []string, ranges []envs.Range, err error) {
	err = graph.Try(func() {
		var tree *graph.Tree
		params := env.DefaultParams()
		leaves, tree = graph.Flatten(params)
		for i, a := range leaves {
			name := ""
			if d := a.DType(); a.Rank() == 0 && (d == graph.Float32 || d == graph.Int32) {
				name = paramName(tree.Path(i))
			}
			names, ranges = append(names, name), append(ranges, envs.RangeOf(params, tree.Path(i)))
		}
	})
	return leaves, names, ranges, err
}

// paramName returns the name of a parameter, given its path in the tree: "max-steps" for ".MaxSteps".
func paramName(path string) string {
	field := []rune(strings.TrimPrefix(path, "."))
	var b strings.Builder
	for i, r := range field {
		if unicode.IsUpper(r) && i > 0 && field[i-1] != '.' && (!unicode.IsUpper(field[i-1]) || i+1 < len(field) &&
			unicode.IsLower(field[i+1])) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// numberOf reads a parameter's number.
func numberOf(text string, whole bool) (x float64, ok bool) {
	x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(x) {
		return 0, false
	}
	if whole {
		return x, x == math.Trunc(x)
	}
	return x, math.Abs(x) <= math.MaxFloat32 && (x == 0 || float32(x) != 0)
}

// array returns a number in the parameter's dtype.
func (EnvParam) array(x float64, whole bool) *graph.Array {
	if whole {
		return graph.Of(int32(x))
	}
	return graph.Of(float32(x))
}

// drawn reports whether each episode draws the parameter.
func (p EnvParam) drawn() bool { return p.Low < p.High }

// value returns the parameter in the episode with a key.
func (p EnvParam) value(key random.Key) *graph.Array {
	if !p.drawn() {
		return p.low
	}
	key = random.FoldIn(random.FoldIn(key, envKey), p.leaf)
	shape := graph.ShapeOf(p.low.DType())
	if p.low.DType().IsInt() {
		return random.Randint(key, shape, p.low, p.high.Add(1))
	}
	u := random.Uniform(key, shape, 0, 1)
	return graph.Clamp(p.low, p.low.Add(u.Mul(p.high.Sub(p.low))), p.high)
}

// inputs adds the parameter's numbers to a program's inputs.
func (p EnvParam) inputs(in map[string]*graph.Array) {
	if p.leaf < 0 {
		return
	}
	in[envPrefix+p.Name] = p.low
	if p.drawn() {
		in[envPrefix+p.Name+".high"] = p.high
	}
}

// bound returns the parameter with a program's inputs instead of its numbers.
func (p EnvParam) bound(in map[string]*graph.Array) EnvParam {
	if a, ok := in[envPrefix+p.Name]; ok {
		p.low = a
	}
	if a, ok := in[envPrefix+p.Name+".high"]; ok {
		p.high = a
	}
	return p
}

// ParamsOf returns the environment's parameters in the episode with a key. If drawn is false, they are the same in all
// episodes.
func (r *Rollout) ParamsOf(key random.Key) (params any, drawn bool) {
	for _, g := range r.Given {
		drawn = drawn || g.drawn()
	}
	return r.envParams(key), drawn
}

// envParams returns the environment's parameters in the episode with a key.
func (r *Rollout) envParams(key random.Key) any {
	p := r.EnvParams
	if p == nil {
		p = r.Env.DefaultParams()
	}
	if len(r.Given) == 0 {
		return p
	}
	leaves, tree := graph.Flatten(p)
	var given []*graph.Array
	var indices []int
	for _, g := range r.Given {
		if g.leaf < 0 {
			continue
		}
		if g.low == nil || g.leaf >= len(leaves) {
			graph.Throw("Rollout", "the parameter %s of %s was not read by ReadEnvParams, want one that was", g.Name,
				r.Env.Spec().ID)
		}
		given, indices = append(given, g.value(key)), append(indices, g.leaf)
	}
	if len(given) == 0 {
		return p
	}
	all := append([]*graph.Array(nil), leaves...)
	for i, a := range graph.Once(given) {
		all[indices[i]] = a
	}
	return tree.Unflatten(all)
}

// EnvTexts returns the given parameters as ReadEnvParams reads them.
func (r *Rollout) EnvTexts() settings.Pairs { return envTexts(r.Given) }

func envTexts(given []EnvParam) settings.Pairs {
	var p settings.Pairs
	for _, g := range given {
		text := strconv.FormatFloat(g.Low, 'g', -1, 64)
		if g.drawn() {
			text = fmt.Sprintf("%s%s%s", text, rangeMark, strconv.FormatFloat(g.High, 'g', -1, 64))
		}
		p = p.With(g.Name, text)
	}
	return p
}
