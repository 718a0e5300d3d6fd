package strategy

import (
	"xlarun/graph"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("iamalgamu", &UnivariateIAMaLGaM{amalgam{Sigma: settings.Num(1)}})
}

// UnivariateIAMaLGaM is IAMaLGaM with a diagonal covariance.
type UnivariateIAMaLGaM struct{ amalgam }

// Init starts at the genome with Sigma for every parameter.
func (e *UnivariateIAMaLGaM) Init(genome *graph.Array, population int) AMaLGaMState {
	return e.start(genome, population, graph.OnesLike(genome))
}
