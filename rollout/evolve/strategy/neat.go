package strategy

import (
	"fmt"
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/policy"
	"xlarun/rollout/policy/genome"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("neat", &NEAT{
		NEATMutation: NEATMutation{WeightRate: settings.Num(.8), ReplaceRate: settings.Num(.1),
			Power: settings.Num(1), Range: settings.Num(2), Limit: settings.Num(30), NodeRate: settings.Num(.03),
			ConnectionRate: settings.Num(.05), ToggleRate: settings.Num(.01), FunctionRate: settings.Num(.1)},
		NEATMating: NEATMating{CrossoverRate: settings.Num(.75), InterspeciesRate: settings.Num(.001),
			DisableRate: settings.Num(.75), Survival: settings.Num(.2), Elites: settings.Num(1),
			EliteSize: settings.Num(5)},
		NEATSpeciation: NEATSpeciation{MaxSpecies: 32, Threshold: settings.Num(3), ThresholdStep: settings.Num(.3),
			Excess: settings.Num(1), Disjoint: settings.Num(1), WeightDifference: settings.Num(.4),
			Small: settings.Num(20), Stagnation: settings.Num(15), Refocus: settings.Num(20)},
	})
}

// NEAT is the neuroevolution of augmenting topologies of Stanley and Miikkulainen, "Evolving neural networks through
// augmenting topologies" (2002), for policies whose parameters are genomes (policy.Traits.Genotype). It keeps the whole
// population.
//
// A generation is played, put into species, and gets its offspring: Tell decides who is born to whom, and with which
// new nodes and connections, so that these can get their numbers. Sample then breeds one member.
//
// It differs from the paper in this. Nodes have biases, which change as weights do, instead of an input that is always
// 1. Genes that do not match come from the better parent, also if both are equally good (then from the one with fewer
// connections), so that a child is never larger than a parent and has no cycle. Fitness below zero is moved up to be
// shared.
type NEAT struct {
	NEATMutation
	NEATMating
	NEATSpeciation
	network genome.Network
	packing *graph.Packing // of genomes
}

// NEATMutation are the settings of NEAT's mutations.
type NEATMutation struct {
	WeightRate     settings.Number `set:"weight-rate" min:"0" max:"1" help:"probability that a child's weights and biases change"`
	ReplaceRate    settings.Number `set:"replace-rate" min:"0" max:"1" help:"part of them that is drawn again; the others are moved"`
	Power          settings.Number `set:"weight-power" min:"0" help:"a weight moves by a uniform number within ± this"`
	Range          settings.Number `set:"weight-range" above:"0" help:"new weights are uniform within ± this"`
	Limit          settings.Number `set:"weight-limit" above:"0" help:"weights stay within ± this"`
	NodeRate       settings.Number `set:"node-rate" min:"0" max:"1" help:"probability that a child gets a node in the middle of a connection"`
	ConnectionRate settings.Number `set:"connection-rate" min:"0" max:"1" help:"probability that a child gets a connection"`
	ToggleRate     settings.Number `set:"toggle-rate" min:"0" max:"1" help:"probability that one of a child's connections is switched on or off"`
	FunctionRate   settings.Number `set:"function-rate" min:"0" max:"1" help:"probability that one hidden node gets another activation and aggregation"`
}

// NEATMating are the settings of who has children.
type NEATMating struct {
	CrossoverRate    settings.Number `set:"crossover-rate" min:"0" max:"1" help:"part of the children that have two parents"`
	AverageRate      settings.Number `set:"average-rate" min:"0" max:"1" help:"part of these whose common weights and biases are means of the parents'"`
	InterspeciesRate settings.Number `set:"interspecies-rate" min:"0" max:"1" help:"part of these whose second parent is of any species"`
	DisableRate      settings.Number `set:"disable-rate" min:"0" max:"1" help:"probability that a connection is off if it is off in a parent"`
	Survival         settings.Number `set:"survival-rate" above:"0" max:"1" help:"best part of each species that has children"`
	Elites           settings.Number `set:"elites" min:"0" max:"1024" help:"best members of a species that stay as they are"`
	EliteSize        settings.Number `set:"elite-size" min:"0" max:"16777216" help:"a species has elites if it has more members than this"`
}

