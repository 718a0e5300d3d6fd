package strategy

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/linalg"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
	"xlarun/third_party/oracles"
)

// evosaxTrace is one run of evosax, as third_party/oracles/evosax_strategies.py writes it.
type evosaxTrace struct {
	Strategy string
	Config   struct {
		Population  int
		Rate        float64 `json:"learning_rate"`
		Shaping     string
		WeightDecay float64 `json:"weight_decay"`
	}
	Start map[string]oracles.Array
	Steps []map[string]oracles.Array
}

func readEvosax(t *testing.T) []evosaxTrace {
	t.Helper()
	var file struct {
		Versions json.RawMessage
		Traces   []evosaxTrace
	}
	require.NoError(t, oracles.Read("testdata/evosax_strategies.json", &file))
	return file.Traces
}

// pairs is the first half of a population.
func pairs(x *graph.Array) *graph.Array { return graph.SliceAxis(x, 0, 0, x.Dim(0)/2) }

// evosaxCase maps a strategy's state to evosax's, and evosax's populations to noise.
type evosaxCase struct {
	make  func(tr evosaxTrace) Strategy
	noise func(state any, x *graph.Array) *graph.Array // of x, f32[groups, n]
	names func(state any) map[string]*graph.Array      // by evosax's names
	first func(tr evosaxTrace, state any) any          // changes Init's state; nil: it is as it is
	// draws is instead of noise, given a step of the trace too.
	draws func(state any, step map[string]oracles.Array) any
}

