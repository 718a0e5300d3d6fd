//go:build cgo

package xlabridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"strings"
	"time"

	"xlarun/internal/hardware"
	"xlarun/xlabridge/cache"
	"xlarun/xlabridge/fetch"
	"xlarun/xlabridge/internal/hostmemory"
	"xlarun/xlabridge/internal/inside"
	"xlarun/xlabridge/internal/pjrt"
	"xlarun/xlabridge/internal/slim"
)

// request holds the arguments of a CompileText, and what becomes of it.
type request struct {
	name        string
	purpose     string
	overrides   map[string]any
	userOptions map[string]any // the overrides of the caller
	extra       string         // the value of extraOptions
	store       *cache.Cache
	noStore     string
	renew       bool          // see Options.Renew
	keepFusions bool          // the plugin could not load the entry, so the next one is stored as the plugin wrote it
	text        func() string // identifies the program in Metadata.Program; set by key
	host        string        // identifies the kind of CPU
	slow        func() string // see CompileOptions.slow

	info   CompileInfo    // out
	memory *ProgramMemory // out; nil: the plugin has to be asked
}

// CompileText compiles a StableHLO module, or loads it from the cache. The name appears in errors and in the cache's
// list.
func (c *Client) CompileText(name, stablehlo string, o CompileOptions) (*Executable, error) {
	return c.compileText(name, stablehlo, c.defaultOptions(o), o)
}

// compileText is CompileText with default options, which the caller's options override.
func (c *Client) compileText(name, stablehlo string, defaults map[string]any, o CompileOptions) (*Executable, error) {
	if stablehlo == "" {
		return nil, fmt.Errorf("xlabridge: compile %s: the program is empty", name)
	}
	if o.Replicas < 0 || o.Replicas > c.NumDevices() {
		return nil, fmt.Errorf("xlabridge: compile %s: got %d replicas, but the client has %d devices; open it "+
			"with more", name, o.Replicas, c.NumDevices())
	}
	done, err := c.busy()
	if err != nil {
		return nil, err
	}
	defer done()
	r, err := c.newRequest(name, defaults, o)
	if err != nil {
		return nil, err
	}
	replicas := max(1, o.Replicas)
	if inside.Observe != nil {
		options := fmt.Sprint(replicas, r.overrides)
		defer func() { inside.Observe(name, stablehlo, options, r.info.Cache != cache.Hit) }()
	}
	if c.topology != nil {
		return c.compileAhead(r, []byte(stablehlo), replicas)
	}
	start := time.Now()
	program, err := c.compile(r, []byte(stablehlo), replicas)
	if err != nil {
		if full := c.outOfMemory(name, err, nil); full != nil {
			return nil, full
		}
		return nil, fmt.Errorf("xlabridge: compile %s: %w", name, err)
	}
	r.info.Seconds = time.Since(start).Seconds()
	c.tell(r.info.Trouble)
	if r.info.Cache != cache.Hit {
		if c.lib.cpuTable != nil {
			hostmemory.ReturnLater(c.lib.cpuTable)
		}
	}
	return c.newExecutable(name, program, r)
}

// newRequest returns the request for a program with default options, which the caller's options override.
func (c *Client) newRequest(name string, defaults map[string]any, o CompileOptions) (*request, error) {
	r := &request{name: name, purpose: o.Purpose, slow: o.slow, store: c.store, noStore: c.noStore,
		overrides:   maps.Clone(defaults),
		userOptions: o.XLA, renew: c.renew, host: hardware.Fingerprint()}
	maps.Copy(r.overrides, o.XLA)
	if extra, ok := r.overrides[extraOptions].(string); ok {
		r.extra = extra
		delete(r.overrides, extraOptions)
	}
	if o.NoCache || c.plansOnly {
		r.store, r.noStore = nil, "turned off for this program"
	}
	if _, err := appendOverrides(nil, r.overrides); err != nil {
		return nil, fmt.Errorf("xlabridge: compile %s: %w", name, err)
	}
	return r, nil
}

