package notebook

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"xlarun/graph"
	"xlarun/internal/chart"
)

// Population shows the fitness of a population over generations: the best member, the median, and bands that hold all
// members and the middle half.
type Population struct {
	*Live
	mu   sync.Mutex
	rows []quantiles
}

// quantiles are the fitness of a generation's members.
type quantiles struct {
	x                           float64
	worst, low, median, up, top float64 // low and up hold the middle half; NaN if no fitness is finite
}

// NewPopulation returns a display of a population.
func NewPopulation() *Population {
	p := &Population{}
	p.Live = NewLive(p.picture)
	return p
}

// Add appends a generation. fitness is an array of any shape with the fitness of each member, higher is better. Members
// whose fitness is not finite do not count.
func (p *Population) Add(generation int, fitness *graph.Array) error {
	if !Active() {
		return nil
	}
	s, err := summarize(fitness)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.rows = append(p.rows, quantilesOf(float64(generation), s.values))
	if len(p.rows) > maxPoints { // every second generation, and always the newest
		kept := p.rows[:0]
		for i, r := range p.rows {
			if i%2 == 0 || i == len(p.rows)-1 {
				kept = append(kept, r)
			}
		}
		p.rows = kept
	}
	p.mu.Unlock()
	p.Update()
	return nil
}

func quantilesOf(x float64, values []float64) quantiles {
	values = slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return !finite(v) })
	slices.Sort(values)
	at := func(q float64) float64 { // between neighbors, as NumPy's default
		if len(values) == 0 {
			return math.NaN()
		}
		place := q * float64(len(values)-1)
		i := int(place)
		j := min(i+1, len(values)-1)
		part := place - float64(i)
		return (1-part)*values[i] + part*values[j]
	}
	return quantiles{x, at(0), at(.25), at(.5), at(.75), at(1)}
}

func (p *Population) picture() (fragment, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.rows) == 0 {
		return "", "no generation yet"
	}
	last := p.rows[len(p.rows)-1]
	c := &chart.Chart{XLabel: "generation", YLabel: "fitness", Counts: true}
	xs := make([]float64, len(p.rows))
	median, top := make([]float64, len(p.rows)), make([]float64, len(p.rows))
	for i, r := range p.rows {
		xs[i], median[i], top[i] = r.x, r.median, r.top
	}
	bands := []func(quantiles) (low, high float64){
		func(q quantiles) (float64, float64) { return q.worst, q.top },
		func(q quantiles) (float64, float64) { return q.low, q.up },
	}
	for _, band := range bands {
		stretches(xs, func(i int) bool { return finite(median[i]) }, func(from, to int) {
			b := chart.Band{Color: palette[0]}
			for _, r := range p.rows[from:to] {
				low, high := band(r)
				b.Low = append(b.Low, chart.Point{X: r.x, Y: low})
				b.High = append(b.High, chart.Point{X: r.x, Y: high})
			}
			c.Add(b)
		})
	}
	addLine(c, "best "+number(last.top), xs, top, 1)
	addLine(c, "median "+number(last.median), xs, median, 0)
	c.Legend("all, middle half", chart.Band{Color: palette[0]})
	text = fmt.Sprintf("generation %.0f: best %s, median %s, worst %s", last.x, number(last.top), number(last.median),
		number(last.worst))
	return draw(c, 260), text
}
