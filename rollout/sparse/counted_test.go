package sparse

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The members of each round are counted, on one device and on two, where the loop over them has no kernel too.
func TestMembersAreCounted(t *testing.T) {
	for _, devices := range []int{1, 2} {
		for _, method := range []string{"kernel", "masked"} {
			c := tiny()
			c.Method, c.Devices = method, devices // the programs of TestRestoredRunsGoOnToTheByte
			p, err := New(t.Context(), open(t, devices), c, stripes(6, 200, 70))
			require.NoError(t, err)
			for range 3 {
				_, _, err = p.Train(2)
				require.NoError(t, err)
				require.EqualValues(t, c.Population, p.Counter().Begun(), "%s on %d devices", method, devices)
			}
			require.NoError(t, p.Close())
		}
	}
}
