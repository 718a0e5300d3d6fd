package envs_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
)

// every has each method whose results are checked.
type every struct{ embedded }

func (every) Reset()        {}
func (every) Step()         {}
func (every) Observe()      {}
func (every) Spec()         {}
func (every) Legal()        {}
func (every) Describe()     {}
func (every) DescribeStep() {}
func (every) Objectives()   {}
func (every) Report()       {}
func (every) Player()       {}
func (every) Rewards()      {}
func (every) Make()         {}
func (every) Init()         {}
func (every) Prepare()      {}
func (every) Start()        {}
func (every) Act()          {}
func (every) Learn()        {}
func (every) Traits()       {}
func (every) Sample()       {}
func (every) Member()       {}
func (every) Tell()         {}

type embedded struct{}

func (embedded) Mean() {}

// Errors about results have the line of the method. That of an embedded type has none.
func TestLinesOfMethods(t *testing.T) {
	of := reflect.TypeFor[every]()
	require.Equal(t, 22, of.NumMethod())
	for i := range of.NumMethod() {
		name := of.Method(i).Name
		if name == "Mean" {
			require.Equal(t, "", envs.MethodLine(every{}, name))
			require.Regexp(t, `^errors_test.go:\d+$`, envs.MethodLine(embedded{}, name))
			continue
		}
		require.Regexp(t, `^errors_test.go:\d+$`, envs.MethodLine(every{}, name), name)
	}
	require.Equal(t, "errors_test.go:15", envs.MethodLine(every{}, "Reset"))
	require.PanicsWithValue(t, "envs: methods has no row for Other", func() { envs.MethodLine(every{}, "Other") })
	require.Equal(t, "", envs.MethodLine(embedded{}, "Step"))
	require.Equal(t, "errors_test.go:27: the policy's Init: got nil",
		envs.ResultError(every{}, "policy", "Init", "got nil").Error())
}
