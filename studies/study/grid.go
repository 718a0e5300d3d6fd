package study

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
)

// ErrExhausted is returned by Ask if the sampler has nothing left to try.
var ErrExhausted = errors.New("every point of the grid has been tried")

// Grid tries every point of a space once, in an order shuffled by the seed. Points that other trials have tried count.
type Grid struct {
	space  Space
	points []gridPoint
	next   int
	used   map[string]bool
	seen   map[int64]bool
	at     cursor
	order  []int
	seed   int64
}

type gridPoint map[string]float64

// maxGrid is the highest number of points of a grid.
const maxGrid = 1 << 17

// NewGrid makes a grid of a space: all values of categorical, integer and stepped parameters, and `points` quantiles of
// others.
func NewGrid(space Space, points int) (*Grid, error) {
	g := &Grid{space: space, seed: math.MinInt64}
	g.forget()
	all := []gridPoint{{}}
	for _, p := range space {
		values := p.Distribution.quantiles(points)
		size := 0
		for _, point := range all {
			if size++; p.holds(space, point) {
				size += len(values) - 1
			}
		}
		if size > maxGrid {
			return nil, fmt.Errorf("the grid has more than %d points: give coarser steps, or another sampler", maxGrid)
		}
		next := make([]gridPoint, 0, size)
		for _, point := range all {
			if !p.holds(space, point) {
				next = append(next, point)
				continue
			}
			for _, x := range values {
				q := maps.Clone(point)
				q[p.Name] = x
				next = append(next, q)
			}
		}
		all = next
	}
	g.points = all
	return g, nil
}

// quantiles returns all values of a discrete distribution, and as many quantiles as points of another one.
func (d Distribution) quantiles(points int) (all []float64) {
	n := d.size()
	if d.Kind == Int && d.Log && n > float64(points) || math.IsInf(n, 0) {
		for i := range points {
			u := .5
			if points > 1 {
				u = float64(i) / float64(points-1)
			}
			x := d.At(u)
			if len(all) == 0 || x != all[len(all)-1] {
				all = append(all, x)
			}
		}
		return all
	}
	if n > maxGrid {
		n = maxGrid + 1 // NewGrid refuses it
	}
	for i := range int(n) {
		if d.Kind == Categorical {
			all = append(all, float64(i))
		} else {
			all = append(all, d.step(float64(i)))
		}
	}
	if d.single() {
		return []float64{d.At(0)}
	}
	return all
}

// Size returns the number of points.
func (g *Grid) Size() int { return len(g.points) }

// Name implements Sampler.
func (*Grid) Name() string { return "grid" }

// forget forgets all trials: the next view has them.
func (g *Grid) forget() {
	g.next, g.used, g.seen, g.at = 0, map[string]bool{}, map[int64]bool{}, cursor{}
}

func (g *Grid) key(params map[string]float64) string {
	text := ""
	for _, p := range g.space {
		if x, ok := params[p.Name]; ok {
			text += fmt.Sprintf("%s=%x;", p.Name, math.Float64bits(p.Distribution.Round(x)))
		}
	}
	return text
}

func (*Grid) needs() dependency { return needsParams }

// Relative implements Sampler.
func (g *Grid) Relative(v *View) (map[string]float64, error) {
	if g.order == nil || g.seed != v.Seed {
		g.seed, g.order = v.Seed, (&View{Seed: v.Seed, Number: -1}).Rand("grid").Perm(len(g.points))
		g.next = 0
	}
	over, _ := v.newTrials(&g.at)
	for _, list := range [][]*FrozenTrial{over, v.Running} {
		for _, t := range list {
			if !g.seen[t.Number] && len(t.Params) > 0 {
				g.seen[t.Number] = true
				g.used[g.key(t.Params)] = true
			}
		}
	}
	for ; g.next < len(g.order); g.next++ {
		point := g.points[g.order[g.next]]
		if !g.used[g.key(point)] {
			return point, nil
		}
	}
	return nil, ErrExhausted
}

// Independent implements Sampler.
func (g *Grid) Independent(_ *View, name string, _ Distribution) (float64, error) {
	i := slices.IndexFunc(g.space, func(p Param) bool { return p.Name == name })
	if i < 0 {
		return 0, fmt.Errorf("the grid has no parameter %q: lay it over a space that has it", name)
	}
	return 0, fmt.Errorf("parameter %q does not belong to this point of the grid", name)
}
