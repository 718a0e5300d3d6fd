package plan

import (
	"xlarun/graph"
	"xlarun/graph/lower"
	"xlarun/xlabridge"
)

// PrecisionAuto is the value of the setting precision that Precision replaces.
const PrecisionAuto = "auto"

// leastTerms is the number of terms of an element from which products in bfloat16 gain more than the conversions of
// activations take, on CPUs with instructions for them. docs/notes/half.md has the measurements.
const leastTerms = 150

// Precision returns what auto stands for with a network, "bf16" or "f32". Terms is its lower.Facts.ProductTerms. It is
// a rule, not a measurement, so that two runs on one kind of processor have the same results. It does not depend on the
// number of devices. Accelerators take bf16. CPUs take it if they have instructions for its products and if the
// products are long enough.
func Precision(b xlabridge.Backend, terms float64) string {
	if OfKind(b.Backend()).Accelerator {
		return "bf16"
	}
	if c, ok := b.(interface{ BF16Method() string }); ok && c.BF16Method() != "" &&
		terms >= leastTerms {
		return "bf16"
	}
	return "f32"
}

// ProductTerms returns the lower.Facts.ProductTerms of a network. inputs makes what it is traced with.
func ProductTerms(inputs func() []any, network func(in []any) any) (float64, error) {
	var in []any
	if err := graph.Try(func() { in = inputs() }); err != nil {
		return 0, err
	}
	p, err := graph.TraceArgs("network", in, graph.TraceOptions{}, network)
	if err != nil {
		return 0, err
	}
	return lower.Measure(p.Graph, graph.Target{}).ProductTerms, nil
}
