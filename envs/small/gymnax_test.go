package small

import (
	"path/filepath"
	"testing"

	"xlarun/envs"
	"xlarun/envs/gymnaxtest"
)

func TestMatchesGymnax(t *testing.T) {
	t.Run("Catch", func(t *testing.T) { match(t, Catch{}, "") })
	t.Run("DeepSea", func(t *testing.T) { match(t, DeepSea{}, "") })
	t.Run("DeepSea, stochastic", func(t *testing.T) { match(t, DeepSea{}, "-stochastic") })
	t.Run("MemoryChain", func(t *testing.T) { match(t, MemoryChain{}, "") })
	t.Run("UmbrellaChain", func(t *testing.T) { match(t, UmbrellaChain{}, "") })
	t.Run("DiscountingChain", func(t *testing.T) { match(t, DiscountingChain{}, "") })
	t.Run("FourRooms", func(t *testing.T) { match(t, FourRooms{}, "") })
	t.Run("FourRooms, random", func(t *testing.T) { match(t, FourRooms{}, "-random") })
	t.Run("MetaMaze", func(t *testing.T) { match(t, MetaMaze{}, "") })
	t.Run("MetaMaze, normalised", func(t *testing.T) { match(t, MetaMaze{}, "-normalised") })
	t.Run("BernoulliBandit", func(t *testing.T) { match(t, BernoulliBandit{}, "") })
	t.Run("GaussianBandit", func(t *testing.T) { match(t, GaussianBandit{}, "") })
	t.Run("SimpleBandit", func(t *testing.T) { match(t, SimpleBandit{}, "") })
	t.Run("PointRobot", func(t *testing.T) { match(t, PointRobot{}, "") })
	t.Run("PointRobot, dense", func(t *testing.T) { match(t, PointRobot{}, "-dense") })
	t.Run("FrozenLake", func(t *testing.T) { match(t, FrozenLake{}, "") })
	t.Run("Pong", func(t *testing.T) { match(t, Pong{}, "") })
	t.Run("Reacher", func(t *testing.T) { match(t, Reacher{}, "") })
	t.Run("Swimmer", func(t *testing.T) { match(t, Swimmer{}, "") })
}

// match compares with the file of an environment; variant is one with other parameters.
func match[S, P any](t *testing.T, env envs.Env[S, P], variant string) {
	t.Parallel()
	gymnaxtest.Match(t, env, filepath.Join("testdata", env.Spec().ID+variant+".json.gz"), nil)
}
