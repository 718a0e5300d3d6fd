package settings_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	. "xlarun/rollout/settings"
)

// A function that makes nil was registered, and was a nil dereference in xlarun's own code later.
func TestRegisterRefusesNil(t *testing.T) {
	pointers := NewRegistry[*needy]("pkg", "part", "thing")
	require.ErrorContains(t, pointers.Register("a", func() *needy { return nil }), "a function that returns nil for a")
	interfaces := NewRegistry[any]("pkg", "part", "thing")
	require.ErrorContains(t, interfaces.Register("a", func() any { return nil }), "a function that returns nil for a")
	require.NoError(t, interfaces.Register("a", func() any { return &needy{} }))
}
