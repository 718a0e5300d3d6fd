package envs_test

import (
	"testing"

	"xlarun/envs/classic"
)

func TestMatchesGymnax(t *testing.T) {
	t.Run("CartPole", func(t *testing.T) { match(t, "classic", classic.CartPole{}, "") })
	t.Run("Acrobot", func(t *testing.T) { match(t, "classic", classic.Acrobot{}, "") })
	t.Run("MountainCar", func(t *testing.T) { match(t, "classic", classic.MountainCar{}, "") })
	t.Run("MountainCarContinuous", func(t *testing.T) { match(t, "classic", classic.MountainCarContinuous{}, "") })
	t.Run("Pendulum", func(t *testing.T) { match(t, "classic", classic.Pendulum{}, "") })
}
