package bench

import (
	"context"
	"fmt"

	"xlarun/cmd/xlarun/machine"
	"xlarun/rollout/plan"
)

// oddSize is a population whose time is put beside those of its neighbours.
type oddSize struct{ population, hidden, steps int }

func (s oddSize) String() string {
	return fmt.Sprintf("%d x mlp:%d,%d x %d", s.population, s.hidden, s.hidden, s.steps)
}

// memberSteps is the work of a generation.
func (s oddSize) memberSteps() float64 { return float64(s.population) * float64(s.steps) }

// oddSizes: sizes that divide by nothing, the nearest round population, and a round size all over.
var oddSizes = []struct {
	name string
	size oddSize
}{
	{"odd", oddSize{777, 48, 333}},
	{"odd-768", oddSize{768, 48, 333}},
	{"odd-1024", oddSize{1024, 64, 500}},
}

// oddMost is the most that an odd size may take of a round one's time per member and step.
const oddMost = 1.5

// timeOdd times whole generations of the three, in turn. The strategy is one that samples its members one by one: others
// take no odd population.
func timeOdd(ctx context.Context, b *bench, name string) ([]row, error) {
	lines := make([]row, len(oddSizes))
	seconds := make([][]float64, len(oddSizes))
	for i := range b.flags.repeats {
		fmt.Fprintf(b.Out, "%s: repeat %d of %d\n", name, i+1, b.flags.repeats)
		for j, o := range oddSizes {
			c := cartPole(o.size.population, o.size.hidden)
			c.Strategy, c.Steps, c.Tune = "simplega", o.size.steps, plan.TuneOff
			s, err := b.generationSeconds(ctx, c, 10)
			if err != nil {
				return nil, err
			}
			seconds[j] = append(seconds[j], s)
		}
	}
	for j, o := range oddSizes {
		lines[j] = row{Name: o.name, Ours: machine.Median(seconds[j])}
		lines[j].MemberStep = lines[j].Ours / o.size.memberSteps()
	}
	for j, o := range oddSizes[1:] {
		times := lines[0].MemberStep / lines[j+1].MemberStep
		lines[0].Beside = append(lines[0].Beside, besideSize{o.size.String(), times})
		lines[0].note += fmt.Sprintf("%s: %s takes %.2f times as long per member and step as %s (wanted: at most %g)\n", name, oddSizes[0].size, times, o.size, oddMost)
	}
	return lines, nil
}
