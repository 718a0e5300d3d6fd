package strategy

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/rollout/policy"
	"xlarun/rollout/policy/genome"
	"xlarun/rollout/population"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// plainNEAT is NEAT in plain Go, written from the paper, without padding: lists and maps, one member after the other.
// It has no random numbers of its own; it reads those of the strategy.
type plainNEAT struct {
	*NEAT
	genomes     []plainGenome
	species     []plainSpecies
	births      []plainBirth
	nodes       int // numbers so far
	innovations int
	founded     int
	generation  int
	best        float64
	improved    int
	refused     int
	champion    int
	threshold   float32 // of compatibility
	confirmed   float64 // moving mean of the fitness of champions in the next generation
}

type plainNode struct {
	number, activation, aggregation int
	bias                            float64
}

// plainGene is a connection between nodes with these numbers.
type plainGene struct {
	number, from, to int
	weight           float64
	on               bool
}

type plainGenome struct {
	nodes []plainNode
	genes []plainGene
}

func (g plainGenome) clone() plainGenome {
	return plainGenome{slices.Clone(g.nodes), slices.Clone(g.genes)}
}

// byNumber returns the genes by innovation number, and the largest number.
func (g plainGenome) byNumber() (m map[int]plainGene, last int) {
	m, last = map[int]plainGene{}, -1
	for _, x := range g.genes {
		m[x.number], last = x, max(last, x.number)
	}
	return m, last
}

type plainSpecies struct {
	number, improved int
	best             float64
	representative   plainGenome
	members          []int
}

// plainBirth is a birth. A split and a link have the numbers of what they are made from; -1: none.
type plainBirth struct {
	parent, other  int
	copied         bool
	split          int // innovation number of the gene
	node, halves   int
	from, to, link int // numbers of the nodes, and of the new gene
}

// distance is δ, equation 1 of the paper. It rounds as the strategy does, so that the same distances tie.
func (p *plainNEAT) distance(a, b plainGenome) float32 {
	as, lastA := a.byNumber()
	bs, lastB := b.byNumber()
	var excess, disjoint, matching, difference float32
	for _, x := range a.genes {
		y, ok := bs[x.number]
		switch {
		case ok:
			matching++
			difference += float32(math.Abs(x.weight - y.weight))
		case x.number > lastB:
			excess++
		default:
			disjoint++
		}
	}
	for number := range bs {
		if _, ok := as[number]; !ok && number > lastA {
			excess++
		} else if !ok {
			disjoint++
		}
	}
	n := float32(max(len(a.genes), len(b.genes)))
	if n < max(1, float32(p.Small.Value)) { // genomes without genes are equal
		n = 1
	}
	genes := float32(p.Excess.Value)*excess + float32(p.Disjoint.Value)*disjoint
	return genes/n + float32(p.WeightDifference.Value)*(difference/max(1, matching))
}

// speciate puts each genome into the first species that it is compatible with.
func (p *plainNEAT) speciate() {
	for i := range p.species {
		p.species[i].members = nil
	}
	for i, g := range p.genomes {
		home, nearest := -1, float32(math.Inf(1))
		for k, s := range p.species {
			d := p.distance(g, s.representative)
			if d <= p.threshold {
				home = k
				break
			}
			if d < nearest && len(p.species) == p.MaxSpecies {
				home, nearest = k, d
			}
		}
		if home < 0 {
			p.founded++
			home = len(p.species)
			p.species = append(p.species, plainSpecies{number: p.founded, best: math.Inf(-1), representative: g,
				improved: p.generation - 1})
		}
		p.species[home].members = append(p.species[home].members, i)
	}
	p.species = slices.DeleteFunc(p.species, func(s plainSpecies) bool { return len(s.members) == 0 })
	if step := float32(p.ThresholdStep.Value); p.TargetSpecies > 0 {
		p.threshold = max(step, p.threshold+step*float32(cmp.Compare(len(p.species), p.TargetSpecies)))
	}
}

