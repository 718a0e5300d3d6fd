package settings_test

import (
	"fmt"

	"xlarun/rollout/settings"
)

// A Number is an input of the program, and no word of what the program depends on.
func ExampleWords() {
	type search struct {
		Members int             `set:"members" min:"1" help:"members of a generation"`
		Sigma   settings.Number `set:"sigma" above:"0" help:"standard deviation of the noise"`
	}
	s := search{Members: 64, Sigma: settings.Num(.5)}
	fmt.Println(settings.Words(&s), s.Sigma.Array())
	// Output: members 64 f32[] 0.5
}
