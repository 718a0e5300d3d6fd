package all

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/envs/envtest"
)

// Every environment that comes with xlarun keeps what its Spec and the interfaces promise.
func TestEveryEnvironmentKeepsItsSpec(t *testing.T) {
	require.Subset(t, envs.IDs(), []string{"Acrobot-v1", "CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1"})
	for _, id := range envs.IDs() {
		t.Run(id, func(t *testing.T) {
			env, err := envs.Make(id)
			require.NoError(t, err)
			require.Equal(t, id, env.Spec().ID)
			require.NoError(t, envtest.Check(env))
		})
	}
}
