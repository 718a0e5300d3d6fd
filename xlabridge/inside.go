//go:build cgo

package xlabridge

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unsafe"

	"xlarun/graph"
	"xlarun/graph/lower"
	"xlarun/internal/hardware"
	"xlarun/xlabridge/internal/inside"
	"xlarun/xlabridge/internal/pjrt"
)

func init() {
	inside.CompiledWith = func(client any, p *graph.Program, options any) (string, error) {
		return client.(*Client).compiledWith(p, options.(CompileOptions))
	}
	inside.Share = func(client any, register func(inside.Shared) error) error {
		return client.(*Client).share(register)
	}
}

// share is inside.Share.
func (c *Client) share(register func(inside.Shared) error) error {
	if c.topology != nil {
		return c.topology.notRun("of go-xla")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errClosed
	}
	err := register(inside.Shared{Table: c.lib.plugin.Table(), Client: c.inner.Raw(), Compile: c.compileForOthers})
	c.shared = c.shared || err == nil
	return err
}

// compileForOthers loads a program that other code in the process compiles, or has it compiled and stores it.
func (c *Client) compileForOthers(code []byte, format string, options []byte,
	compile func() unsafe.Pointer) (loaded unsafe.Pointer) {
	// A panic must not unwind through the caller's C frames. It only costs the use of the cache.
	defer func() {
		if p := recover(); p != nil && loaded == nil {
			loaded = compile()
		}
	}()
	r := &request{name: "(not ours)", store: c.store, host: hardware.Fingerprint()}
	key, hit := c.lookUp(r, code, format, options, 1)
	if hit != nil {
		return hit.Unwrap()
	}
	start := time.Now()
	if loaded = compile(); loaded == nil || r.store == nil {
		return loaded
	}
	meta := c.lib.metadata(r, c.platformKey(), time.Since(start))
	payload, err := c.inner.SerializeLoaded(loaded)
	r.stored(c.toCache(r, key, meta, payload, err))
	c.tell(r.info.Trouble)
	return loaded
}

// compiledWith is inside.CompiledWith.
func (c *Client) compiledWith(p *graph.Program, o CompileOptions) (string, error) {
	l, err := lower.Lower(p, graph.TargetCPUKernels)
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
	key := r.key(&library{fingerprint: "a plugin"}, []byte(l.StableHLO), "mlir", pjrt.CompileOptions(0),
		platformKey("cpu", "a version", "cpu"))
	words := []string{l.Target.String()}
	for _, name := range slices.Sorted(maps.Keys(r.overrides)) {
		words = append(words, fmt.Sprintf("%s=%v", name, r.overrides[name]))
	}
	return strings.Join(append(words, r.extra, key.String()), "\t"), nil
}