func evosaxCases() map[string]evosaxCase {
	half := settings.Num(.5)
	sub, div, mul := graph.Sub, graph.Div, graph.Mul
	return map[string]evosaxCase{
		"snes": {
			make: func(evosaxTrace) Strategy { return &SNES{LearningRate: settings.Num(1), Sigma: half} },
			noise: func(s any, x *graph.Array) *graph.Array {
				return div(sub(x, s.(SNESState).Mean), s.(SNESState).Std)
			},
			names: func(s any) map[string]*graph.Array {
				return map[string]*graph.Array{"mean": s.(SNESState).Mean, "std": s.(SNESState).Std}
			},
		},
		"sepcmaes": {
			make: func(evosaxTrace) Strategy { return &SepCMAES{Sigma: half} },
			noise: func(state any, x *graph.Array) *graph.Array {
				s := state.(SepCMAESState)
				return div(sub(x, s.Mean), mul(s.Sigma, s.Variance.Sqrt()))
			},
			names: func(state any) map[string]*graph.Array {
				s := state.(SepCMAESState)
				return map[string]*graph.Array{"mean": s.Mean, "std": s.Sigma, "p_std": s.SigmaPath, "p_c": s.Path,
					"C": s.Variance}
			},
		},
		"cmaes": {
			make: func(evosaxTrace) Strategy { return &CMAES{Sigma: half, EigenEvery: 1} },
			noise: func(state any, x *graph.Array) *graph.Array {
				s := state.(CMAESState)
				return div(div(sub(x, s.Mean), s.Sigma).Dot(s.Basis), s.Scale)
			},
			names: func(state any) map[string]*graph.Array {
				s := state.(CMAESState)
				return map[string]*graph.Array{"mean": s.Mean, "std": s.Sigma, "p_std": s.SigmaPath, "p_c": s.Path,
					"C": s.Covariance}
			},
		},
		"xnes": {
			make: func(evosaxTrace) Strategy { return &XNES{LearningRate: settings.Num(1), Sigma: half} },
			noise: func(state any, x *graph.Array) *graph.Array {
				s := state.(XNESState)
				return graph.MatrixTranspose(linalg.Solve(s.Shape, graph.MatrixTranspose(div(sub(x, s.Mean), s.Sigma))))
			},
			names: func(state any) map[string]*graph.Array {
				s := state.(XNESState)
				return map[string]*graph.Array{"mean": s.Mean, "std": s.Sigma, "B": s.Shape}
			},
		},
		"crfmnes": {
			make: func(evosaxTrace) Strategy { return &CRFMNES{Sigma: half} },
			first: func(tr evosaxTrace, state any) any {
				s := state.(CRFMNESState)
				s.V = array(tr.Start["v"])
				return s
			},
			noise: func(state any, x *graph.Array) *graph.Array {
				s := state.(CRFMNESState)
				a := s.axis()
				y := div(sub(pairs(x), s.Mean), mul(s.Sigma, s.Scale))
				shrink := sub(div(1, graph.Add(1, a.square).Sqrt()), 1)
				return y.Add(mul(shrink, mul(y.Dot(a.bar).ExpandDims(1), a.bar)))
			},
			names: func(state any) map[string]*graph.Array {
				s := state.(CRFMNESState)
				return map[string]*graph.Array{"mean": s.Mean, "std": s.Sigma, "p_std": s.SigmaPath, "p_c": s.Path,
					"D": s.Scale, "v": s.V}
			},
		},
		"maes": {
			make:  func(evosaxTrace) Strategy { return &MAES{Sigma: half} },
			draws: func(_ any, step map[string]oracles.Array) any { return array(step["noise"]) },
			names: func(state any) map[string]*graph.Array {
				s := state.(MAESState)
				return map[string]*graph.Array{"mean": s.Mean, "std": s.Sigma, "p_std": s.SigmaPath, "M": s.Matrix}
			},
		},
		"lmmaes": {
			make:  func(evosaxTrace) Strategy { return &LMMAES{Sigma: half} },
			draws: func(_ any, step map[string]oracles.Array) any { return array(step["noise"]) },
			names: func(state any) map[string]*graph.Array {
				s := state.(LMMAESState)
				return map[string]*graph.Array{"mean": s.Mean, "std": s.Sigma, "p_std": s.SigmaPath, "M": s.Paths}
			},
		},
		"rmes": {
			make: func(evosaxTrace) Strategy { return &RmES{Sigma: half, Paths: 2} },
			draws: func(state any, step map[string]oracles.Array) any {
				s := state.(RmESState)
				x := array(step["asked"])
				c := (&RmES{}).covariance(x.Dim(1))
				return rmesDraw{div(div(sub(x, s.Mean), s.Sigma), float32(1-c)),
					graph.Zeros(graph.ShapeOf(graph.Float32, x.Dim(0), 2))}
			},
			names: func(state any) map[string]*graph.Array {
				s := state.(RmESState)
				return map[string]*graph.Array{"mean": s.Mean, "std": s.Sigma, "p_c": s.Path, "P": s.Paths,
					"t": s.Times.Convert(graph.Float32), "cumulative_rank_rate": s.Success,
					"fitness_elites_sorted": s.Parents.Neg()}
			},
		},
		"guidedes": {
			make: func(tr evosaxTrace) Strategy {
				e := lookup("guidedes").(*GuidedES)
				e.LearningRate, e.Sigma, e.Subspace = settings.Num(tr.Config.Rate), half, 2
				return e
			},
			noise: func(state any, x *graph.Array) *graph.Array {
				s := state.(SubspaceState)
				e := lookup("guidedes").(*GuidedES)
				e.Subspace = 2
				return unstretched(e.root(s), pairs(x).Sub(s.Mean).Mul(2))
			},
			names: func(state any) map[string]*graph.Array {
				s := state.(SubspaceState) // evosax puts the last gradient beside the others when it asks
				return map[string]*graph.Array{"mean": s.Mean, "grad": s.Gradients.Index(1).Neg()}
			},
		},
		"asebo": {
			make: func(tr evosaxTrace) Strategy {
				e := lookup("asebo").(*ASEBO)
				e.LearningRate, e.Sigma, e.Subspace = settings.Num(tr.Config.Rate), half, 2
				return e
			},
			noise: func(state any, x *graph.Array) *graph.Array {
				s := state.(SubspaceState)
				e := lookup("asebo").(*ASEBO)
				e.Subspace = 2
				return unstretched(e.root(s), pairs(x).Sub(s.Mean).Mul(2))
			},
			names: func(state any) map[string]*graph.Array {
				s := state.(SubspaceState)
				return map[string]*graph.Array{"mean": s.Mean, "grad_subspace": s.Gradients.Neg(), "alpha": s.Alpha}
			},
		},
		"nres": {
			make: func(tr evosaxTrace) Strategy { return &NRES{evosaxUnrolled(tr)} },
			noise: func(s any, x *graph.Array) *graph.Array {
				return div(sub(pairs(x), s.(UnrolledState).Search.Mean), s.(UnrolledState).Search.Sigma)
			},
			names: func(s any) map[string]*graph.Array {
				z := s.(UnrolledState).Noise.Mul(float32(.5))
				return map[string]*graph.Array{"mean": s.(UnrolledState).Search.Mean,
					"pert": graph.Concatenate(0, z, z.Neg())}
			},
		},
		"pes": {
			make: func(tr evosaxTrace) Strategy { return &PES{evosaxUnrolled(tr)} },
			noise: func(s any, x *graph.Array) *graph.Array {
				return div(sub(pairs(x), s.(UnrolledState).Search.Mean), s.(UnrolledState).Search.Sigma)
			},
			names: func(s any) map[string]*graph.Array {
				sum := s.(UnrolledState).Noise
				return map[string]*graph.Array{"mean": s.(UnrolledState).Search.Mean,
					"pert_accum": graph.Concatenate(0, sum, sum.Neg())}
			},
		},
		"ars": {
			make: func(tr evosaxTrace) Strategy {
				return &ARS{gaussian{LearningRate: settings.Num(tr.Config.Rate), Sigma: half,
					SigmaDecay: settings.Num(1)}, .5}
			},
			noise: func(s any, x *graph.Array) *graph.Array {
				return div(sub(pairs(x), s.(GaussianState).Mean), s.(GaussianState).Sigma)
			},
			names: func(s any) map[string]*graph.Array {
				return map[string]*graph.Array{"mean": s.(GaussianState).Mean, "std": s.(GaussianState).Sigma}
			},
		},
		"openes": {
			make: func(tr evosaxTrace) Strategy {
				return &OpenES{gaussian{LearningRate: settings.Num(tr.Config.Rate), Sigma: half,
					SigmaDecay: settings.Num(1)}, Shaped{Shaping: tr.Config.Shaping,
					WeightDecay: tr.Config.WeightDecay}}
			},
			noise: func(s any, x *graph.Array) *graph.Array {
				return div(sub(pairs(x), s.(GaussianState).Mean), s.(GaussianState).Sigma)
			},
			names: func(s any) map[string]*graph.Array {
				return map[string]*graph.Array{"mean": s.(GaussianState).Mean}
			},
		},
	}
}

