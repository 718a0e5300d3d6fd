package gomlx_test

import (
	"testing"

	"github.com/gomlx/compute/support/backendtest"

	"xlarun/gomlx"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// GoMLX's own tests of the operators of a backend.
func TestOperators(t *testing.T) {
	t.Run("on the CPU", func(t *testing.T) { backendtest.RunAll(t, gomlx.On(xlatest.Open(t, 1)), nil) })
	t.Run("on the reference interpreter", func(t *testing.T) {
		backendtest.RunAll(t, gomlx.On(&xlabridge.Reference{}), nil)
	})
}
