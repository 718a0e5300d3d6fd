//go:build cgo

package xlabridge

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"xlarun/graph"
	"xlarun/xlabridge/internal/inside"
)

func init() {
	inside.CompiledWith = func(client any, p *graph.Program, options any) (string, error) {
		return client.(*Client).compiledWith(p, options.(CompileOptions))
	}
}

// compiledWith is inside.CompiledWith.
func (c *Client) compiledWith(p *graph.Program, o CompileOptions) (string, error) {
	l, err := p.Lower(graph.TargetCPUKernels)
	if err != nil {
		return "", err
	}
	options := c.programOptions(l, o)
	if _, ok := options[codegenSplit]; ok {
		options[codegenSplit] = mostModules
	}
	r, err := c.newRequest(p.Name, options, o)
	if err != nil {
		return "", err
	}
	r.host = "a processor"
	key := r.key(&library{fingerprint: "a plugin"}, []byte(l.StableHLO), "mlir", compileOptions(max(1, p.Replicas)),
		"cpu\na version\ncpu")
	words := []string{string(l.Target)}
	for _, name := range slices.Sorted(maps.Keys(r.overrides)) {
		words = append(words, fmt.Sprintf("%s=%v", name, r.overrides[name]))
	}
	return strings.Join(append(words, r.extra, key.String()), "\t"), nil
}