// Ask and Tell agree with evosax for evosax's populations: means, step sizes, paths and covariances, with ties and a
// failed member.
func TestStrategiesAgreeWithEvosax(t *testing.T) {
	tested := map[string]int{}
	for _, tr := range readEvosax(t) {
		c, ok := evosaxCases()[tr.Strategy]
		if !ok {
			continue
		}
		t.Run(fmt.Sprint(tr.Strategy, tr.Config), func(t *testing.T) {
			tested[tr.Strategy]++
			s := c.make(tr)
			state := s.Init(array(tr.Start["mean"]), tr.Config.Population)
			if c.first != nil {
				state = c.first(tr, state)
			}
			require.GreaterOrEqual(t, len(tr.Steps), 3)
			for i, step := range tr.Steps {
				var noise any
				if c.draws != nil {
					noise = c.draws(state, step)
				} else {
					noise = c.noise(state, array(step["asked"]))
				}
				members := graph.VMap(func(side *graph.Array) any {
					return graph.VMap(func(z any) any { return s.Member(state, z, side) })(noise)
				})(graph.Iota(s.GroupSize())).(*graph.Array)
				near(t, step["asked"], members.Reshape(step["asked"].Shape...), 1e-4, "population", i)
				var err error
				state, err = graph.Eval(tell(s, state, returns(step["told"]), fixedDraws{noise}))
				require.NoError(t, err)
				for name, got := range c.names(state) {
					want := step[name]
					if len(want.Shape) == 0 && got.Rank() == 0 {
						require.Equal(t, 1, want.Len(), name)
					}
					near(t, want, got, 1e-4, name, i)
				}
			}
		})
	}
	require.Equal(t, map[string]int{"snes": 1, "sepcmaes": 1, "cmaes": 2, "xnes": 1, "crfmnes": 2, "ars": 1,
		"openes": 2, "maes": 1, "lmmaes": 1, "rmes": 1, "guidedes": 1, "asebo": 1, "nres": 1, "pes": 1}, tested)
}

// unstretched returns the noise of offsets, f32[groups, n], in units of sigma.
func unstretched(root stretch, offsets *graph.Array) *graph.Array {
	return graph.VMap(func(y *graph.Array) *graph.Array { return root.inverse().of(y) })(offsets)
}

// evosaxUnrolled has histories of three generations.
func evosaxUnrolled(tr evosaxTrace) unrolled {
	return unrolled{gaussian: gaussian{LearningRate: settings.Num(tr.Config.Rate), Sigma: settings.Num(.5),
		SigmaDecay: settings.Num(1)}, Shaped: Shaped{Shaping: shapeRanks}, Generations: 3}
}