// NEATSpeciation are the settings of species.
type NEATSpeciation struct {
	MaxSpecies       int             `set:"max-species" min:"1" max:"1024" help:"room for species; if it is used up, members join the nearest one"`
	Threshold        settings.Number `set:"compatibility-threshold" min:"0" help:"distance from its representative up to which a member belongs to a species"`
	TargetSpecies    int             `set:"target-species" min:"0" max:"1024" help:"number of species that the threshold moves to; 0: it stays"`
	ThresholdStep    settings.Number `set:"threshold-step" min:"0" needs:"target-species=!0" help:"what the threshold moves by in a generation"`
	Excess           settings.Number `set:"excess-weight" min:"0" help:"weight of excess connections in the distance"`
	Disjoint         settings.Number `set:"disjoint-weight" min:"0" help:"weight of disjoint connections in the distance"`
	WeightDifference settings.Number `set:"difference-weight" min:"0" help:"weight of the mean difference of matching connections' weights"`
	Small            settings.Number `set:"small-genome" min:"0" max:"1048576" help:"the distance counts all genes of genomes of fewer connections than this, and the part of them in larger ones"`
	Stagnation       settings.Number `set:"stagnation" min:"1" max:"16777216" help:"generations without a better best after which a species has no children"`
	Refocus          settings.Number `set:"refocus" min:"1" max:"16777216" help:"each time after so many generations without a better best of all, only the best two species have children"`
}

// NEATState is the state of NEAT.
type NEATState struct {
	Genomes  *graph.Array // i32[population, genes]: the last generation, each genome packed
	Births   *graph.Array // i32[population, …]: the next one, packed
	Reach    *graph.Array `tree:"optional"` // u32[population, …]: the next one's descendants; nil if recurrent
	Species  NEATSpecies
	Champion *graph.Array // i32[]: the best of Genomes
	Elite    *graph.Array // i32[]: the champion of the generation before, as an elite among Genomes; -1: none
	// Confirmed, f32[], is the moving mean of the fitness of champions in the generation after their own.
	Confirmed  *graph.Array
	Best       *graph.Array // f32[]: the best fitness so far
	Improved   *graph.Array // i32[]: the generation that reached it
	Generation *graph.Array // i32[]: generations so far

	Threshold   *graph.Array // f32[]: of compatibility
	Nodes       *graph.Array // i32[]: the number of the next new node
	Innovations *graph.Array // i32[]: the number of the next new connection
	Refused     *graph.Array // i32[]: mutations of the next generation for which there is no room
	Born        *graph.Array // i32[]: species so far
}

// neatDraw is a child, and the key of what Tell draws for the next generation.
type neatDraw struct {
	Genome *graph.Array // i32[genes], packed
	Key    random.Key
}

// Fit takes the policies whose parameters are genomes.
func (e *NEAT) Fit(p policy.Policy) error {
	network := p.Traits().Genotype
	if network == nil {
		return &settings.Error{Key: "policy", Got: fmt.Sprintf("a %T", policy.NetworkOf(p)),
			Wants: settings.AnyOf(policy.GenomePolicies()) +
				": neat changes the structure of networks; --policy genome"}
	}
	e.network = *network
	e.packing = e.network.Packing()
	return nil
}

// confirmedFitness is the metric that must reach the target. The best fitness of a generation would be that of the
// luckiest member.
const confirmedFitness = "confirmed_fitness"

// Traits say that it keeps the whole population, whose genomes can get more capacity, and is judged by its champion.
// Means in the reports are of a member: hidden nodes, and connections that are on. Innovations are connections that
// ever got a number, refused mutations those that would outgrow the padding.
func (e *NEAT) Traits() (t Traits[NEATState, genome.Genome, neatDraw]) {
	t.LeastPopulation, t.Fit, t.Keeps, t.Report = 2, e.Fit, everyone, e.Report
	t.Reports = []string{confirmedFitness, "species", "largest_species", "mean_hidden_nodes", "mean_connections",
		"innovations", refusedMutations, "compatibility_threshold"}
	t.Goal, t.Unreached = confirmedFitness, "the champion has to be kept for the next generation, as those of "+
		"species are that have more members than --strategy.elite-size"
	t.Refusals, t.Capacity, t.Wider = refusedMutations, e.Capacity, e.Wider
	return t
}

// Init makes all members the genome, without species. Weights of the first generation are drawn by Sample.
func (e *NEAT) Init(g genome.Genome, members int) NEATState {
	zero := graph.Zeros(graph.ShapeOf(graph.Int32))
	packed := e.pack(g)
	s := NEATState{Genomes: packed.BroadcastTo(members, packed.Dim(0)), Births: packBirths(firstBirths(members)),
		Species: e.noSpecies(), Champion: zero,
		Elite:     graph.Full(zero.Shape(), int32(-1)),
		Confirmed: graph.Full(graph.ShapeOf(graph.Float32), math.Inf(-1)),
		Best:      graph.Full(graph.ShapeOf(graph.Float32), math.Inf(-1)), Improved: zero, Generation: zero,
		Threshold:   e.Threshold.Array(),
		Nodes:       graph.Full(zero.Shape(), int32(e.network.Inputs+e.network.Outputs)),
		Innovations: graph.Full(zero.Shape(), int32(e.network.FirstConnections())), Refused: zero, Born: zero}
	if !e.network.Recurrent {
		reach := genome.FirstReach(g, e.network.Inputs)
		s.Reach = reach.BroadcastTo(append([]int{members}, reach.Dims()...)...)
	}
	return s
}

