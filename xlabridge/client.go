package xlabridge

/*
#include "distributed.h"
#include "shim.h"
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"runtime/cgo"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gomlx/go-xla/pjrt"

	"xlarun/graph"
	"xlarun/xlabridge/cache"
	"xlarun/xlabridge/plugin"
)

// Client is an open backend: a set of devices that programs are compiled for, and that hold
// buffers. Its methods may be called from many goroutines.
type Client struct {
	backend   string
	lib       *library
	inner     *pjrt.Client
	raw       *C.xp_client
	devices   []*C.xp_device
	store     *cache.Cache // nil means no cache
	noStore   string       // why there is no cache
	plansOnly bool         // Options.PlansOnly
	cudaData  string       // the folder of CUDA's tools; "" if the plugin finds them
	target    graph.Target // set by tests to override Target
	topology  *topology    // nil: the devices are there
	compiled  func(*Compiled)
	renew     bool // Options.Renew
	switches  kernelSwitches

	warnMu sync.Mutex
	warn   func(line string) // may be nil
	warned map[string]bool   // the lines that were passed to warn

	mu     sync.Mutex
	idle   *sync.Cond // signalled when live is empty
	closed bool
	live   map[*handle]struct{}
}

// clients keeps all open clients reachable. Otherwise, go-xla could destroy a client before its programs and buffers.
var clients sync.Map // *Client -> struct{}

// Open opens the backend's plugin, once in a process, and makes a new client on it. The context bounds the installation
// of the plugin and the creation of the client. The client may outlive it.
func Open(ctx context.Context, o Options) (*Client, error) {
	if o.Backend == "" {
		o.Backend = "cpu"
	}
	if t := o.Topology; t != nil && t.Backend != o.Backend {
		return nil, fmt.Errorf("backend %s: the topology %s is one of %s; use --backend %s", o.Backend, t.Name,
			t.Backend, t.Backend)
	}
	if o.Devices < 0 || o.Backend == "cpu" && o.Devices > MaxCPUDevices {
		return nil, fmt.Errorf("backend %s: got %d devices, wanted 1 to %d (0 for the default)", o.Backend, o.Devices,
			MaxCPUDevices)
	}
	if err := o.DeviceMemory.Check(o.Backend, o.Topology != nil); err != nil {
		return nil, fmt.Errorf("backend %s: %w", o.Backend, err)
	}
	if err := o.Distributed.check(o); err != nil {
		return nil, fmt.Errorf("backend %s: %w", o.Backend, err)
	}
	limit, err := cacheLimit()
	if err != nil {
		return nil, err
	}
	switches, err := switchesOfProcess()
	if err != nil {
		return nil, err
	}
	found, err := findPlugin(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := withoutTPU(o); err != nil {
		return nil, err
	}
	lib, err := openLibrary(ctx, found, o.LibraryDirs)
	if err != nil {
		return nil, err
	}
	c := &Client{backend: o.Backend, lib: lib, cudaData: found.CUDADataDir, warn: o.Warn, compiled: o.Compiled,
		renew: o.Renew, plansOnly: o.PlansOnly, warned: map[string]bool{}, live: map[*handle]struct{}{}, switches: switches}
	c.idle = sync.NewCond(&c.mu)
	if o.Topology != nil {
		err = c.createTopology(ctx, o)
	} else {
		err = c.create(ctx, o)
	}
	if err != nil {
		return nil, err
	}
	clients.Store(c, struct{}{})
	if err := c.check(o); err != nil {
		_ = c.Close()
		return nil, err
	}
	c.openStore(o, limit)
	lib.returnMemory()
	return c, nil
}

// create makes the plugin's client.
func (c *Client) create(ctx context.Context, o Options) error {
	options := pjrt.NamedValuesMap{}
	if o.Backend == "cpu" {
		options["cpu_device_count"] = int64(max(1, o.Devices))
	}
	store := cgo.Handle(0)
	if d := o.Distributed; d != nil {
		options["node_id"], options["num_nodes"] = int64(d.ProcessID), int64(d.NumProcesses)
		store = cgo.NewHandle(d.Store) // for ever: an abandoned call, or a program of the client, may still use it
	}
	o.DeviceMemory.set(options)
	for name, value := range o.Client {
		if n, ok := value.(int); ok {
			value = int64(n)
		}
		options[name] = value
	}
	// These are not fields of c: an abandoned call may end after c is gone.
	type pluginClient struct {
		inner *pjrt.Client
		raw   *C.xp_client
	}
	created := make(chan pluginClient, 1)
	text, err := quietly(ctx, o.Backend, func() error {
		// The trampoline stores the raw client for the thread that made it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		C.xb_use_store(C.uintptr_t(store))
		defer C.xb_use_store(0)
		inner, err := c.lib.plugin.NewClient(options)
		if err == nil {
			created <- pluginClient{inner, C.xb_last_client()}
		}
		return err
	})
	switch {
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return ctx.Err()
	case errors.Is(err, errStuck):
		return withChatter(stuck(o.Backend, c.lib.path), text)
	case err == nil:
		p := <-created
		c.inner, c.raw = p.inner, p.raw
	}
	if err == nil {
		if c.devices, err = c.lib.devices(c.raw); err == nil {
			return nil
		}
		_ = c.inner.Destroy()
	}
	reason := pluginText(err)
	if o.Backend == "cpu" {
		return withChatter(fmt.Errorf("backend cpu: plugin %s made no client: %s", c.lib.path, reason), text)
	}
	return deviceError(o.Backend, reason, text)
}

// check compares the client with the options.
func (c *Client) check(o Options) error {
	if got := c.Platform(); slices.Contains(plugin.Backends, o.Backend) && got != o.Backend {
		return fmt.Errorf("backend %s: plugin %s is one for %q; name another plugin, or use --backend %s", o.Backend,
			c.lib.path, got, got)
	}
	if c.NumDevices() < o.Devices {
		return fmt.Errorf("backend %s: got --devices %d, but there are %d; ask for at most %d", o.Backend, o.Devices,
			c.NumDevices(), c.NumDevices())
	}
	return nil
}

// openStore opens the cache of compiled programs.
func (c *Client) openStore(o Options, limit int64) {
	if o.NoCache {
		c.noStore = "turned off"
		return
	}
	dir := o.CacheDir
	if dir == "" {
		var err error
		if dir, err = DefaultCacheDir(); err != nil {
			c.noStore = err.Error()
			c.tell("compiled programs are not kept: " + c.noStore)
			return
		}
	}
	c.store = cache.New(dir).Limited(limit)
	c.lib.setStore(c.store)
}

// tell passes a problem to Options.Warn, unless it was passed before.
func (c *Client) tell(trouble string) {
	c.warnMu.Lock()
	defer c.warnMu.Unlock()
	if trouble == "" || c.warn == nil || c.warned[trouble] {
		return
	}
	c.warned[trouble] = true
	c.warn(trouble)
}

// Close closes all buffers and executables of the client, waits for the calls that use them, and closes the client. A
// second Close does nothing.
func (c *Client) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	handles := maps.Clone(c.live)
	c.mu.Unlock()
	var errs []error
	for h := range handles {
		errs = append(errs, h.close())
	}
	c.mu.Lock()
	for len(c.live) > 0 {
		c.idle.Wait()
	}
	c.mu.Unlock()
	if c.topology != nil {
		c.topology.destroy()
	} else {
		errs = append(errs, c.inner.Destroy())
	}
	clients.Delete(c)
	return errors.Join(errs...)
}

// errClosed is the error of calls on a closed client.
var errClosed = errors.New("xlabridge: the client was closed; open another")

// remember makes Close wait for the object. It returns an error if the client is closed.
func (c *Client) remember(h *handle) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errClosed
	}
	c.live[h] = struct{}{}
	return nil
}

func (c *Client) forget(h *handle) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.live, h)
	if len(c.live) == 0 {
		c.idle.Broadcast()
	}
}

// busy marks a call on the client, so that Close waits for its end.
func (c *Client) busy() (done func(), err error) {
	h := &handle{client: c, free: func() error { return nil }, holds: 1}
	if err := c.remember(h); err != nil {
		return nil, err
	}
	return func() {
		h.release()
		_ = h.close()
	}, nil
}

// Backend returns the name in Options: "cpu", "cuda", "rocm" or "tpu".
func (c *Client) Backend() string { return c.backend }

// NumDevices returns the number of devices.
func (c *Client) NumDevices() int {
	if c.topology != nil {
		return len(c.topology.kinds)
	}
	return len(c.devices)
}

// DeviceKind returns the vendor's name of the kind of the first device: "cpu", "NVIDIA H100 80GB HBM3".
func (c *Client) DeviceKind() string {
	if c.topology != nil {
		return c.topology.kinds[0]
	}
	if len(c.devices) == 0 {
		return ""
	}
	kind, _ := c.lib.deviceKind(c.devices[0]) // a device that does not say it has none
	return kind
}

// Platform returns the plugin's name of its platform: "cpu", "cuda", "rocm" or "tpu".
func (c *Client) Platform() string {
	if c.topology != nil {
		return c.topology.platform
	}
	return c.inner.Platform()
}

// PlatformVersion returns the plugin's version. For CUDA, it contains the CUDA release.
func (c *Client) PlatformVersion() string {
	if c.topology != nil {
		return c.topology.version
	}
	return c.inner.PlatformVersion()
}

// PluginPath returns the plugin's file with symbolic links resolved.
func (c *Client) PluginPath() string { return c.lib.path }

// PluginAPI returns the version of the plugin's PJRT ABI.
func (c *Client) PluginAPI() (major, minor int) { return c.lib.major, c.lib.minor }

// StableHLO returns the version of StableHLO that the plugin reads, such as "1.22.0"; "" if it does not say. Programs
// are passed as text, whose operations the plugin must know: they are not translated to the plugin's version.
func (c *Client) StableHLO() string {
	numbers, _ := c.lib.plugin.Attributes()["stablehlo_current_version"].([]int64)
	parts := make([]string, len(numbers))
	for i, n := range numbers {
		parts[i] = strconv.FormatInt(n, 10)
	}
	return strings.Join(parts, ".")
}

// Fingerprint identifies the build of the plugin. It is part of the keys of the cache.
func (c *Client) Fingerprint() string { return c.lib.fingerprint }

// Cache returns the cache of compiled programs, or nil.
func (c *Client) Cache() *cache.Cache { return c.store }

// DeviceDescriptions returns the plugin's description of each device.
func (c *Client) DeviceDescriptions() ([]string, error) {
	done, err := c.busy()
	if err != nil {
		return nil, err
	}
	defer done()
	if c.topology != nil {
		return c.topology.descriptions(), nil
	}
	var lines []string
	for i, device := range c.inner.AddressableDevices() {
		description, err := device.GetDescription()
		if err != nil {
			return nil, fmt.Errorf("xlabridge: device %d: %s", i, pluginText(err))
		}
		kind, err := c.lib.deviceKind(c.devices[i])
		if err != nil {
			return nil, fmt.Errorf("xlabridge: device %d: %w", i, err)
		}
		lines = append(lines, fmt.Sprintf("%s (%s)", description.DebugString(), kind))
	}
	return lines, nil
}