// Parents and mutation rates follow from children as in evosax.
func TestGeneticAlgorithmsAgreeWithEvosax(t *testing.T) {
	tested := 0
	for _, tr := range readEvosax(t) {
		var state any
		switch tr.Strategy {
		case "mr15ga":
			state = MR15GAState{array(tr.Start["population"]), returns(tr.Start["fitness"]), graph.Scalar(.5)}
		case "gesmrga":
			state = lookup("gesmrga").(*GESMRGA).Init(graph.Zeros(graph.ShapeOf(graph.Float32, 6)), 9)
			s := state.(GESMRGAState)
			s.Sigma = array(tr.Start["std"])
			state = s
		default:
			continue
		}
		s := lookup(tr.Strategy)
		for i, step := range tr.Steps {
			tested++
			if tr.Strategy == "mr15ga" {
				state = tell(s, state, returns(step["told"]), fixedDraws{array(step["asked"])})
				next := state.(MR15GAState)
				near(t, step["population"], next.Parents, 0, "population", i)
				near(t, step["std"], next.Sigma, 0, "std", i)
				continue
			}
			places := graph.Concatenate(0, graph.Zeros(graph.ShapeOf(graph.Float32, 1)),
				graph.Float32s(step["places"].Float32s()))
			pad := func(x *graph.Array) *graph.Array { return graph.Pad(x, 0, []int{0}, []int{5}) }
			children := gesmrChild{array(step["asked"]), returns(step["before"]), pad(places.Add(.5).Div(2)),
				pad(array(step["factors"]))}
			state = tell(s, state, returns(step["told"]), fixedDraws{children})
			near(t, step["std"], state.(GESMRGAState).Sigma, 1e-6, "std", i)
		}
	}
	require.Equal(t, 12, tested)
}

// The root of a covariance has variance plain² in all directions, and along² in those of the basis. Rows that depend on
// others add none.
func TestStretch(t *testing.T) {
	rows := graph.Float32s([]float32{1e30, 0, 1e30, 2, 0, 2, 0, 3, 1}, 3, 3)
	basis := orthonormal(rows)
	r := float32(math.Sqrt(.5))
	third := float32(1 / math.Sqrt(9.5))
	require.InDeltaSlice(t, []float64{float64(r), 0, float64(r), 0, 0, 0, float64(-.5 * third), float64(3 * third),
		float64(.5 * third)}, floatsOf(t, basis), 1e-5)
	root := stretch{graph.Scalar(2), graph.Scalar(5), basis}
	require.InDeltaSlice(t, []float64{5, 0, 5}, floatsOf(t, root.of(graph.Float32s([]float32{1, 0, 1}))), 1e-5)
	across := graph.Float32s([]float32{3, 1, -3}) // at right angles to both
	require.InDeltaSlice(t, []float64{6, 2, -6}, floatsOf(t, root.of(across)), 1e-5)
	require.InDeltaSlice(t, []float64{3, 1, -3}, floatsOf(t, root.inverse().of(root.of(across))), 1e-5)
}

// Particles move as in evosax, with its random numbers.
func TestPSOAgreesWithEvosax(t *testing.T) {
	tested := 0
	for _, tr := range readEvosax(t) {
		if tr.Strategy != "pso" {
			continue
		}
		s := lookup("pso").(*PSO)
		state := PSOState{array(tr.Start["population"]), array(tr.Start["velocity"]),
			array(tr.Start["population_best"]),
			returns(tr.Start["fitness_best"]), graph.Of(int32(1))}
		for i, step := range tr.Steps {
			tested++
			var words []uint32
			for _, w := range step["keys"].Ints() {
				words = append(words, uint32(w))
			}
			keys := graph.Uint32s(words, step["keys"].Shape...)
			moves := graph.VMap2(func(key, particle *graph.Array) any {
				return s.SampleAt(random.Key{Data: key}, state, particle)
			})(
				keys, graph.Iota(tr.Config.Population))
			near(t, step["asked"], moves.(psoMove).Position, 1e-5, "population", i)
			next, err := graph.Eval(tell(s, state, returns(step["told"]), fixedDraws{moves}))
			require.NoError(t, err)
			state = next.(PSOState)
			for name, got := range map[string]*graph.Array{"velocity": state.Velocity, "population_best": state.Best,
				"fitness_best": state.Fitness.Neg()} {
				near(t, step[name], got, 1e-5, name, i)
			}
		}
	}
	require.Equal(t, 6, tested)
}

// Trials replace members as in evosax.
func TestDEAgreesWithEvosax(t *testing.T) {
	tested := 0
	for _, tr := range readEvosax(t) {
		if tr.Strategy != "de" {
			continue
		}
		s := lookup("de").(*DE)
		var state any = DEState{array(tr.Start["population"]), returns(tr.Start["fitness"]), graph.Of(int32(1))}
		for i, step := range tr.Steps {
			tested++
			next := tell(s, state, returns(step["told"]), fixedDraws{array(step["asked"])}).(DEState)
			near(t, step["population"], next.Members, 0, "population", i)
			state = next
		}
	}
	require.Equal(t, 6, tested)
}
