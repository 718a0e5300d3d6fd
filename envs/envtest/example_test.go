package envtest_test

import (
	"fmt"

	"xlarun/envs"
	_ "xlarun/envs/classic"
	"xlarun/envs/envtest"
)

// Check plays an environment and says what the contract forbids.
func ExampleCheck() {
	env, err := envs.Make("CartPole-v1")
	fmt.Println(err, envtest.Check(env))
	// Output: <nil> <nil>
}
