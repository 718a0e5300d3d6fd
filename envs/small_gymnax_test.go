package envs_test

import (
	"path/filepath"
	"testing"

	"xlarun/envs"
	"xlarun/envs/gymnaxtest"
	"xlarun/envs/small"
)

func TestSmallEnvironmentsMatchGymnax(t *testing.T) {
	t.Run("Catch", func(t *testing.T) { match(t, small.Catch{}, "") })
	t.Run("DeepSea", func(t *testing.T) { match(t, small.DeepSea{}, "") })
	t.Run("DeepSea, stochastic", func(t *testing.T) { match(t, small.DeepSea{}, "-stochastic") })
	t.Run("MemoryChain", func(t *testing.T) { match(t, small.MemoryChain{}, "") })
	t.Run("UmbrellaChain", func(t *testing.T) { match(t, small.UmbrellaChain{}, "") })
	t.Run("DiscountingChain", func(t *testing.T) { match(t, small.DiscountingChain{}, "") })
	t.Run("FourRooms", func(t *testing.T) { match(t, small.FourRooms{}, "") })
	t.Run("FourRooms, random", func(t *testing.T) { match(t, small.FourRooms{}, "-random") })
	t.Run("MetaMaze", func(t *testing.T) { match(t, small.MetaMaze{}, "") })
	t.Run("MetaMaze, normalized", func(t *testing.T) { match(t, small.MetaMaze{}, "-normalized") })
	t.Run("BernoulliBandit", func(t *testing.T) { match(t, small.BernoulliBandit{}, "") })
	t.Run("GaussianBandit", func(t *testing.T) { match(t, small.GaussianBandit{}, "") })
	t.Run("SimpleBandit", func(t *testing.T) { match(t, small.SimpleBandit{}, "") })
	t.Run("PointRobot", func(t *testing.T) { match(t, small.PointRobot{}, "") })
	t.Run("PointRobot, dense", func(t *testing.T) { match(t, small.PointRobot{}, "-dense") })
	t.Run("FrozenLake", func(t *testing.T) { match(t, small.FrozenLake{}, "") })
	t.Run("Pong", func(t *testing.T) { match(t, small.Pong{}, "") })
	t.Run("Reacher", func(t *testing.T) { match(t, small.Reacher{}, "") })
	t.Run("Swimmer", func(t *testing.T) { match(t, small.Swimmer{}, "") })
}

// match compares with the file of an environment; variant is one with other parameters.
func match[S, P any](t *testing.T, env envs.Env[S, P], variant string) {
	t.Parallel()
	gymnaxtest.Match(t, env, filepath.Join("small", "testdata", env.Spec().ID+variant+".json.gz"), nil)
}