// tell is a generation of the paper: species, their offspring, and who is born to whom. u are each member's lots, and
// drawn are the lots with which species draw their representatives.
func (p *plainNEAT) tell(fitness []float64, u [][]float32, drawn []float32) {
	p.generation++
	for i, b := range p.births {
		if b.copied && b.parent == p.champion {
			if math.IsInf(fitness[i], -1) {
				break // it failed
			}
			if p.confirmed += (fitness[i] - p.confirmed) / 4; math.IsInf(p.confirmed, 0) || math.IsNaN(p.confirmed) {
				p.confirmed = fitness[i]
			}
			break
		}
	}
	p.champion = slices.Index(fitness, slices.Max(fitness))
	if b := slices.Max(fitness); b > p.best {
		p.best, p.improved = b, p.generation
	}
	p.speciate()
	for k := range p.species {
		s := &p.species[k]
		slices.SortStableFunc(s.members, func(a, b int) int { return cmp.Compare(fitness[b], fitness[a]) })
		if b := fitness[s.members[0]]; b > s.best {
			s.best, s.improved = b, p.generation
		}
	}
	counts := p.offspring(fitness)

	// Each representative is drawn from its species. The children are compared with it.
	reached := make([]map[int]map[int]bool, len(p.genomes))
	for i, g := range p.genomes {
		reached[i] = g.descendants()
	}
	for k := range p.species {
		s := &p.species[k]
		lot := drawn[s.members[0]]
		s.representative = p.genomes[s.members[lotOf(lot, len(s.members))]].clone()
	}
	p.births, p.refused = nil, 0
	for k, count := range counts {
		for rank := range count {
			p.births = append(p.births, p.birth(k, rank, fitness, u[len(p.births)]))
		}
	}
	for i := range p.births {
		b := &p.births[i]
		p.mutate(b, reached[b.parent], u[i])
	}
	p.number()
}

// lotOf chooses a number below n.
func lotOf(lot float32, n int) int { return min(int(lot*float32(n)), n-1) }

// offspring shares fitness within species.
func (p *plainNEAT) offspring(fitness []float64) []int {
	best := func(s plainSpecies) float64 { return fitness[s.members[0]] }
	order := make([]int, len(p.species))
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(best(p.species[b]), best(p.species[a])) })
	stale := p.generation - p.improved
	focused := stale > 0 && math.Mod(float64(stale), p.Refocus.Value) == 0
	least := 0.
	for _, f := range fitness {
		if !math.IsInf(f, -1) { // of a member that failed
			least = min(least, f)
		}
	}
	shares, total, allowing := make([]float64, len(p.species)), 0., 0.
	equal := make([]float64, len(p.species))
	for rank, k := range order {
		s := p.species[k]
		allowed := rank == 0 || float64(p.generation-s.improved) < p.Stagnation.Value
		if focused {
			allowed = rank < 2
		}
		if allowed {
			for _, m := range s.members {
				if !math.IsInf(fitness[m], -1) {
					shares[k] += fitness[m] - least
				}
			}
			shares[k] /= float64(len(s.members))
			total += shares[k]
			equal[k] = 1
			allowing++
		}
	}
	if total == 0 { // nobody is better than the worst: all species that may have the same share
		shares, total = equal, allowing
	}
	counts, sum, end := make([]int, len(shares)), 0., 0
	for k, x := range shares {
		sum += x
		to := int(math.RoundToEven(sum / total * float64(len(fitness))))
		counts[k], end = to-end, to
	}
	return counts
}

// birth chooses the parents of the child with a rank among those of species k.
func (p *plainNEAT) birth(k, rank int, fitness []float64, u []float32) plainBirth {
	none := plainBirth{split: -1, node: -1, halves: -1, from: -1, to: -1, link: -1}
	members := p.species[k].members
	if float64(rank) < p.Elites.Value && float64(len(members)) > p.EliteSize.Value && rank < len(members) {
		none.parent, none.other, none.copied = members[rank], members[rank], true
		return none
	}
	parent := func(k int, lot float32) int {
		m := p.species[k].members
		return m[lotOf(lot, max(1, int(math.RoundToEven(p.Survival.Value*float64(len(m))))))]
	}
	one := parent(k, u[0])
	two := one
	if float64(u[3]) < p.CrossoverRate.Value {
		if float64(u[2]) < p.InterspeciesRate.Value {
			k = lotOf(u[1], len(p.species))
		}
		two = parent(k, u[4])
	}
	better := cmp.Or(cmp.Compare(fitness[one], fitness[two]),
		cmp.Compare(len(p.genomes[two].genes), len(p.genomes[one].genes)), cmp.Compare(two, one))
	if better < 0 {
		one, two = two, one
	}
	none.parent, none.other = one, two
	return none
}

