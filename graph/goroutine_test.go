package graph

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A function is traced by one goroutine. What uses its arrays in another one is refused with that reason, whatever it
// calls, and the trace goes on.
func TestOtherGoroutine(t *testing.T) {
	for name, use := range map[string]func(x *Array) *Array{
		"op":                func(x *Array) *Array { return Sin(x) },
		"op of the same":    func(x *Array) *Array { return Mul(x, x) },
		"op with a number":  func(x *Array) *Array { return Add(1, x) },
		"vmap captures":     func(x *Array) *Array { return VMap(func(y *Array) *Array { return Add(y, x) })(Iota(4)) },
		"vmap captures all": func(x *Array) *Array { return VMap(func(y *Array) *Array { return Mul(x, x) })(Iota(4)) },
		"vmap returns":      func(x *Array) *Array { return VMap(func(y *Array) *Array { return x })(Iota(4)) },
		"vmap over it":      func(x *Array) *Array { return VMap(func(y *Array) *Array { return Sin(y) })(x) },
		"vmap in vmap": func(x *Array) *Array {
			return VMap(VMap(func(y *Array) *Array { return Add(y, x) }))(Reshape(Iota(4), 2, 2))
		},
		"scan": func(x *Array) *Array {
			y, _ := Scan(func(c, i *Array) (*Array, None) { return Add(c, x), None{} }, Zeros(x.shape), Iota(4))
			return y
		},
		"while": func(x *Array) *Array {
			return While(func(c *Array) *Array { return Lt(Sum(c), 3) }, func(c *Array) *Array { return Add(c, x) },
				Zeros(x.shape))
		},
		"cond": func(x *Array) *Array {
			return Cond(Gt(Sum(Iota(3)), 1), func() *Array { return Sin(x) }, func() *Array { return x })
		},
		"grad": func(x *Array) *Array {
			return Grad(func(y *Array) *Array { return Sum(Mul(x, y)) })(Ones(x.shape))
		},
		"grad of it": func(x *Array) *Array { return Grad(func(y *Array) *Array { return Sum(Square(y)) })(x) },
		"psum":       func(x *Array) *Array { return PSum(x, "lane") },
		"gather":     func(x *Array) *Array { return AllGather(x, "lane") },
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			p, traced := Trace("f", func(x *Array) *Array {
				return VMap(func(x *Array) *Array {
					done := make(chan struct{})
					go func() {
						defer close(done)
						err = Try(func() { use(x) })
					}()
					<-done
					return Sin(x)
				}, AxisName("lane"))(x)
			}, Abstract(ShapeOf(Float32, 2, 3)))
			require.ErrorContains(t, err, "f32[3] belongs to a function that another goroutine traces")
			require.ErrorContains(t, err, "call everything that uses its arrays")
			require.ErrorContains(t, err, "goroutine_test.go:")
			require.NoError(t, traced)
			require.Equal(t, 1, p.Graph.Count(), p.Graph)
		})
	}
}

// A goroutine may trace its own functions at the same time. An array that outlives its function gives an error.
func TestGoroutinesOfTheirOwn(t *testing.T) {
	var leaked *Array
	var own error
	_, err := Trace("f", func(x *Array) *Array {
		leaked = x
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, own = Trace("g", VMap(func(z *Array) *Array { return Sin(z) }), Abstract(x.shape))
		}()
		<-done
		return Sin(x)
	}, Abstract(ShapeOf(Float32, 3)))
	require.NoError(t, err)
	require.NoError(t, own)
	done := make(chan error)
	go func() { done <- Try(func() { Sin(leaked) }) }()
	require.ErrorContains(t, <-done, "is used outside of the function that made it")
}
