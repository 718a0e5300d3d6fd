// Package inside has what xlabridge lets the packages below it do with a client, and nobody else. xlabridge sets its
// variables.
package inside

import "xlarun/graph"

// CompiledWith says what a client (an *xlabridge.Client) would compile a program with: the target, the compiler's
// options, and the key in the cache. options are xlabridge.CompileOptions. Nothing of it depends on the machine: the
// target is that of a CPU without narrow products, with eight cores and a made-up name.
var CompiledWith func(client any, p *graph.Program, options any) (string, error)