// compile loads the program from the cache or compiles it. It leaves out default options that the plugin's error names;
// they change only the speed. The key of the stored program contains the options that were used.
func (c *Client) compile(r *request, code []byte, replicas int) (*pjrt.Program, error) {
	base, err := c.baseOptions(replicas)
	if err != nil {
		return nil, err
	}
	r.info.Cache, r.info.Reason = cache.Off, r.noStore
	omitted := "" // the options that are left out, and why
	for {
		options := append(base[:len(base):len(base)], r.serialized()...)
		key, hit := c.lookUp(r, code, "mlir", base, replicas)
		if hit != nil {
			r.info.Reason += omitted
			return hit, nil
		}
		if r.extra != "" {
			with, err := c.withExtra(base, options, strings.Split(r.extra, ","))
			if err != nil {
				omitted += fmt.Sprintf("; compiled without %s: %v", r.extra, err)
				r.extra = ""
				continue
			}
			options = with
		}
		if r.slow != nil {
			c.tell(r.slow())
		}
		start := time.Now()
		program, err := c.inner.Compile(code, options, replicas)
		if err != nil {
			refused := r.refused(err)
			if len(refused) == 0 {
				return nil, err
			}
			omitted += fmt.Sprintf("; compiled without %s: %v", strings.Join(refused, ", "), err)
			for _, name := range refused {
				delete(r.overrides, name)
			}
			continue
		}
		r.info.Reason += omitted
		if m, err := memoryOf(program); err == nil {
			r.memory = &m
		}
		if r.store != nil {
			meta := c.lib.metadata(r, c.platformKey(), time.Since(start))
			payload, err := program.Serialize()
			r.stored(c.toCache(r, key, meta, payload, err))
		}
		return program, nil
	}
}

// baseOptions returns the CompileOptionsProto of a program, to which its own options are appended.
func (c *Client) baseOptions(replicas int) ([]byte, error) {
	if replicas == 1 {
		return pjrt.CompileOptions(0), nil
	}
	devices, err := c.inner.Assignment(replicas)
	return pjrt.CompileOptions(devices...), err
}

// platformKey is the function platformKey of the client.
func (c *Client) platformKey() string {
	return platformKey(c.Platform(), c.PlatformVersion(), c.DeviceKind())
}

// platformKey describes what a compiled program depends on apart from the plugin: the platform's name and the kind of
// the first device, and on CPU the platform's version.
func platformKey(platform, version, kind string) string {
	if platform != "cpu" {
		return cache.AcceleratorPlatform(platform, kind)
	}
	return fmt.Sprintf("cpu\n%s\n%s", version, kind)
}

// metadata describes a program that took the given time to compile.
func (l *library) metadata(r *request, platform string, compiling time.Duration) cache.Metadata {
	var memory json.RawMessage
	if r.memory != nil {
		memory, _ = json.Marshal(r.memory) // numbers alone
	}
	return cache.Metadata{Name: r.name, Purpose: r.purpose, Created: time.Now().UTC(),
		CompileSeconds: compiling.Seconds(), Plugin: l.fingerprint, Platform: platform, Program: r.text(),
		Memory: memory}
}

// stored notes whether the program was written to the cache.
func (r *request) stored(err error) {
	r.info.Stored = err == nil
	if err != nil {
		r.info.Reason += fmt.Sprintf("; not stored: %v", err)
		r.info.Trouble = notStored(r.store.Dir(), err)
	}
}

// serialized returns the overrides in a form that can be appended to a CompileOptionsProto.
func (r *request) serialized() []byte {
	options, _ := appendOverrides(nil, r.overrides) // checked by compileText
	return options
}

// lookUp searches the cache for the program's key, and loads the entry. It returns nil if there is none.
func (c *Client) lookUp(r *request, code []byte, format string, base []byte, replicas int) (cache.Key, *pjrt.Program) {
	if r.store == nil {
		return cache.Key{}, nil
	}
	platform := c.platformKey()
	key := r.key(c.lib, code, format, base, platform)
	program, err := c.fromCache(r, key, replicas)
	if err != nil {
		r.info.Cache, r.info.Reason = cache.Miss, err.Error()+r.similarEntry(c.lib, platform, err)
		r.keepFusions = errors.Is(err, errNotLoaded)
		r.unusable(key, err)
		return key, nil
	}
	r.info.Cache, r.info.Stored = cache.Hit, true
	return key, program
}

// unusable notes an entry that is there and cannot be used, which is the error of looking it up.
func (r *request) unusable(key cache.Key, err error) {
	if !errors.Is(err, cache.ErrAbsent) && !errors.Is(err, errRenewed) {
		r.info.Trouble = fmt.Sprintf("program %s was compiled anew: its entry %.12s in %s is of no use (%v)", r.name,
			key, r.store.Dir(), err)
	}
}

