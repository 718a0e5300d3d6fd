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
	"xlarun/rollout/population"
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
	make  func(tr evosaxTrace) *Erased
	noise func(state any, x *graph.Array) *graph.Array // of x, f32[groups, n]
	names func(state any) map[string]*graph.Array      // by evosax's names
	first func(tr evosaxTrace, state any) any          // changes Init's state; nil: it is as it is
	// draws is instead of noise, given a step of the trace too.
	draws func(state any, step map[string]oracles.Array) any
}

// noiseOfState and namesOfState take states of one type.
func noiseOfState[S any](f func(s S, x *graph.Array) *graph.Array) func(any, *graph.Array) *graph.Array {
	return func(s any, x *graph.Array) *graph.Array { return f(s.(S), x) }
}

func namesOfState[S any](f func(s S) map[string]*graph.Array) func(any) map[string]*graph.Array {
	return func(s any) map[string]*graph.Array { return f(s.(S)) }
}

func evosaxCases() map[string]evosaxCase {
	half := settings.Num(.5)
	sub, div, mul := graph.Sub, graph.Div, graph.Mul
	return map[string]evosaxCase{
		"snes": {
			make: func(evosaxTrace) *Erased { return Erase(&SNES{LearningRate: settings.Num(1), Sigma: half}) },
			noise: noiseOfState(func(s SNESState, x *graph.Array) *graph.Array {
				return div(sub(x, s.Mean), s.Std)
			}),
			names: namesOfState(func(s SNESState) map[string]*graph.Array {
				return map[string]*graph.Array{"mean": s.Mean, "std": s.Std}
			}),
		},
		"sepcmaes": {
			make: func(evosaxTrace) *Erased { return Erase(&SepCMAES{Sigma: half}) },
			noise: noiseOfState(func(s SepCMAESState, x *graph.Array) *graph.Array {
				return div(sub(x, s.Mean), mul(s.Sigma, s.Variance.Sqrt()))
			}),
			names: namesOfState(func(s SepCMAESState) map[string]*graph.Array {
				return map[string]*graph.Array{"mean": s.Mean, "std": s.Sigma, "p_std": s.SigmaPath, "p_c": s.Path,
					"C": s.Variance}
			}),
		},
		"cmaes": {
			make: func(evosaxTrace) *Erased { return Erase(&CMAES{Sigma: half, EigenEvery: 1}) },
			draws: func(state any, step map[string]oracles.Array) any {
				s := state.(CMAESState)
				return graph.VMap(s.draw)(div(div(sub(array(step["asked"]), s.Mean), s.Sigma).Dot(s.Basis), s.Scale))
			},
			names: namesOfState(func(s CMAESState) map[string]*graph.Array {
				return map[string]*graph.Array{"mean": s.Mean, "std": s.Sigma, "p_std": s.SigmaPath, "p_c": s.Path,
					"C": s.Covariance}
			}),
		},
		"xnes": {
			make: func(evosaxTrace) *Erased { return Erase(&XNES{LearningRate: settings.Num(1), Sigma: half}) },
			noise: noiseOfState(func(s XNESState, x *graph.Array) *graph.Array {
				return graph.MatrixTranspose(linalg.Solve(s.Shape, graph.MatrixTranspose(div(sub(x, s.Mean), s.Sigma))))
			}),
			names: namesOfState(func(s XNESState) map[string]*graph.Array {
				return map[string]*graph.Array{"mean": s.Mean, "std": s.Sigma, "B": s.Shape}
			}),
		},
		"crfmnes": {
			make: func(evosaxTrace) *Erased { return Erase(&CRFMNES{Sigma: half}) },
			first: func(tr evosaxTrace, state any) any {
				s := state.(CRFMNESState)
				s.V = array(tr.Start["v"])
				return s
			},
			noise: noiseOfState(func(s CRFMNESState, x *graph.Array) *graph.Array {
				a := s.axis()
				y := div(sub(pairs(x), s.Mean), mul(s.Sigma, s.Scale))
				shrink := sub(div(1, graph.Add(1, a.square).Sqrt()), 1)
				return y.Add(mul(shrink, mul(y.Dot(a.bar).ExpandDims(1), a.bar)))
			}),
			names: namesOfState(func(s CRFMNESState) map[string]*graph.Array {
				return map[string]*graph.Array{"mean": s.Mean, "std": s.Sigma, "p_std": s.SigmaPath, "p_c": s.Path,
					"D": s.Scale, "v": s.V}
			}),
		},
		"maes": {
			make:  func(evosaxTrace) *Erased { return Erase(&MAES{Sigma: half}) },
			draws: func(_ any, step map[string]oracles.Array) any { return array(step["noise"]) },
			names: namesOfState(func(s MAESState) map[string]*graph.Array {
				return map[string]*graph.Array{"mean": s.Mean, "std": s.Sigma, "p_std": s.SigmaPath, "M": s.Matrix}
			}),
		},
		"lmmaes": {
			make:  func(evosaxTrace) *Erased { return Erase(&LMMAES{Sigma: half}) },
			draws: func(_ any, step map[string]oracles.Array) any { return array(step["noise"]) },
			names: namesOfState(func(s LMMAESState) map[string]*graph.Array {
				return map[string]*graph.Array{"mean": s.Mean, "std": s.Sigma, "p_std": s.SigmaPath, "M": s.Paths}
			}),
		},
		"rmes": {
			make: func(evosaxTrace) *Erased { return Erase(&RmES{Sigma: half, Paths: 2}) },
			draws: func(state any, step map[string]oracles.Array) any {
				s := state.(RmESState)
				x := array(step["asked"])
				c := (&RmES{}).covariance(x.Dim(1))
				return rmesDraw{div(div(sub(x, s.Mean), s.Sigma), float32(1-c)),
					graph.Zeros(graph.ShapeOf(graph.Float32, x.Dim(0), 2))}
			},
			names: namesOfState(func(s RmESState) map[string]*graph.Array {
				return map[string]*graph.Array{"mean": s.Mean, "std": s.Sigma, "p_c": s.Path, "P": s.Paths,
					"t": s.Times.Convert(graph.Float32), "cumulative_rank_rate": s.Success,
					"fitness_elites_sorted": s.Parents.Neg()}
			}),
		},
		"guidedes": {
			make: func(tr evosaxTrace) *Erased {
				e := defaults[*GuidedES]("guidedes")
				e.LearningRate, e.Sigma, e.Subspace = settings.Num(tr.Config.Rate), half, 2
				return Erase(e)
			},
			noise: noiseOfState(func(s SubspaceState, x *graph.Array) *graph.Array {
				e := defaults[*GuidedES]("guidedes")
				e.Subspace = 2
				return unstretched(e.root(s), pairs(x).Sub(s.Mean).Mul(2))
			}),
			names: namesOfState(func(s SubspaceState) map[string]*graph.Array {
				// evosax puts the last gradient beside the others when it asks
				return map[string]*graph.Array{"mean": s.Mean, "grad": s.Gradients.Index(1).Neg()}
			}),
		},
		"asebo": {
			make: func(tr evosaxTrace) *Erased {
				e := defaults[*ASEBO]("asebo")
				e.LearningRate, e.Sigma, e.Subspace = settings.Num(tr.Config.Rate), half, 2
				return Erase(e)
			},
			noise: noiseOfState(func(s SubspaceState, x *graph.Array) *graph.Array {
				e := defaults[*ASEBO]("asebo")
				e.Subspace = 2
				return unstretched(e.root(s), pairs(x).Sub(s.Mean).Mul(2))
			}),
			names: namesOfState(func(s SubspaceState) map[string]*graph.Array {
				return map[string]*graph.Array{"mean": s.Mean, "grad_subspace": s.Gradients.Neg(), "alpha": s.Alpha}
			}),
		},
		"nres": {
			make: func(tr evosaxTrace) *Erased { return Erase(&NRES{evosaxUnrolled(tr)}) },
			noise: noiseOfState(func(s UnrolledState, x *graph.Array) *graph.Array {
				return div(sub(pairs(x), s.Search.Mean), s.Search.Sigma)
			}),
			names: namesOfState(func(s UnrolledState) map[string]*graph.Array {
				z := s.Noise.Mul(float32(.5))
				return map[string]*graph.Array{"mean": s.Search.Mean,
					"pert": graph.Concatenate(0, z, z.Neg())}
			}),
		},
		"pes": {
			make: func(tr evosaxTrace) *Erased { return Erase(&PES{evosaxUnrolled(tr)}) },
			noise: noiseOfState(func(s UnrolledState, x *graph.Array) *graph.Array {
				return div(sub(pairs(x), s.Search.Mean), s.Search.Sigma)
			}),
			names: namesOfState(func(s UnrolledState) map[string]*graph.Array {
				sum := s.Noise
				return map[string]*graph.Array{"mean": s.Search.Mean,
					"pert_accum": graph.Concatenate(0, sum, sum.Neg())}
			}),
		},
		"ars": {
			make: func(tr evosaxTrace) *Erased {
				return Erase(&ARS{gaussian{LearningRate: settings.Num(tr.Config.Rate), Sigma: half,
					SigmaDecay: settings.Num(1)}, .5})
			},
			noise: noiseOfState(func(s GaussianState, x *graph.Array) *graph.Array {
				return div(sub(pairs(x), s.Mean), s.Sigma)
			}),
			names: namesOfState(func(s GaussianState) map[string]*graph.Array {
				return map[string]*graph.Array{"mean": s.Mean, "std": s.Sigma}
			}),
		},
		"openes": {
			make: func(tr evosaxTrace) *Erased {
				return Erase(&OpenES{gaussian{LearningRate: settings.Num(tr.Config.Rate), Sigma: half,
					SigmaDecay: settings.Num(1)}, Shaped{Shaping: tr.Config.Shaping,
					WeightDecay: tr.Config.WeightDecay}})
			},
			noise: noiseOfState(func(s GaussianState, x *graph.Array) *graph.Array {
				return div(sub(pairs(x), s.Mean), s.Sigma)
			}),
			names: namesOfState(func(s GaussianState) map[string]*graph.Array {
				return map[string]*graph.Array{"mean": s.Mean}
			}),
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
				asked := genomesOf(s, state, noise).Reshape(step["asked"].Shape...)
				near(t, step["asked"], asked, 1e-4, "population", i)
				var err error
				state, err = graph.Eval(tell(s, state, returns(step["told"]), population.Whole(noise)))
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
			s := defaults[*GESMRGA]("gesmrga").Init(graph.Zeros(graph.ShapeOf(graph.Float32, 6)), 9)
			s.Sigma = array(tr.Start["std"])
			state = s
		default:
			continue
		}
		s := lookup(tr.Strategy)
		for i, step := range tr.Steps {
			tested++
			if tr.Strategy == "mr15ga" {
				state = tell(s, state, returns(step["told"]), population.Whole(array(step["asked"])))
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
			state = tell(s, state, returns(step["told"]), population.Whole(children))
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
		s := defaults[*PSO]("pso")
		erased := Erase(s)
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
			moves := graph.VMap2(func(key, particle *graph.Array) psoMove {
				return s.Sample(random.Key{Data: key}, state, particle)
			})(
				keys, graph.Iota(tr.Config.Population))
			near(t, step["asked"], moves.Position, 1e-5, "population", i)
			next, err := graph.Eval(tell(erased, state, returns(step["told"]), population.Whole(moves)))
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
		s := lookup("de")
		var state any = DEState{array(tr.Start["population"]), returns(tr.Start["fitness"]), graph.Of(int32(1))}
		for i, step := range tr.Steps {
			tested++
			next := tell(s, state, returns(step["told"]), population.Whole(array(step["asked"]))).(DEState)
			near(t, step["population"], next.Members, 0, "population", i)
			state = next
		}
	}
	require.Equal(t, 6, tested)
}

// defaults returns the strategy of a name with its types.
func defaults[T any](name string) T {
	s, _ := registry.New(name)
	return s.(T)
}