// descendants finds the nodes that each node reaches, by walking from it.
func (g plainGenome) descendants() map[int]map[int]bool {
	all := map[int]map[int]bool{}
	for _, n := range g.nodes {
		seen := map[int]bool{}
		var walk func(from int)
		walk = func(from int) {
			for _, x := range g.genes {
				if x.from == from && !seen[x.to] {
					seen[x.to] = true
					walk(x.to)
				}
			}
		}
		walk(n.number)
		all[n.number] = seen
	}
	return all
}

// mutate chooses the new structure of a child.
func (p *plainNEAT) mutate(b *plainBirth, reached map[int]map[int]bool, u []float32) {
	if b.copied {
		return
	}
	g := p.genomes[b.parent]
	var on []plainGene
	for _, x := range g.genes {
		if x.on {
			on = append(on, x)
		}
	}
	genes := len(g.genes)
	if len(on) > 0 && float64(u[6]) < p.NodeRate.Value {
		if len(g.nodes)+1 > p.network.Nodes || genes+2 > p.network.Connections {
			p.refused++
		} else {
			b.split = on[lotOf(u[5], len(on))].number
			genes += 2
		}
	}
	targets := g.nodes[p.network.Inputs:]
	to := targets[lotOf(u[7], len(targets))].number
	var sources []int
	for _, n := range g.nodes {
		connected := slices.ContainsFunc(g.genes, func(x plainGene) bool { return x.from == n.number && x.to == to })
		cycle := !p.network.Recurrent && (n.number == to || reached[to][n.number])
		if !connected && !cycle {
			sources = append(sources, n.number)
		}
	}
	if len(sources) > 0 && float64(u[9]) < p.ConnectionRate.Value {
		if genes+1 > p.network.Connections {
			p.refused++
		} else {
			b.from, b.to = sources[lotOf(u[8], len(sources))], to
		}
	}
}

