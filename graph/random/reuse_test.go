package random_test

import (
	"errors"
	"runtime"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"

	g "xlarun/graph"
	"xlarun/graph/random"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

type key = random.Key

func draw(k key) *g.Array { return random.Normal(k, f32(3)) }

// drawSub draws with one half of a key and returns the other.
func drawSub(k key) (key, *g.Array) {
	a, b := random.Split2(k)
	return a, draw(b)
}

type keyed struct {
	Key key
	X   *g.Array
}

// Each function is checked as it is, with a concrete key, and inside of a program, with a key that is traced.
var keyUses = []struct {
	name string
	f    func(k key) any
	want string // "": no reuse
}{
	{"two draws", func(k key) any { return g.Add(draw(k), random.Uniform(k, f32(3), 0, 1)) },
		"random.Uniform: it gets the key that random.Normal at reuse_test.go"},
	{"draw and Split", func(k key) any { return g.Add(draw(k), draw(random.Split(k, 2).At(0))) },
		"random.Split: it gets the key that random.Normal"},
	{"two Splits", func(k key) any {
		a, _ := random.Split2(k)
		_, b := random.Split2(k)
		return g.Add(draw(a), draw(b))
	}, "random.Split2: it gets the key that random.Split2"},
	{"two calls of a function", func(k key) any {
		x := draw(k)
		return x.Add(draw(k))
	}, "called at reuse_test.go"},
	{"key of a batch", func(k key) any {
		keys := random.Split(k, 3)
		return g.Add(draw(keys.At(1)), draw(keys.At(1)))
	}, "random.Normal"},
	{"same key made twice", func(k key) any {
		return g.Add(draw(random.FoldIn(k, 3)), draw(random.FoldIn(k, 3)))
	}, "random.Normal"},
	{"FoldIn makes a key of Split", func(k key) any {
		return g.Add(draw(random.Split(k, 5).At(2)), draw(random.FoldIn(k, 2)))
	}, "random.Normal"},
	{"two maps over keys", func(k key) any {
		keys := random.Split(k, 3)
		return g.Add(g.VMap(draw)(keys), g.VMap(draw)(keys))
	}, "random.Normal"},
	{"a map and a loop over keys", func(k key) any {
		keys := random.Split(k, 3)
		return g.Add(g.VMap(draw)(keys), g.Map(draw, keys))
	}, "random.Normal"},
	{"draw in Scan with a key from outside", func(k key) any {
		x, _ := g.Scan(func(c, i *g.Array) (*g.Array, g.None) { return c.Add(draw(k)), g.None{} }, g.Zeros(f32(3)),
			g.Iota(5))
		return x
	}, "random.Normal: it gets the same key in each iteration of the loop at reuse_test.go"},
	{"draw in Scan with a key that is folded from outside", func(k key) any {
		x, _ := g.Scan(func(c, i *g.Array) (*g.Array, g.None) {
			return c.Add(draw(random.FoldIn(k, 7))), g.None{}
		}, g.Zeros(f32(3)), g.Iota(5))
		return x
	}, "in each iteration of the loop"},
	{"draw in Scan with a constant key", func(k key) any {
		x, _ := g.Scan(func(c, i *g.Array) (*g.Array, g.None) {
			return c.Add(draw(random.New(3))), g.None{}
		}, draw(k), g.Iota(5))
		return x
	}, "in each iteration of the loop"},
	{"draw in ForiLoop", func(k key) any {
		return g.ForiLoop(0, 5, func(i, c *g.Array) *g.Array { return c.Add(draw(k)) }, g.Zeros(f32(3)))
	}, "in each iteration of the loop"},
	{"draw in While", func(k key) any {
		return g.While(func(c *g.Array) *g.Array { return c.Sum().Lt(9) }, func(c *g.Array) *g.Array {
			return c.Add(draw(k).Abs())
		}, g.Zeros(f32(3)))
	}, "in each iteration of the loop"},
	{"draw in the condition of While", func(k key) any {
		return g.While(func(c *g.Array) *g.Array { return c.Sum().Lt(draw(k).Sum()) }, func(c *g.Array) *g.Array {
			return c.Add(1)
		}, g.Zeros(f32(3)))
	}, "in each iteration of the loop"},
	{"draw in WhileBounded", func(k key) any {
		return g.WhileBounded(func(c *g.Array) *g.Array { return c.Sum().Lt(9) }, func(c *g.Array) *g.Array {
			return c.Add(draw(k).Abs())
		}, g.Zeros(f32(3)), 10)
	}, "in each iteration of the loop"},
	{"draw in an outer loop's iteration", func(k key) any {
		return g.ForiLoop(0, 4, func(i, c *g.Array) *g.Array {
			sub := random.FoldIn(k, i)
			return g.ForiLoop(0, 5, func(_, c *g.Array) *g.Array { return c.Add(draw(sub)) }, c)
		}, g.Zeros(f32(3)))
	}, "in each iteration of the loop"},
	{"inner number alone", func(k key) any {
		return g.ForiLoop(0, 4, func(i, c *g.Array) *g.Array {
			return g.ForiLoop(0, 5, func(j, c *g.Array) *g.Array { return c.Add(draw(random.FoldIn(k, j))) }, c)
		}, g.Zeros(f32(3)))
	}, "in each iteration of the loop"},
	{"key in the carry is handed on unchanged", func(k key) any {
		return g.ForiLoop(0, 5, func(_ *g.Array, c keyed) keyed {
			return keyed{c.Key, c.X.Add(draw(c.Key))}
		}, keyed{k, g.Zeros(f32(3))})
	}, "in each iteration of the loop"},
	{"key in the carry of While", func(k key) any {
		return g.While(func(c keyed) *g.Array { return c.X.Sum().Lt(4) }, func(c keyed) keyed {
			return keyed{c.Key, c.X.Add(draw(c.Key))}
		}, keyed{k, g.Zeros(f32(3))})
	}, "in each iteration of the loop"},
	{"used half is handed on", func(k key) any {
		return g.ForiLoop(0, 5, func(_ *g.Array, c keyed) keyed {
			_, sub := random.Split2(c.Key)
			return keyed{sub, c.X.Add(draw(sub))}
		}, keyed{k, g.Zeros(f32(3))})
	}, "random.Split2: it gets the key that random.Normal at reuse_test.go"},
	{"carry that was drawn from before", func(k key) any {
		return g.ForiLoop(0, 5, func(_ *g.Array, c keyed) (next keyed) {
			next.Key, next.X = drawSub(c.Key)
			return next
		}, keyed{k, draw(k)})
	}, "random.Split2: it gets the key that random.Normal"},
	{"key of the carry and the result", func(k key) any {
		c := g.ForiLoop(0, 5, func(i *g.Array, c keyed) keyed {
			return keyed{c.Key, draw(random.FoldIn(c.Key, i))}
		}, keyed{k, g.Zeros(f32(3))})
		return draw(c.Key).Add(draw(k))
	}, "random.Normal"},
	{"branch and after it", func(k key) any {
		x := g.Cond(draw(random.FoldIn(k, 1)).Sum().Gt(-99), func() *g.Array { return draw(k) },
			func() *g.Array { return g.Zeros(f32(3)) })
		return x.Add(draw(k))
	}, "random.Normal"},
	{"twice in a branch", func(k key) any {
		i := random.Randint(random.FoldIn(k, 1), g.ShapeOf(g.Int32), 1, 2)
		return g.Switch(i, func() *g.Array { return g.Zeros(f32(3)) }, func() *g.Array { return draw(k).Add(draw(k)) })
	}, "random.Normal"},
	{"twice in a lane", func(k key) any {
		return g.VMap(func(k key) *g.Array { return g.Add(draw(k), draw(k)) })(random.Split(k, 4))
	}, "random.Normal"},
	{"twice in a gradient", func(k key) any {
		return g.Grad(func(x *g.Array) *g.Array { return draw(k).Add(draw(k)).Mul(x).Sum() })(g.Ones(f32(3)))
	}, "random.Normal"},
	{"twice in Checkpoint", func(k key) any {
		return g.Checkpoint(func(k key) *g.Array { return draw(k).Add(draw(k)) })(k)
	}, "random.Normal"},
	{"a lane's loop", func(k key) any {
		return g.VMap(func(k key) *g.Array {
			return g.ForiLoop(0, 5, func(i, c *g.Array) *g.Array { return c.Add(draw(k)) }, g.Zeros(f32(3)))
		})(random.Split(k, 4))
	}, "in each iteration of the loop"},
	{"two draws with a clone", func(k key) any {
		k = random.Clone(k)
		return g.Add(draw(k), draw(k))
	}, "random.Normal"},
	{"a line that runs three times", func(k key) any {
		x := g.Zeros(f32(3))
		for range 3 {
			x = x.Add(draw(k))
		}
		return x
	}, "random.Normal: it is called twice with the same key"},
	{"a loop over keys and one of them", func(k key) any {
		keys := random.Split(k, 3)
		return g.Map(draw, keys).Add(draw(keys.At(0)))
	}, "random.Normal"},
	{"key of While and the result", func(k key) any {
		c := g.While(func(c keyed) *g.Array { return c.X.Sum().Lt(4) }, func(c keyed) keyed {
			return keyed{c.Key, c.X.Add(1)}
		}, keyed{k, g.Zeros(f32(3))})
		return draw(c.Key).Add(draw(k))
	}, "random.Normal"},
	{"condition and body of While", func(k key) any {
		return g.While(func(c keyed) *g.Array { return c.X.Lt(draw(c.Key)).All() }, func(c keyed) (next keyed) {
			next.Key, next.X = drawSub(c.Key)
			return next
		}, keyed{k, g.Zeros(f32(3))})
	}, "random.Split2: it gets the key that random.Normal"},
	{"key that Switch chose", func(k key) any {
		i := g.Of(int32(1))
		chosen := g.Switch(i, func() key { return random.FoldIn(k, 1) }, func() key { return random.FoldIn(k, 2) })
		return draw(chosen).Add(draw(random.FoldIn(k, 2)))
	}, "random.Normal"},
	{"key that Checkpoint made", func(k key) any {
		return draw(g.Checkpoint(func(k key) key { return random.FoldIn(k, 1) })(k)).Add(draw(random.FoldIn(k, 1)))
	}, "random.Normal"},
	{"key behind a barrier with a large array", func(k key) any {
		return draw(key{g.Barrier(k.Data, g.Zeros(f32(300)))[0]}).Add(draw(k))
	}, "random.Normal"},
	{"clone that an iteration draws from and hands on", func(k key) any {
		return g.ForiLoop(0, 5, func(_ *g.Array, c keyed) keyed {
			clone := random.Clone(k)
			x := draw(c.Key)
			return keyed{clone, x.Add(draw(clone))}
		}, keyed{random.FoldIn(k, 1), g.Zeros(f32(3))})
	}, "got in an earlier iteration of the loop"},

	{"one draw", func(k key) any { return draw(k) }, ""},
	{"draw and FoldIn", func(k key) any {
		return draw(k).Add(draw(random.FoldIn(k, 0))).Add(draw(random.FoldIn(k, 1)))
	}, ""},
	{"Split", func(k key) any { a, b := random.Split2(k); return draw(a).Add(draw(b)) }, ""},
	{"different keys of a batch", func(k key) any {
		keys := random.Split(k, 3)
		return g.Add(draw(keys.At(1)), draw(keys.At(2)))
	}, ""},
	{"shared noise of lanes", func(k key) any {
		return g.VMap(func(x *g.Array) *g.Array { return x.Add(draw(k)) })(g.Iota(4).Convert(g.Float32))
	}, ""},
	{"lanes of one key", func(k key) any {
		return g.VMap(func(i *g.Array) *g.Array { return draw(random.FoldIn(k, i.Rem(2))) })(g.Iota(4))
	}, ""},
	{"one draw used in each iteration", func(k key) any {
		x := draw(k)
		return g.ForiLoop(0, 5, func(i, c *g.Array) *g.Array { return c.Add(x) }, g.Zeros(f32(3)))
	}, ""},
	{"number of the iteration", func(k key) any {
		return g.ForiLoop(0, 5, func(i, c *g.Array) *g.Array { return c.Add(draw(random.FoldIn(k, i))) },
			g.Zeros(f32(3)))
	}, ""},
	{"numbers of both loops", func(k key) any {
		return g.ForiLoop(0, 4, func(i, c *g.Array) *g.Array {
			sub := random.FoldIn(k, i)
			return g.ForiLoop(0, 5, func(j, c *g.Array) *g.Array { return c.Add(draw(random.FoldIn(sub, j))) }, c)
		}, g.Zeros(f32(3)))
	}, ""},
	{"one iteration", func(k key) any {
		return g.ForiLoop(3, 4, func(i, c *g.Array) *g.Array { return c.Add(draw(k)) }, g.Zeros(f32(3)))
	}, ""},
	{"Isolate", func(k key) any {
		return g.Isolate(g.Of(int32(3)), g.Zeros(f32(3)), k, func(c *g.Array, k key) *g.Array { return draw(k) })
	}, ""},
	{"split in the carry", func(k key) any {
		return g.ForiLoop(0, 5, func(_ *g.Array, c keyed) (next keyed) {
			next.Key, next.X = drawSub(c.Key)
			return next
		}, keyed{k, g.Zeros(f32(3))})
	}, ""},
	{"split in the carry of While, and the last key", func(k key) any {
		c := g.While(func(c keyed) *g.Array { return c.X.Sum().Lt(4) }, func(c keyed) (next keyed) {
			next.Key, next.X = drawSub(c.Key)
			return next
		}, keyed{k, g.Zeros(f32(3))})
		return draw(c.Key)
	}, ""},
	{"keys that a loop made", func(k key) any {
		last, keys := g.Scan(func(k key, _ g.None) (key, key) { return random.Split2(k) }, k, g.None{}, g.Length(4))
		return []*g.Array{draw(last), g.VMap(draw)(keys)}
	}, ""},
	{"rows of a loop of one iteration", func(k key) any {
		keys := random.Split(k, 1)
		return g.While(func(c keyed) *g.Array { return c.X.Lt(1).All() }, func(c keyed) keyed {
			i := c.X.Index(0).Convert(g.Int32)
			row := key{g.DynamicIndex(keys.Data, i, 0)}
			return keyed{c.Key, c.X.Add(1).Add(draw(row).Mul(0))}
		}, keyed{k, g.Zeros(f32(3))})
	}, ""},
	{"the same numbers on purpose", func(k key) any {
		return g.ForiLoop(0, 5, func(i, c *g.Array) *g.Array { return c.Add(draw(random.Clone(k))) },
			draw(k))
	}, ""},
	{"clones in two loops", func(k key) any {
		return g.ForiLoop(0, 4, func(_, c *g.Array) *g.Array {
			return g.ForiLoop(0, 5, func(_, c *g.Array) *g.Array { return c.Add(draw(random.Clone(k))) }, c)
		}, g.Zeros(f32(3)))
	}, ""},
	{"branches", func(k key) any {
		first, second := random.Split2(k)
		return g.Cond(draw(first).Sum().Gt(0), func() *g.Array { return draw(second) },
			func() *g.Array { return random.Uniform(second, f32(3), 0, 1) })
	}, ""},
	{"branches of lanes", func(k key) any {
		return g.VMap(func(k key) *g.Array {
			first, second := random.Split2(k)
			return g.Cond(draw(first).Sum().Gt(0), func() *g.Array { return draw(second) },
				func() *g.Array { return random.Uniform(second, f32(3), 0, 1) })
		})(random.Split(k, 4))
	}, ""},
	{"gradient of a loop", func(k key) any {
		return g.Grad(func(x *g.Array) *g.Array {
			out := g.ForiLoop(0, 5, func(i, c *g.Array) *g.Array {
				return c.Mul(draw(random.FoldIn(k, i))).Sin()
			}, x)
			return out.Sum()
		})(g.Ones(f32(3)))
	}, ""},
	{"gradient of Checkpoint", func(k key) any {
		return g.Grad(func(x *g.Array) *g.Array {
			return g.Checkpoint(func(x *g.Array) *g.Array { return draw(k).Mul(x).Sin() })(x).Sum()
		})(g.Ones(f32(3)))
	}, ""},
	{"forward pass of one's own", func(k key) any {
		type in struct {
			K key
			X *g.Array
		}
		f := g.CustomVjp(func(a in) *g.Array { return draw(a.K).Mul(a.X) }, func(a in) (*g.Array, *g.Array) {
			return draw(a.K).Mul(a.X), draw(a.K)
		}, func(z, ct *g.Array) in { return in{key{g.Zeros(g.ShapeOf(g.Uint32, 2))}, z.Mul(ct)} })
		return f(in{k, g.Ones(f32(3))})
	}, ""},
	{"condition of While with the key of the carry", func(k key) any {
		return g.While(func(c keyed) *g.Array { return c.X.Lt(draw(random.FoldIn(c.Key, 5))).All() },
			func(c keyed) (next keyed) {
				next.Key, next.X = drawSub(c.Key)
				return next
			}, keyed{k, g.Zeros(f32(3))})
	}, ""},
	{"no lanes", func(k key) any { return g.VMap(draw)(random.Split(k, 0)) }, ""},
	{"number of the lane", func(k key) any {
		return g.VMap(func(*g.Array) *g.Array { return draw(random.FoldIn(k, g.AxisIndex("lane"))) },
			g.AxisName("lane"))(g.Iota(4))
	}, ""},
	{"two calls of the host", func(key) any {
		words := func() key { return key{g.HostCall("two_words", []g.Shape{g.ShapeOf(g.Uint32, 2)}, g.Of(1))[0]} }
		return draw(words()).Add(draw(words()))
	}, ""},
	{"elements of a large array", func(k key) any {
		x := random.Normal(k, f32(300))
		element := func(i int) *g.Array { return draw(random.FoldIn(k, g.Bitcast(x.Index(i), g.Uint32))) }
		return element(0).Add(element(1))
	}, ""},
	{"numbers that nobody knows", func(k key) any {
		x := random.Uniform(random.FoldIn(k, 100), f32(300), 0, 10)
		at := func(i int) *g.Array { return x.Index(i).Floor().Convert(g.Int32) }
		above := x.Index(0).Gt(3).Convert(g.Int32)
		either := g.SelectTree(x.Index(1).Gt(2), random.FoldIn(k, 101), random.FoldIn(k, 102))
		return []*g.Array{draw(random.FoldIn(k, at(0))), draw(random.FoldIn(k, at(1))), draw(random.FoldIn(k, above)),
			draw(random.FoldIn(k, 0)), draw(either), draw(random.FoldIn(k, 101))}
	}, ""},
	{"a number that nobody knows, twice", func(k key) any {
		n := random.Uniform(random.FoldIn(k, 100), f32(300), 0, 10).Index(0).Convert(g.Int32)
		return draw(random.FoldIn(k, n)).Add(draw(random.FoldIn(k, n)))
	}, "random.Normal"},
	{"what a loop counts to", func(k key) any {
		n := g.ForiLoop(0, 10, func(_, c *g.Array) *g.Array { return c.Add(1) }, g.Of(int32(0)))
		return draw(random.FoldIn(k, n)).Add(draw(random.FoldIn(k, 2)))
	}, ""},
	{"keys by what is added up in a loop", func(k key) any {
		x := random.Uniform(random.FoldIn(k, 100), f32(300), 0, 10).Index(0)
		_, y := g.Scan(func(c *g.Array, _ g.None) (*g.Array, *g.Array) {
			c = c.Add(x)
			return c, draw(random.FoldIn(k, c.Convert(g.Int32)))
		}, g.Scalar(0), g.None{}, g.Length(5))
		return y
	}, ""},
	{"keys that may be the same", func(k key) any {
		first, second := random.Split2(k)
		x, out := random.Normal(first, f32(300)), g.Zeros(f32(3))
		for i, k := range random.SplitN(second, 8) {
			chosen := random.FoldIn(k, x.Index(i).Gt(0).Convert(g.Uint32))
			out = out.Add(draw(chosen)).Add(draw(random.FoldIn(k, 1)))
		}
		return out
	}, ""},
	{"every distribution", func(k key) any {
		keys := random.SplitN(k, 12)
		return []*g.Array{random.Gamma(keys[0], f32(2), 2.), random.Beta(keys[1], f32(2), 2., 3.),
			random.Binomial(keys[2], f32(2), 9, .5), random.Poisson(keys[3], 3., 2),
			random.T(keys[4], f32(2), 3.), random.F(keys[5], f32(2), 3., 4.), random.Ball(keys[6], f32(2, 3), 2.),
			random.Permutation(keys[7], 5), random.Choice(keys[8], 5),
			random.DoubleSidedMaxwell(keys[9], f32(2), 0, 1), random.Wald(keys[10], f32(2), 1.),
			random.Categorical(keys[11], g.Zeros(f32(4)), -1)}
	}, ""},
}

func TestCheckKeys(t *testing.T) {
	g.RegisterHostFunction("two_words", func([]*g.Array) ([]*g.Array, error) {
		return []*g.Array{g.Zeros(g.ShapeOf(g.Uint32, 1, 2))}, nil
	})
	for _, c := range keyUses {
		for form, check := range map[string]func() error{
			"as it is": func() error { return random.CheckKeys(func() { c.f(random.New(5)) }) },
			"traced": func() error {
				return random.CheckKeys(func() {
					_, err := g.Trace("f", c.f, random.New(5))
					require.NoError(t, err)
				})
			},
			"in a function that is traced": func() (err error) {
				_, traced := g.Trace("f", func(k key) any {
					err = random.CheckKeys(func() { c.f(k) })
					return k
				}, random.New(5))
				require.NoError(t, traced)
				return err
			},
		} {
			err := check()
			if c.want == "" {
				require.NoError(t, err, "%s, %s", c.name, form)
				continue
			}
			reuse, one := err.(*random.KeyReuseError)
			require.True(t, one, "%s, %s: %v", c.name, form, err)
			require.ErrorContains(t, err, c.want, "%s, %s", c.name, form)
			require.Regexp(t, `^reuse_test.go:\d+`, reuse.First.Where)
			require.Regexp(t, `^reuse_test.go:\d+`, reuse.Second.Where)
		}
	}
}

// A program consumes keys each time it is called, on the interpreter as on a device.
func TestCheckKeysOfPrograms(t *testing.T) {
	client := xlatest.OpenCPU(t, 1)
	for name, c := range map[string]struct {
		calls func(f func(key) (*g.Array, error)) error
		want  string
	}{
		"one key twice": {func(f func(key) (*g.Array, error)) error {
			_, first := f(random.New(1))
			_, second := f(random.New(1))
			return errors.Join(first, second)
		}, "random.Normal: it gets the key that random.Normal at reuse_test.go:19, called at reuse_test.go"},
		"a draw and a call": {func(f func(key) (*g.Array, error)) error {
			k := random.New(1)
			random.Bits(k, g.Uint8, 3)
			_, err := f(k)
			return err
		}, "random.Normal: it gets the key that random.Bits at reuse_test.go"},
		"two keys": {func(f func(key) (*g.Array, error)) error {
			_, first := f(random.New(1))
			_, second := f(random.New(2))
			return errors.Join(first, second)
		}, ""},
		"traced only": {func(f func(key) (*g.Array, error)) error {
			for range 2 {
				if _, err := g.Trace("f", draw, random.New(1)); err != nil {
					return err
				}
			}
			return nil
		}, ""},
	} {
		for backend, f := range map[string]func() func(key) (*g.Array, error){
			"reference": func() func(key) (*g.Array, error) { return xlabridge.Jit(&xlabridge.Reference{}, draw) },
			"xla":       func() func(key) (*g.Array, error) { return xlabridge.Jit(client, draw) },
		} {
			var ran error
			err := random.CheckKeys(func() { ran = c.calls(f()) })
			require.NoError(t, ran)
			if c.want == "" {
				require.NoError(t, err, "%s, %s", name, backend)
			} else {
				require.ErrorContains(t, err, c.want, "%s, %s", name, backend)
			}
		}
	}
}

// A clone is the same one in all of the check, and another one than its original although its words are read.
func TestCheckKeysOfClones(t *testing.T) {
	k := random.New(1)
	require.NoError(t, random.CheckKeys(func() {
		clone := random.Clone(k)
		_, err := g.ToTensor(clone.Data)
		require.NoError(t, err)
		draw(k)
		draw(clone)
	}))
	require.ErrorContains(t, random.CheckKeys(func() {
		clone := random.Clone(k)
		draw(clone)
		interpret(t, draw, random.New(2))
		draw(clone)
	}), "random.Normal: it gets the key that random.Normal")
}

func interpret[A any](t *testing.T, f func(A) *g.Array, args A) {
	p, err := g.Trace("f", f, args)
	require.NoError(t, err)
	leaves, _ := g.Flatten(args)
	_, err = p.Interpret(leaves, nil)
	require.NoError(t, err)
}

// Runs of a program are no iterations of a loop in it, and may have no arguments.
func TestCheckKeysOfRuns(t *testing.T) {
	type in struct {
		Key   key
		First *g.Array
	}
	loop := func(a in) *g.Array {
		return g.ForiLoop(0, 2, func(i, c *g.Array) *g.Array {
			return c.Add(draw(random.FoldIn(a.Key, i.Add(a.First))))
		}, g.Zeros(f32(3)))
	}
	run := func(first int32) { interpret(t, loop, in{random.New(1), g.Of(first)}) }
	require.NoError(t, random.CheckKeys(func() { run(0); run(2) }))
	err := random.CheckKeys(func() {
		p, err := g.Trace("f", loop, in{random.New(1), g.Of(int32(0))})
		require.NoError(t, err)
		for first := range int32(2) {
			_, err = p.Interpret([]*g.Array{random.New(1).Data, g.Of(first)}, nil)
			require.NoError(t, err)
		}
	})
	require.ErrorContains(t, err, "random.Normal: it is called twice with the same key")
	require.ErrorContains(t, random.CheckKeys(func() {
		interpret(t, func(g.None) *g.Array { return draw(random.New(1)) }, g.None{})
		draw(random.New(1))
	}), "random.Normal: it gets the key that random.Normal")
}

// What programs got is freed after they ran. Other memory may come to lie there: what is known of two arrays of large
// programs is that they are not the same one.
func TestCheckKeysFreesArguments(t *testing.T) {
	const lanes = 1 << 16 // keys that are too many to be computed
	require.NoError(t, random.CheckKeys(func() {
		var freed []weak.Pointer[g.Array]
		for i := range uint32(3) {
			words, err := g.ToTensor(g.Full(g.ShapeOf(g.Uint32, lanes, 2), i))
			require.NoError(t, err)
			args := keyed{key{words.Array()}, g.Zeros(f32(3))}
			interpret(t, func(a keyed) *g.Array { return draw(a.Key.At(0)).Add(a.X) }, args)
			freed = append(freed, weak.Make(args.Key.Data), weak.Make(args.X))
		}
		runtime.GC()
		for _, f := range freed {
			require.Nil(t, f.Value())
		}
	}))
}

// An error that leaves the function comes back, also inside of another check.
func TestCheckKeysOfAFunctionThatFails(t *testing.T) {
	err := random.CheckKeys(func() {
		k := random.New(1)
		draw(k)
		require.ErrorContains(t, random.CheckKeys(func() { g.Map(draw, key{g.Zeros(f32())}) }), "Scan")
		require.NoError(t, random.CheckKeys(func() { draw(k) }))
		draw(k)
	})
	require.ErrorContains(t, err, "random.Normal: it gets the key that random.Normal")
}
