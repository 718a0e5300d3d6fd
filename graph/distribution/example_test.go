package distribution_test

import (
	"fmt"

	"xlarun/graph"
	"xlarun/graph/distribution"
)

// The log-probability of an action, and how uncertain the policy is.
func Example() {
	policy := distribution.NewCategorical(graph.Zeros(graph.ShapeOf(graph.Float32, 4)))
	fmt.Println(policy.LogProb(graph.Of(int32(2))), policy.Entropy())
	// Output: f32[] -1.38629 f32[] 1.38629
}
