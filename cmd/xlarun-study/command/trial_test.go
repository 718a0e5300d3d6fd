package command

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A study of one trial had "1 trials".
func TestTrialCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 trials", 1: "1 trial", 2: "2 trials", 1 << 40: "1099511627776 trials"} {
		assert.Equal(t, want, trialCount(n))
	}
}