// Sample breeds a member of the next generation.
func (e *NEAT) Sample(key random.Key, state NEATState, member *graph.Array) neatDraw {
	own, next := random.Split2(key)
	return neatDraw{e.pack(e.breed(own, state, member)), next}
}

// Member returns the child.
func (e *NEAT) Member(_ NEATState, child neatDraw, _ *graph.Array) genome.Genome {
	return e.unpack(child.Genome)
}

// pack returns a genome as one array, i32[genes].
func (e *NEAT) pack(g genome.Genome) *graph.Array { return e.packing.Pack(g)[0] }

// unpack returns the genome of an array, i32[genes], or genomes of several, i32[…, genes].
func (e *NEAT) unpack(packed *graph.Array) genome.Genome {
	return e.packing.Unpack([]*graph.Array{packed}).(genome.Genome)
}

// genome returns one of a population of packed genomes.
func (e *NEAT) genome(all, i *graph.Array) genome.Genome {
	return e.unpack(graph.Once(graph.DynamicIndex(all, i, 0)))
}

// Mean returns the champion of the generation before the last, if it is an elite of the last one, or else the
// champion of the last one.
func (e *NEAT) Mean(s NEATState) genome.Genome {
	return e.genome(s.Genomes, graph.Select(s.Elite.Ge(0), s.Elite, s.Champion))
}

// confirmationRate is the weight of a generation in the moving mean of confirmed fitness.
const confirmationRate = .25

// confirm returns the place of the champion's copy, -1 if there is none, and the moving mean of the fitness that
// champions have in the generation after their own, in which they have new episodes. It is -Inf before the first.
func (s NEATState) confirm(f *graph.Array) (elite, confirmed *graph.Array) {
	b := unpackBirths(s.Births)
	is := b.Copied.And(b.Parent.Eq(s.Champion))
	elite = graph.Select(graph.Any(is), is.Convert(graph.Int32).ArgMax(0), -1)
	now := graph.DynamicIndex(f, elite.Max(0), 0)
	known := elite.Ge(0).And(now.IsFinite())
	now = graph.Select(known, now, 0.)
	was := graph.Select(s.Confirmed.IsFinite(), s.Confirmed, now)
	return elite, graph.Select(known, was.Add(now.Sub(was).Mul(confirmationRate)), s.Confirmed)
}

// Tell puts the members into species and decides about their offspring. A member with NaN fitness counts as the worst.
func (e *NEAT) Tell(s NEATState, v Evaluation, draws Draws[neatDraw]) NEATState {
	all := graph.Once(draws.All())
	f := WorstIfNaN(v.Fitness)
	next := NEATState{Genomes: all.Genome, Champion: f.ArgMax(0), Generation: s.Generation.Add(1)}
	next.Elite, next.Confirmed = s.confirm(f)
	best := graph.DynamicIndex(f, next.Champion, 0)
	next.Best = s.Best.Max(best)
	next.Improved = graph.Select(best.Gt(s.Best), next.Generation, s.Improved)
	sp := e.speciate(s, all.Genome, draws)
	t := e.offspring(next, sp, f)
	next.Species = e.represented(t, all)
	next.Born = s.Born.Add(sp.founded)
	next.Threshold = e.adjusted(s.Threshold, t.Exist.Convert(graph.Int32).Sum())
	e.decide(s, &next, t, all, draws, f)
	return next
}

// adjusted moves the threshold towards the target number of species.
func (e *NEAT) adjusted(threshold, species *graph.Array) *graph.Array {
	if e.TargetSpecies == 0 {
		return threshold
	}
	step := e.ThresholdStep.Array().Mul(species.Sub(e.TargetSpecies).Sign().Convert(graph.Float32))
	return threshold.Add(step).Max(e.ThresholdStep.Array())
}

// Report returns the numbers of Traits.Reports, of the generation and of its offspring.
func (e *NEAT) Report(s NEATState) *graph.Array {
	g := e.unpack(s.Genomes)
	single := func(a *graph.Array) *graph.Array { return a.Convert(graph.Float32) }
	mean := func(flags *graph.Array, less int) *graph.Array {
		return single(flags.Convert(graph.Int32).Sum().Sub(less * flags.Dim(0))).Div(float32(flags.Dim(0)))
	}
	return graph.Stack([]*graph.Array{s.Confirmed, single(s.Species.Number.Gt(0).Convert(graph.Int32).Sum()),
		single(graph.ReduceMax(s.Species.Size)),
		mean(g.Nodes.Exist(), e.network.Inputs+e.network.Outputs),
		mean(g.Connections.Enabled, 0), single(s.Innovations), single(s.Refused), s.Threshold}, 0)
}