// key returns the program's key in the cache. options are the compiler's options without the overrides. The key of a
// program for an accelerator has no part of the host, so that another machine can fill the cache. The plugin's
// fingerprint stands for its version.
func (r *request) key(l *library, code []byte, format string, options []byte, platform string) cache.Key {
	overrides, host := r.overrides, ""
	if strings.HasPrefix(platform, "cpu\n") {
		host = r.host
	} else if _, ok := overrides[cudaDataDir]; ok {
		overrides = maps.Clone(overrides)
		delete(overrides, cudaDataDir) // a folder of this machine
	}
	added, _ := appendOverrides(options, overrides) // checked by compileText
	r.text = func() string { return cache.NewKey(code, []byte(format), added, []byte(r.extra)).String() }
	key := cache.NewKey(code, []byte(format), added, []byte(r.extra), []byte(l.fingerprint), []byte(platform),
		[]byte(host), []byte(os.Getenv("XLA_FLAGS")))
	r.info.Key = key.String()
	return key
}

// compiledAhead is the reason of a hit that another machine compiled.
const compiledAhead = "compiled without the device"

// errRenewed is a miss because of Options.Renew.
var errRenewed = errors.New("compiled without the device, and now on it")

// similarEntry says why a program of the same text in the cache is no hit: it is for another device, or of another
// plugin. It is "" for a CPU, whose programs depend on the machine.
func (r *request) similarEntry(l *library, platform string, err error) string {
	if !errors.Is(err, cache.ErrAbsent) || strings.HasPrefix(platform, "cpu\n") {
		return ""
	}
	entries, err := r.store.List()
	if err != nil {
		return ""
	}
	own := r.text()
	for _, e := range entries {
		if e.Meta.Program != own || e.Meta.Program == "" {
			continue
		}
		_, device, _ := strings.Cut(platform, "\n")
		switch {
		case e.Meta.Platform != platform:
			return fmt.Sprintf("; the same program is there for %s, this device is %s", e.Meta.Device(), device)
		case e.Meta.Plugin != l.fingerprint:
			return fmt.Sprintf("; the same program is there from another plugin (%.12s, this is %.12s)", e.Meta.Plugin,
				l.fingerprint)
		}
		return "; the same program is there with other XLA_FLAGS"
	}
	return ""
}

// notStored returns the sentence for a cache that cannot be written. It names no program, because it holds for all.
func notStored(dir string, err error) string {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		err = path.Err
	case errors.As(err, &link):
		err = link.Err
	}
	return fmt.Sprintf("compiled programs are not kept, since %s cannot be written (%v): make it writable, or set %s "+
		"to a folder that is", dir, err, fetch.EnvCache)
}

var errNotLoaded = errors.New("the plugin cannot load the entry")

// fromCache loads the entry under the key. Any error is a miss.
func (c *Client) fromCache(r *request, key cache.Key, replicas int) (*pjrt.Program, error) {
	payload, meta, err := r.store.Get(key)
	if err != nil {
		return nil, err
	}
	if meta.Ahead != nil && r.renew {
		return nil, errRenewed
	}
	r.info.Reason = ""
	if meta.Ahead != nil {
		r.info.Reason = compiledAhead
	}
	if len(payload) == 0 {
		return nil, errors.New("entry is damaged: it holds no program")
	}
	program, err := c.inner.Load(payload, replicas)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotLoaded, err)
	}
	r.info.Bytes = len(payload)
	if len(meta.Memory) > 0 {
		_ = json.Unmarshal(meta.Memory, &r.memory) // else the plugin is asked
	}
	return program, nil
}

// toCache stores the program that the plugin has serialized, or returns why it has not.
func (c *Client) toCache(r *request, key cache.Key, meta cache.Metadata, payload []byte, err error) error {
	if err != nil {
		return fmt.Errorf("the plugin cannot serialize it: %w", err)
	}
	if strings.HasPrefix(meta.Platform, "cpu\n") && !r.keepFusions {
		payload = slim.WithoutFusions(payload)
	}
	r.info.Bytes = len(payload)
	return r.store.Put(key, meta, payload)
}
