//go:build cgo

package xlabridge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"xlarun/graph"
	"xlarun/xlabridge/cache"
	"xlarun/xlabridge/internal/hostmemory"
	"xlarun/xlabridge/internal/pjrt"
	"xlarun/xlabridge/plugin"
)

// Client is an open backend: a set of devices that programs are compiled for, and that hold
// buffers. Its methods may be called from many goroutines.
type Client struct {
	backend   string
	lib       *library
	inner     *pjrt.Client   // nil on a topology
	store     *cache.Cache   // nil means no cache
	noStore   string         // why there is no cache
	plansOnly bool           // Options.PlansOnly
	cudaData  string         // the folder of CUDA's tools; "" if the plugin finds them
	target    graph.Target   // set by tests to override Target
	topology  *absentDevices // nil: the devices are there
	compiled  func(*Compiled)
	renew     bool // Options.Renew
	switches  kernelSwitches

	warnMu sync.Mutex
	warn   func(line string) // may be nil
	warned map[string]bool   // the lines that were passed to warn

	mu     sync.Mutex
	idle   *sync.Cond // signaled when live is empty
	closed bool
	live   map[*handle]struct{}
	shared bool // go-xla has it, too: see package goxla
}

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
	limit, err := cache.Limit()
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
	hostmemory.Ballast() // not at an import, which would change the collector of a program that opens no client
	c := &Client{backend: o.Backend, lib: lib, cudaData: found.CUDADataDir, warn: o.Warn, compiled: o.Compiled,
		renew: o.Renew, plansOnly: o.PlansOnly, switches: switches,
		warned: map[string]bool{}, live: map[*handle]struct{}{}}
	c.idle = sync.NewCond(&c.mu)
	if o.Topology != nil {
		err = c.createTopology(ctx, o)
	} else {
		err = c.create(ctx, o)
	}
	if err != nil {
		return nil, err
	}
	if err := c.check(o); err != nil {
		_ = c.Close()
		return nil, err
	}
	c.openStore(o, limit)
	c.ReturnMemory()
	return c, nil
}

// ReturnMemory gives memory back to the kernel that opening the plugin, compiling or loading a program needed once.
// Open calls it, and after compiling it happens by itself, when arrays begin to need the memory or a second later. If
// the user has tuned glibc, it does nothing.
func (c *Client) ReturnMemory() {
	if c.lib.cpuTable != nil {
		hostmemory.Return(c.lib.cpuTable)
	}
}

// create makes the plugin's client.
func (c *Client) create(ctx context.Context, o Options) error {
	options := map[string]any{}
	if o.Backend == "cpu" {
		options["cpu_device_count"] = max(1, o.Devices)
	}
	var store pjrt.Store
	if d := o.Distributed; d != nil {
		options["node_id"], options["num_nodes"] = d.ProcessID, d.NumProcesses
		store = sharedStore{d.Store}
	}
	o.DeviceMemory.set(options)
	maps.Copy(options, o.Client)
	lib := c.lib
	inner, text, err := quietly(ctx, o.Backend, func() (*pjrt.Client, error) {
		return lib.plugin.NewClient(options, store)
	}, func(late *pjrt.Client) { _ = late.Close() })
	switch {
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return ctx.Err()
	case errors.Is(err, errStuck):
		return withChatter(stuck(o.Backend, c.lib.path), text)
	case err == nil:
		c.inner = inner
		return nil
	}
	if o.Backend == "cpu" {
		return withChatter(fmt.Errorf("backend cpu: plugin %s made no client: %s", c.lib.path, err), text)
	}
	return deviceError(o.Backend, err.Error(), text)
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
		if dir, err = cache.DefaultDir(); err != nil {
			c.noStore = err.Error()
			c.tell("compiled programs are not kept: " + c.noStore)
			return
		}
	}
	c.store = cache.New(dir).Limited(limit)
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
// second Close does nothing. A client that go-xla has, too (package goxla), stays open, and Close returns an error.
func (c *Client) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	if c.shared {
		c.mu.Unlock()
		return errors.New("xlabridge: the client is registered with go-xla, which may use it until the process ends, " +
			"so it stays open")
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
		errs = append(errs, c.topology.raw.Close())
	} else {
		errs = append(errs, c.inner.Close())
	}
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
		return len(c.topology.raw.Kinds)
	}
	return len(c.inner.Devices)
}

// DeviceKind returns the vendor's name of the kind of the first device: "cpu", "NVIDIA H100 80GB HBM3".
func (c *Client) DeviceKind() string {
	if c.topology != nil {
		return c.topology.raw.Kinds[0]
	}
	if len(c.inner.Devices) == 0 {
		return ""
	}
	return c.inner.Devices[0].Kind
}

// Platform returns the plugin's name of its platform: "cpu", "cuda", "rocm" or "tpu".
func (c *Client) Platform() string {
	if c.topology != nil {
		return c.topology.raw.Platform
	}
	return c.inner.Platform
}

// PlatformVersion returns the plugin's version. For CUDA, it contains the CUDA release.
func (c *Client) PlatformVersion() string {
	if c.topology != nil {
		return c.topology.raw.Version
	}
	return c.inner.Version
}

// PluginPath returns the plugin's file with symbolic links resolved.
func (c *Client) PluginPath() string { return c.lib.path }

// PluginAPI returns the version of the plugin's PJRT ABI.
func (c *Client) PluginAPI() (major, minor int) { return c.lib.plugin.Major, c.lib.plugin.Minor }

// StableHLO returns the version of StableHLO that the plugin reads, such as "1.22.0"; "" if it does not say. Programs
// are passed as text, whose operations the plugin must know: they are not translated to the plugin's version.
func (c *Client) StableHLO() string {
	attributes, _ := c.lib.plugin.Attributes() // a plugin that has none does not say
	numbers, _ := attributes["stablehlo_current_version"].([]int64)
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
	for i, device := range c.inner.Devices {
		description, err := device.Describe()
		if err != nil {
			return nil, fmt.Errorf("xlabridge: device %d: %s", i, err)
		}
		lines = append(lines, fmt.Sprintf("%s (%s)", description, device.Kind))
	}
	return lines, nil
}