// number gives equal mutations of the generation equal numbers.
func (p *plainNEAT) number() {
	splits, links := map[int]bool{}, map[[2]int]bool{}
	for _, b := range p.births {
		if b.split >= 0 {
			splits[b.split] = true
		}
		if b.from >= 0 {
			links[[2]int{b.from, b.to}] = true
		}
	}
	split := slices.Sorted(maps.Keys(splits))
	link := slices.SortedFunc(maps.Keys(links), func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	for i := range p.births {
		b := &p.births[i]
		if b.split >= 0 {
			k := slices.Index(split, b.split)
			b.node, b.halves = p.nodes+k, p.innovations+2*k
		}
		if b.from >= 0 {
			b.link = p.innovations + 2*len(split) + slices.Index(link, [2]int{b.from, b.to})
		}
	}
	p.nodes += len(split)
	p.innovations += 2*len(split) + len(link)
}

// breed makes the child of a birth.
func (p *plainNEAT) breed(b plainBirth, l map[string][]float32) plainGenome {
	g := p.genomes[b.parent].clone()
	if b.copied {
		return g
	}
	c := p.network.Connections
	other, _ := p.genomes[b.other].byNumber()
	within := func(i int) float64 { return float64(2*l["Moves"][i] - 1) }
	fresh := p.generation == 0
	averages := float64(l["Averages"][0]) < p.AverageRate.Value
	change := func(x *float64, i int) {
		switch {
		case !fresh && float64(l["Changes"][0]) >= p.WeightRate.Value:
		case fresh || float64(l["Replaces"][i]) < p.ReplaceRate.Value:
			*x = within(i) * p.Range.Value
		default:
			*x = max(-p.Limit.Value, min(p.Limit.Value, *x+within(i)*p.Power.Value))
		}
	}
	for i := range g.genes {
		x := &g.genes[i]
		if b.other != b.parent {
			y, ok := other[x.number]
			switch {
			case ok && averages:
				x.weight = (x.weight + y.weight) / 2
			case ok && l["Other"][i] < .5:
				x.weight = y.weight
			}
			off := !x.on || ok && !y.on
			x.on = !off || float64(l["Off"][i]) >= p.DisableRate.Value
		}
		change(&x.weight, i)
	}
	for i := range g.nodes {
		n := &g.nodes[i]
		if b.other != b.parent {
			for _, m := range p.genomes[b.other].nodes {
				isOther := l["Other"][c+i] < .5
				switch {
				case m.number != n.number:
					continue
				case averages:
					n.bias = (n.bias + m.bias) / 2
				case isOther:
					n.bias = m.bias
				}
				if isOther {
					n.activation, n.aggregation = m.activation, m.aggregation
				}
			}
		}
		if i >= p.network.Inputs {
			change(&n.bias, c+i)
		}
	}
	ends := p.network.Inputs + p.network.Outputs
	function := func(n *plainNode, what string) {
		n.activation = lotOf(l[what+"Activation"][0], p.network.Hidden)
		n.aggregation = lotOf(l[what+"Aggregation"][0], len(p.network.Aggregations))
	}
	if hidden := len(g.nodes) - ends; hidden > 0 && float64(l["Functions"][0]) < p.FunctionRate.Value {
		function(&g.nodes[ends+lotOf(l["Function"][0], hidden)], "")
	}
	if len(g.genes) > 0 && float64(l["Toggles"][0]) < p.ToggleRate.Value {
		x := &g.genes[lotOf(l["Toggled"][0], len(g.genes))]
		x.on = !x.on
	}
	if b.split >= 0 {
		i := slices.IndexFunc(g.genes, func(x plainGene) bool { return x.number == b.split })
		x := &g.genes[i]
		x.on = false
		n := plainNode{number: b.node}
		function(&n, "New")
		g.nodes = append(g.nodes, n)
		g.genes = append(g.genes, plainGene{b.halves, x.from, b.node, 1, true},
			plainGene{b.halves + 1, b.node, x.to, x.weight, true})
	}
	if b.from >= 0 {
		g.genes = append(g.genes, plainGene{b.link, b.from, b.to,
			float64(2*l["NewWeight"][0]-1) * p.Range.Value, true})
	}
	return g
}

// plainOf reads genomes of a population, leaves [population, …].
func plainOf(t *testing.T, g genome.Genome) []plainGenome {
	t.Helper()
	rows := func(a *graph.Array) [][]float64 {
		return slices.Collect(slices.Chunk(floatsOf(t, a.Convert(graph.Float32)), a.Dim(1)))
	}
	ints := func(a *graph.Array) [][]float64 { return rows(a) } // numbers below 2^24 are exact
	number, bias := ints(g.Nodes.Number), rows(g.Nodes.Bias)
	activation, aggregation := ints(g.Nodes.Activation), ints(g.Nodes.Aggregation)
	c := g.Connections
	genes, from, to, weight, on := ints(c.Number), ints(c.From), ints(c.To), rows(c.Weight), rows(c.Enabled)
	all := make([]plainGenome, len(number))
	for i := range all {
		for k, n := range number[i] {
			if n < 1<<24 {
				all[i].nodes = append(all[i].nodes, plainNode{int(n), int(activation[i][k]), int(aggregation[i][k]),
					bias[i][k]})
			}
		}
		for k, n := range genes[i] {
			if n < 1<<24 {
				all[i].genes = append(all[i].genes, plainGene{int(n), int(number[i][int(from[i][k])]),
					int(number[i][int(to[i][k])]), weight[i][k], on[i][k] != 0})
			}
		}
	}
	return all
}

// fitted returns NEAT for the policy "genome" with settings, for 3 inputs and 2 outputs.
func fitted(t *testing.T, strategySettings, policySettings settings.Values) *NEAT {
	t.Helper()
	p, _, err := policy.Make("genome", policySettings, envs.Symmetric(1, 1, 1), envs.Discrete{N: 2})
	require.NoError(t, err)
	s, err := Make("neat", strategySettings)
	require.NoError(t, err)
	require.NoError(t, s.Fit(p))
	return s.Settings.(*NEAT)
}

// Generations of the strategy equal those of plainNEAT: genomes, numbers, species, offspring and parents. The short
// form interprets the strategy; evolve's TestNEATSolvesXOR compiles it.
func TestNEATEqualsThePaper(t *testing.T) {
	count, stagnation, refocus := 8, 2, 4
	if long.On() {
		count, stagnation, refocus = 25, 6, 9
	}
	many := settings.Values{"node-rate": .2, "connection-rate": .3, "toggle-rate": .2, "compatibility-threshold": 1.5,
		"stagnation": stagnation, "refocus": refocus, "interspecies-rate": .1, "survival-rate": .4, "max-species": 12}
	for _, c := range []struct {
		name     string
		strategy settings.Values
		policy   settings.Values
		long     bool
	}{
		{"species of one", settings.Values{"compatibility-threshold": 0, "max-species": 60, "elite-size": 0,
			"node-rate": .3}, settings.Values{"nodes": 12, "connections": 20}, true},
		{"one species, parents without connections", settings.Values{"compatibility-threshold": 100,
			"connection-rate": .05, "toggle-rate": 1}, settings.Values{"initial": "none", "nodes": 9,
			"connections": 12}, false},
		{"feed-forward", many, settings.Values{"nodes": 20, "connections": 32}, false},
		{"recurrent, several activations", many, settings.Values{"recurrent": true, "activations": "tanh,sin",
			"nodes": 18, "connections": 36}, false},
		{"little room", many, settings.Values{"nodes": 7, "connections": 9}, false},
		{"no connections at first", many, settings.Values{"initial": "none", "nodes": 9, "connections": 30},
			true},
		{"few species", settings.Values{"node-rate": .3, "max-species": 3, "compatibility-threshold": .5},
			settings.Values{"nodes": 33, "connections": 50}, true},
		{"means of parents", settings.Values{"average-rate": .6, "node-rate": .2, "connection-rate": .3},
			settings.Values{"nodes": 20, "connections": 40}, true},
		{"means of parents, few species", settings.Values{"average-rate": .6, "node-rate": .3,
			"connection-rate": .3, "max-species": 3, "compatibility-threshold": .5},
			settings.Values{"nodes": 20, "connections": 32}, false},
		{"recurrent, several activations, no connections at first", many, settings.Values{"recurrent": true,
			"activations": "tanh,sin", "initial": "none", "nodes": 18, "connections": 36}, false},
		{"a target number of species, several aggregations", settings.Values{"node-rate": .2,
			"connection-rate": .3, "function-rate": .5, "target-species": 5, "threshold-step": .25, "max-species": 8},
			settings.Values{"aggregations": "sum,max,mean", "nodes": 18, "connections": 30}, false},
		{"no connections at first, no genome is small", settings.Values{"small-genome": 0,
			"connection-rate": .1, "compatibility-threshold": 1.5, "max-species": 4}, settings.Values{"initial": "none",
			"nodes": 9, "connections": 20}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.long {
				long.Only(t)
			}
			var b xlabridge.Backend = &xlabridge.Reference{}
			if long.On() {
				b = xlatest.Open(t, 1)
			}
			generations(t, b, fitted(t, c.strategy, c.policy), count, nil)
		})
	}
}

