package envs_test

import (
	"path/filepath"
	"testing"

	"xlarun/envs"
	"xlarun/envs/gymnaxtest"
	"xlarun/envs/small"
)

func TestSmallEnvironmentsMatchGymnax(t *testing.T) {
	t.Run("Catch", func(t *testing.T) { match(t, "small", small.Catch{}, "") })
	t.Run("DeepSea", func(t *testing.T) { match(t, "small", small.DeepSea{}, "") })
	t.Run("DeepSea, stochastic", func(t *testing.T) { match(t, "small", small.DeepSea{}, "-stochastic") })
	t.Run("MemoryChain", func(t *testing.T) { match(t, "small", small.MemoryChain{}, "") })
	t.Run("UmbrellaChain", func(t *testing.T) { match(t, "small", small.UmbrellaChain{}, "") })
	t.Run("DiscountingChain", func(t *testing.T) { match(t, "small", small.DiscountingChain{}, "") })
	t.Run("FourRooms", func(t *testing.T) { match(t, "small", small.FourRooms{}, "") })
	t.Run("FourRooms, random", func(t *testing.T) { match(t, "small", small.FourRooms{}, "-random") })
	t.Run("MetaMaze", func(t *testing.T) { match(t, "small", small.MetaMaze{}, "") })
	t.Run("MetaMaze, normalized", func(t *testing.T) { match(t, "small", small.MetaMaze{}, "-normalized") })
	t.Run("BernoulliBandit", func(t *testing.T) { match(t, "small", small.BernoulliBandit{}, "") })
	t.Run("GaussianBandit", func(t *testing.T) { match(t, "small", small.GaussianBandit{}, "") })
	t.Run("SimpleBandit", func(t *testing.T) { match(t, "small", small.SimpleBandit{}, "") })
	t.Run("PointRobot", func(t *testing.T) { match(t, "small", small.PointRobot{}, "") })
	t.Run("PointRobot, dense", func(t *testing.T) { match(t, "small", small.PointRobot{}, "-dense") })
	t.Run("FrozenLake", func(t *testing.T) { match(t, "small", small.FrozenLake{}, "") })
	t.Run("Pong", func(t *testing.T) { match(t, "small", small.Pong{}, "") })
	t.Run("Reacher", func(t *testing.T) { match(t, "small", small.Reacher{}, "") })
	t.Run("Swimmer", func(t *testing.T) { match(t, "small", small.Swimmer{}, "") })
}

// match compares with the file of an environment in a family; variant is one with other parameters.
func match[S, P any](t *testing.T, family string, env envs.Env[S, P], variant string) {
	t.Parallel()
	gymnaxtest.Match(t, envs.Erase(env), filepath.Join(family, "testdata", env.Spec().ID+variant+".json.gz"), nil)
}
