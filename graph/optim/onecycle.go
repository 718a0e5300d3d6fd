package optim

import (
	"math"

	"xlarun/graph"
)

// CosineOneCycle rises from peak/div to peak along half a cosine in the fraction rise of the steps, and falls
// to peak/(div*finalDiv) in the others (Smith and Topin, "Super-convergence", 2018; usual: rise 0.3, div 25, finalDiv
// 1e4). With a rise of 1 it ends at the peak and falls at once; optax loses one of two corners at one step.
func CosineOneCycle(peak any, steps int, rise, div, finalDiv float64) Schedule {
	return interpolate("CosineOneCycle", peak, steps, func(from, to any, t *graph.Array) *graph.Array {
		return graph.Add(to, graph.Mul(.5, sub(from, to)).Mul(graph.Mul(math.Pi, t).Cos().Add(1)))
	}, corner{0, 1 / div}, corner{rise, 1}, corner{1, 1 / (div * finalDiv)})
}

// LinearOneCycle rises from peak/div to peak in the fraction rise of the steps, falls back to peak/div by the
// fraction fall, and on to peak/(div*finalDiv) by the end, along straight lines (usual: rise 0.3, fall 0.85, div 25,
// finalDiv 1e4).
func LinearOneCycle(peak any, steps int, rise, fall, div, finalDiv float64) Schedule {
	return interpolate("LinearOneCycle", peak, steps, func(from, to any, t *graph.Array) *graph.Array {
		return graph.Add(from, graph.Mul(sub(to, from), t))
	}, corner{0, 1 / div}, corner{rise, 1}, corner{fall, 1 / div}, corner{1, 1 / (div * finalDiv)})
}

// corner is a point of a schedule: a fraction of its steps, and of its peak.
type corner struct{ at, value float64 }

// interpolate goes from corner to corner and stays at the last.
func interpolate(name string, peak any, steps int, between func(from, to any, t *graph.Array) *graph.Array,
	corners ...corner) Schedule {
	return func(count *graph.Array) *graph.Array {
		positive(name, steps)
		count = wideCount(count)
		top := value(name, peak)
		last := corners[len(corners)-1]
		out := f32(mul(last.value, top))
		for i := len(corners) - 2; i >= 0; i-- {
			a, b := corners[i], corners[i+1]
			if !(a.at >= 0 && b.at >= a.at && b.at <= 1) {
				graph.Throw("optim."+name, "got the fractions %v and %v of its steps, want rising ones from 0 to 1",
					a.at, b.at)
			}
			from, to := int(a.at*float64(steps)), int(b.at*float64(steps))
			t := count.Sub(from).Div(float64(max(to-from, 1)))
			x, y := mul(a.value, top), mul(b.value, top)
			out = graph.Select(count.Lt(to), graph.Select(count.Le(from), f32(x), between(x, y, t)), out)
		}
		return out
	}
}
