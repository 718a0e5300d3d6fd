package xlabridge

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"xlarun/graph"
	"xlarun/internal/long"
)

// Convolutions of images and their gradients equal those of Conv, also for sizes that fill only a part of a register,
// of a block of windows or of a group of images.
func TestConvImages(t *testing.T) {
	t.Parallel()
	b := open(t, Options{})
	type arrays = []*graph.Array
	r := rand.New(rand.NewPCG(3, 4))
	pick := func(from ...int) int { return from[r.IntN(len(from))] }
	n := 6
	if long.On() {
		n = 40
	}
	var plain, kernels []sample
	for i := range n {
		images, height, width := pick(1, 2, 3, 7, 33, 130), pick(1, 2, 5, 7, 8, 13), pick(1, 2, 5, 7, 8, 13)
		ins, outs := pick(1, 2, 3, 5, 16, 17, 33), pick(1, 3, 8, 15, 16, 17, 31, 32, 33, 70)
		strides, pads := [2]int{pick(1, 1, 2, 3), pick(1, 1, 2, 3)}, [2][2]int{{pick(0, 1, 2), pick(0, 1, 3)},
			{pick(0, 1, 2), pick(0, 1, 3)}}
		kernel := [2]int{min(pick(1, 2, 3, 4), height+pads[0][0]+pads[0][1]), min(pick(1, 2, 3, 4), width+pads[1][0]+
			pads[1][1])}
		what := fmt.Sprintf("case %d: %d images %dx%dx%d, kernel %v, %d out, strides %v, pads %v", i, images, height,
			width, ins, kernel, outs, strides, pads)
		random := func(dims ...int) *graph.Array {
			return graph.Case{Lo: -1, Hi: 1}.Input(r, graph.ShapeOf(graph.Float32, dims...))
		}
		in := arrays{random(images, height, width, ins), random(kernel[0], kernel[1], ins, outs)}
		all := func(conv func(x, w *graph.Array) *graph.Array) func(in arrays) arrays {
			return func(in arrays) arrays {
				y := conv(in[0], in[1])
				weighted := func(x, w *graph.Array) *graph.Array {
					y := conv(x, w)
					return graph.Sum(
						graph.Mul(y, graph.Sin(graph.Convert(graph.Reshape(graph.Iota(y.Size()), y.Dims()...),
							graph.Float32))))
				}
				dx, dw := graph.Grads2(weighted)(in[0], in[1])
				return arrays{y, dx, dw}
			}
		}
		plain = append(plain, sample{what, all(func(x, w *graph.Array) *graph.Array {
			return graph.Conv(x, w, graph.Strides(strides[0], strides[1]), graph.Padding(pads[0], pads[1]))
		}), in})
		kernels = append(kernels, sample{what, all(func(x, w *graph.Array) *graph.Array {
			return graph.ConvImages(x, w, strides, pads)
		}), in})
	}
	want := together(t, b, plain)
	got := together(t, always(b), kernels)
	for i, c := range kernels {
		for k, of := range []string{"results", "gradients of images", "gradients of weights"} {
			closeArrays(t, want[i][k], got[i][k], 2e-4, c.name+": "+of)
		}
	}
}
