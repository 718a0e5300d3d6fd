package rollout_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/policy/genome"
)

func TestGenomeDocumentsThatCannotBeRead(t *testing.T) {
	const good = `{"recurrent": false, "nodes": [{"number": 0, "kind": "input"},
{"number": 1, "kind": "output", "bias": 0.5, "response": 1, "activation": "tanh", "aggregation": "sum"},
{"number": 2, "kind": "hidden", "bias": 0, "response": 1, "activation": "tanh", "aggregation": "sum"}],
"connections": [{"innovation": 0, "from": 0, "to": 1, "weight": 2.5, "enabled": true}]}`
	_, err := genome.ReadDocument([]byte(good))
	require.NoError(t, err)
	for _, c := range []struct{ name, old, new, want string }{
		{"misspelt key of a connection", `"weight"`, `"wieght"`,
			`has the key "wieght", want only recurrent, nodes (number, kind, bias, response, activation, ` +
				`aggregation), connections (innovation, from, to, weight, enabled) and metadata`},
		{"misspelt key of a node", `"bias"`, `"baised"`, `has the key "baised", want only`},
		{"weight beyond float32", `2.5`, `1e39`,
			"connection 0 has the weight 1e+39, want a finite number that float32 holds"},
		{"bias beyond float32", `0.5`, `-4e38`,
			"node 1 has the bias -4e+38, want a finite number that float32 holds"},
		{"response beyond float32", `"response": 1`, `"response": 1e300`,
			"node 1 has the response 1e+300, want a finite number that float32 holds"},
		{"number beyond float64", `2.5`, `1e400`,
			"is not a genome in JSON: line 4: connections.weight is 1e400, want a number of at most 64 bits"},
		{"string instead of a number", `2.5`, `"much"`,
			"is not a genome in JSON: line 4: connections.weight is of the type string, want a number"},
		{"fraction instead of a whole number", `"from": 0`, `"from": 0.5`,
			"line 4: connections.from is 0.5, want a whole number"},
		{"number instead of a bool", `true`, `1`,
			"connections.enabled is of the type number, want true or false"},
		{"list instead of a genome", good, `[]`, "the whole is of the type array, want an object"},
		{"no JSON", `2.5`, `2.5.5`, "is not a genome in JSON: line 4: invalid character '.'"},
		{"half of a file", `"weight": 2.5, "enabled": true}]}`, ``,
			"ends in the middle of the JSON of a genome"},
		{"two genomes", good, good + good, "has text after the JSON of a genome"},
		{"empty", good, ``, "is empty"},
		{"connection from a node to itself", `"from": 0`, `"from": 1`, "form a cycle, but recurrent is false"},
		{"cycle of two nodes", `"enabled": true}`, `"enabled": true},
{"innovation": 1, "from": 1, "to": 2, "weight": 1, "enabled": true},
{"innovation": 2, "from": 2, "to": 1, "weight": 1, "enabled": true}`, "form a cycle, but recurrent is false"},
		{"no weight", `"weight": 2.5, `, ``, "connection 1 of its list has no weight"},
		{"weight of null", `2.5`, `null`, "connection 1 of its list has no weight"},
		{"no enabled", `, "enabled": true`, ``, "connection 1 of its list has no enabled"},
		{"no bias", `"bias": 0.5, `, ``, "node 2 of its list has no bias"},
		{"no number", `"number": 0, `, ``, "node 1 of its list has no number"},
	} {
		require.Contains(t, good, c.old, c.name)
		t.Run(c.name, func(t *testing.T) {
			_, err := genome.ReadDocument([]byte(strings.Replace(good, c.old, c.new, 1)))
			require.ErrorContains(t, err, c.want)
		})
	}
}