// So they do if all members are equal, so that all species stagnate, and if some or all fail.
func TestNEATOfEqualAndFailedMembersEqualsThePaper(t *testing.T) {
	nan := math.NaN()
	for what, change := range map[string]func(member, generation int, fitness float64) float64{
		"all equal":            func(int, int, float64) float64 { return 1 },
		"all equal, below 0":   func(int, int, float64) float64 { return -3 },
		"a third fails":        func(i, _ int, f float64) float64 { return []float64{f, nan, f}[i%3] },
		"all fail once":        func(_, g int, f float64) float64 { return []float64{f, f, nan}[min(g, 4)%3] },
		"all but one fail":     func(i, _ int, f float64) float64 { return []float64{f, nan}[min(i, 1)] },
		"two kinds of members": func(i, _ int, _ float64) float64 { return float64(i % 2) },
	} {
		t.Run(what, func(t *testing.T) {
			count, nodes := 6, 15
			if long.On() {
				count, nodes = 25, 30
			}
			e := fitted(t, settings.Values{"node-rate": .2, "connection-rate": .3, "stagnation": 2, "refocus": 4,
				"compatibility-threshold": 1.5, "max-species": 12}, settings.Values{"nodes": nodes,
				"connections": 2 * nodes})
			generations(t, &xlabridge.Reference{}, e, count, change)
		})
	}
}

// So they do with random settings. A child with the means of its parents is half-way between them. If both
// stand for species and there is no room for more, rounding decides which is the nearest; in these seeds nothing
// depends on it.
func TestNEATOfRandomSettingsEqualsThePaper(t *testing.T) {
	long.Only(t)
	client := xlatest.Open(t, 1)
	for seed := range 5 {
		draw := rand.New(rand.NewPCG(uint64(seed), 0))
		// Whole parts of 64, so that float32 holds each setting exactly.
		part := func(low, high float64) float64 { return math.Round(64*(low+draw.Float64()*(high-low))) / 64 }
		whole := func(low, high int) int { return low + draw.IntN(high-low+1) }
		several := func(names []string) string {
			draw.Shuffle(len(names), func(i, k int) { names[i], names[k] = names[k], names[i] })
			return strings.Join(names[:whole(1, 4)], ",")
		}
		s := settings.Values{"average-rate": part(0, 1), "max-species": whole(1, 20), "elites": whole(0, 4),
			"elite-size": whole(0, 9), "small-genome": whole(0, 30), "stagnation": whole(1, 9),
			"refocus": whole(1, 12), "target-species": draw.IntN(2) * whole(1, 12), "weight-limit": part(1, 9)}
		for _, name := range []string{"weight-rate", "replace-rate", "node-rate", "connection-rate", "toggle-rate",
			"function-rate", "crossover-rate", "interspecies-rate", "disable-rate", "survival-rate"} {
			s[name] = part(.02, 1)
		}
		for _, name := range []string{"compatibility-threshold", "threshold-step", "weight-power", "weight-range",
			"excess-weight", "disjoint-weight", "difference-weight"} {
			s[name] = part(.02, 3)
		}
		if s["target-species"] == 0 {
			delete(s, "threshold-step")
		}
		network := settings.Values{"nodes": whole(9, 50), "connections": whole(10, 120),
			"recurrent": draw.IntN(2) == 0, "initial": []string{"full", "none"}[draw.IntN(2)],
			"activations":  several(genome.ActivationNames()),
			"aggregations": several(genome.AggregationNames())}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Logf("strategy %v, policy %v", s, network)
			generations(t, client, fitted(t, s, network), 25, nil)
		})
	}
}

// generations compares generations of a strategy with plainNEAT. change, if there is one, changes the fitness of a
// member; NaN is a failed one.
func generations(t *testing.T, client xlabridge.Backend, e *NEAT, count int,
	change func(member, generation int, fitness float64) float64) {
	const members = 60
	type drawing struct {
		Children neatDraw
		Lots     lots
		Births   *graph.Array // f32[10]: lots of the member's birth
		Species  *graph.Array // f32[]: lot of its species
	}
	ask := xlabridge.Jit2(client, func(s NEATState, key random.Key) drawing {
		return graph.VMap2(func(key random.Key, i *graph.Array) drawing {
			own, next := random.Split2(key)
			return drawing{e.Sample(key, s, i), e.draw(own),
				random.Uniform(next, graph.ShapeOf(graph.Float32, 10), 0, 1),
				random.Uniform(random.FoldIn(next, 1), graph.ShapeOf(graph.Float32), 0, 1)}
		})(random.Split(key, members), graph.Iota(members))
	})
	type told struct {
		State   NEATState
		Fitness *graph.Array
		Draw    neatDraw
	}
	tell := xlabridge.Jit(client, func(t told) NEATState {
		return e.Tell(t.State, Evaluation{Fitness: t.Fitness}, DrawsOf[neatDraw](population.Whole(t.Draw)))
	})
	s, err := graph.Eval(e.Init(e.network.First(random.New(0)), members))
	require.NoError(t, err)
	p := &plainNEAT{NEAT: e, genomes: plainOf(t, e.unpack(s.Genomes)), nodes: e.network.Inputs + e.network.Outputs,
		innovations: e.network.FirstConnections(), best: math.Inf(-1), confirmed: math.Inf(-1),
		threshold: float32(e.Threshold.Value)}
	for i := range members {
		p.births = append(p.births, plainBirth{i, i, false, -1, -1, -1, -1, -1, -1})
	}
	refused := 0
	for generation := range count {
		d, err := ask(s, random.New(int64(generation)))
		require.NoError(t, err)
		children := plainOf(t, e.unpack(d.Children.Genome))
		lotRows := map[string][][]float64{}
		for name, a := range map[string]*graph.Array{"Changes": d.Lots.Changes, "Toggles": d.Lots.Toggles,
			"Toggled": d.Lots.Toggled, "Functions": d.Lots.Functions, "Function": d.Lots.Function,
			"Activation": d.Lots.Activation, "NewActivation": d.Lots.NewActivation, "NewWeight": d.Lots.NewWeight,
			"Aggregation": d.Lots.Aggregation, "NewAggregation": d.Lots.NewAggregation,
			"Other": d.Lots.Other, "Off": d.Lots.Off, "Replaces": d.Lots.Replaces, "Moves": d.Lots.Moves,
			"Averages": d.Lots.Averages} {
			v := floatsOf(t, a)
			lotRows[name] = slices.Collect(slices.Chunk(v, len(v)/members))
		}
		for i := range members {
			l := map[string][]float32{}
			for name, rows := range lotRows {
				l[name] = singles(rows[i])
			}
			want, got := p.breed(p.births[i], l), children[i]
			require.Len(t, got.nodes, len(want.nodes), "generation %d, member %d", generation, i)
			require.Len(t, got.genes, len(want.genes), "generation %d, member %d", generation, i)
			for k := range want.nodes {
				require.InDelta(t, want.nodes[k].bias, got.nodes[k].bias, 1e-4)
				want.nodes[k].bias = got.nodes[k].bias
				if k < e.network.Inputs+e.network.Outputs {
					want.nodes[k].activation = got.nodes[k].activation // of the output
				}
			}
			for k := range want.genes {
				require.InDelta(t, want.genes[k].weight, got.genes[k].weight, 1e-4)
				want.genes[k].weight = got.genes[k].weight
			}
			require.Equal(t, want, got, "generation %d, member %d", generation, i)
		}
		p.genomes = children
		fitness, single := make([]float64, members), make([]float32, members)
		for i, g := range children { // large networks with few connections that are on, in whole numbers
			for _, x := range g.genes {
				fitness[i] += math.Round(3*math.Sin(x.weight)) + 1
			}
			fitness[i] += float64(generation%4 - 2)
			if change != nil {
				fitness[i] = change(i, generation, fitness[i])
			}
			if single[i] = float32(fitness[i]); math.IsNaN(fitness[i]) {
				fitness[i] = math.Inf(-1)
			}
		}
		u := make([][]float32, members)
		for i, row := range slices.Collect(slices.Chunk(floatsOf(t, d.Births), 10)) {
			u[i] = singles(row)
		}
		s, err = tell(told{s, graph.Float32s(single), d.Children})
		require.NoError(t, err)
		p.tell(fitness, u, singles(floatsOf(t, d.Species)))
		p.compare(t, s, fmt.Sprint("generation ", generation))
		refused += p.refused
	}
	require.Greater(t, p.nodes, e.network.Inputs+e.network.Outputs)
	if e.network.Nodes < 9 {
		require.Positive(t, refused)
	}
}

func singles(v []float64) []float32 {
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(x)
	}
	return out
}

// compare compares the state of the strategy.
func (p *plainNEAT) compare(t *testing.T, s NEATState, what string) {
	t.Helper()
	ints := func(a *graph.Array) (all []int) {
		for _, x := range floatsOf(t, a.Convert(graph.Float32)) {
			all = append(all, int(x))
		}
		return all
	}
	number, size, improved := ints(s.Species.Number), ints(s.Species.Size), ints(s.Species.Improved)
	for k := range p.MaxSpecies {
		if k >= len(p.species) {
			require.Zero(t, number[k], what)
			require.Zero(t, size[k], what)
			continue
		}
		w := p.species[k]
		require.Equal(t, []int{w.number, len(w.members), w.improved}, []int{number[k], size[k], improved[k]},
			"%s, species %d of %d", what, k, len(p.species))
	}
	require.Equal(t, float64(p.threshold), floatsOf(t, s.Threshold)[0], what)
	require.Equal(t, []int{p.nodes, p.innovations, p.refused}, []int{ints(s.Nodes)[0], ints(s.Innovations)[0],
		ints(s.Refused)[0]}, what)
	if confirmed := floatsOf(t, s.Confirmed)[0]; math.IsInf(p.confirmed, 0) {
		require.Equal(t, p.confirmed, confirmed, what)
	} else {
		require.InDelta(t, p.confirmed, confirmed, 1e-3, what)
	}
	b := unpackBirths(s.Births)
	parent, other, copied, split := ints(b.Parent), ints(b.Other), ints(b.Copied), ints(b.Split)
	require.Len(t, p.births, len(parent), what)
	for i, w := range p.births {
		at := func(a *graph.Array) int { return ints(a)[i] }
		isCopied := 0
		if w.copied {
			isCopied = 1
		}
		require.Equal(t, []int{w.parent, w.other, isCopied}, []int{parent[i], other[i], copied[i]}, "%s, member %d",
			what, i)
		require.Equal(t, w.split >= 0, split[i] >= 0, "%s, member %d", what, i)
		if w.split >= 0 {
			require.Equal(t, []int{w.node, w.halves}, []int{at(b.Node), at(b.Halves)}, "%s, member %d", what, i)
		}
		if w.from >= 0 {
			require.Equal(t, w.link, at(b.Link), "%s, member %d", what, i)
		}
	}
}

// Genomes without a common gene are exactly (E + D)/N apart, so that equally distant species tie, and the
// oldest one is the nearest. Two quotients, E/N and D/N, would each be rounded.
func TestNEATDistancesTie(t *testing.T) {
	client := xlatest.Open(t, 1)
	e := fitted(t, nil, settings.Values{"connections": 60})
	var own, other []int32
	var want []float64
	row := func(count, first int) (numbers []int32) {
		for i := range e.network.Connections {
			if numbers = append(numbers, genome.None); i < count {
				numbers[i] = int32(first + 2*i)
			}
		}
		return numbers
	}
	for larger := 20; larger <= e.network.Connections; larger += 4 {
		smaller := larger - 7
		for shift := range larger + 1 { // the more, the more genes of the smaller are excess
			own, other = append(own, row(larger, 0)...), append(other, row(smaller, 1+2*shift)...)
			want = append(want, float64(float32(larger+smaller)/float32(larger)))
		}
	}
	of := func(numbers []int32) *graph.Array {
		return graph.Int32s(numbers).Reshape(-1, e.network.Connections)
	}
	distances := xlabridge.Jit2(client, func(own, other *graph.Array) *graph.Array {
		return graph.VMap2(func(own, other *graph.Array) *graph.Array {
			weights := graph.Zeros(graph.ShapeOf(graph.Float32, e.network.Connections))
			c := genome.Connections{Number: own, Weight: weights}
			return e.distances(c, compare(other.ExpandDims(0), weights.ExpandDims(0)), 0, 1).Index(0)
		})(own, other)
	})
	d, err := distances(of(own), of(other))
	require.NoError(t, err)
	require.Equal(t, want, floatsOf(t, d))
}

// Members that fail, or have a huge fitness, leave a state of whole species and valid parents. If all fail, all
// species count the same.
func TestNEATOfExtremeFitness(t *testing.T) {
	const members = 12
	var client xlabridge.Backend = &xlabridge.Reference{}
	if long.On() {
		client = xlatest.Open(t, 1)
	}
	e := fitted(t, settings.Values{"node-rate": .5, "connection-rate": .5, "compatibility-threshold": 1}, nil)
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	type told struct {
		State   NEATState
		Fitness *graph.Array
		Key     random.Key
	}
	tell := xlabridge.Jit(client, func(t told) NEATState {
		children := graph.VMap2(func(key random.Key, i *graph.Array) neatDraw { return e.Sample(key, t.State, i) })(
			random.Split(t.Key, members), graph.Iota(members))
		return e.Tell(t.State, Evaluation{Fitness: t.Fitness}, DrawsOf[neatDraw](population.Whole(children)))
	})
	for what, one := range map[string][]float32{"all failed": {nan}, "some failed": {nan, 1, 2},
		"huge": {math.MaxFloat32, -math.MaxFloat32, 0}, "below zero": {-500, -499}, "equal": {7},
		"infinite": {inf, 3}} {
		s, err := graph.Eval(e.Init(e.network.First(random.New(0)), members))
		require.NoError(t, err)
		fitness := make([]float32, members)
		for i := range fitness {
			fitness[i] = one[i%len(one)]
		}
		for generation := range 5 {
			s, err = tell(told{s, graph.Float32s(fitness), random.New(int64(generation))})
			require.NoError(t, err)
			size := 0.
			for _, n := range floatsOf(t, s.Species.Size) {
				size += n
			}
			require.EqualValues(t, members, size, what)
			for _, parent := range floatsOf(t, unpackBirths(s.Births).Parent) {
				require.True(t, parent >= 0 && parent < members, what)
				if what == "some failed" && generation > 0 {
					require.NotZero(t, int(parent)%3, "a failed member has children although others did not fail")
				}
			}
			for _, w := range floatsOf(t, e.unpack(s.Genomes).Connections.Weight) {
				require.False(t, math.IsNaN(w), what)
			}
		}
	}
}

// NEAT takes genomes only.
func TestNEATWantsGenomes(t *testing.T) {
	p, _, err := policy.Make("mlp:4", nil, envs.Symmetric(1, 1, 1), envs.Discrete{N: 2})
	require.NoError(t, err)
	s, err := Make("neat", nil)
	require.NoError(t, err)
	require.EqualError(t, s.Fit(p), "policy: got a *policy.MLP, want "+settings.AnyOf(policy.GenomePolicies())+": "+
		"neat changes the structure of networks; --policy genome")
}
