package xlabridge

/*
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"strings"
	"sync"
	"time"
	"unsafe"

	"xlarun/xlabridge/cache"
	"xlarun/xlabridge/fetch"
)

// request holds the arguments and results of a CompileText, which passes through go-xla to the trampoline.
type request struct {
	name        string
	purpose     string
	overrides   map[string]any
	userOptions map[string]any // the overrides of the caller
	extra       string         // the value of extraOptions
	store       *cache.Cache
	noStore     string
	renew       bool   // see Options.Renew
	keepFusions bool   // the plugin could not load the entry, so the next one is stored as the plugin wrote it
	text        string // identifies the program in Metadata.Program; set by key
	host        string // identifies the kind of CPU

	info CompileInfo  // out
	raw  *C.xp_loaded // out
}

// requests holds the requests by the address of their text. go-xla passes the address on unchanged, and it is unique
// during the request. A text that is not here is compiled by other code in the process.
var requests sync.Map // uintptr -> *request

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
	if c.topology != nil {
		return c.compileAhead(r, []byte(stablehlo), max(1, o.Replicas))
	}
	program := []byte(stablehlo)
	address := uintptr(unsafe.Pointer(unsafe.SliceData(program)))
	requests.Store(address, r)
	defer requests.Delete(address)
	config := c.inner.Compile().WithStableHLO(program)
	if o.Replicas > 1 {
		config = config.WithSPMD(o.Replicas)
	}
	inner, err := config.Done()
	if err != nil {
		err = pluginError(err)
		if full := c.outOfMemory(name, err, nil); full != nil {
			return nil, full
		}
		return nil, fmt.Errorf("xlabridge: compile %s: %w", name, err)
	}
	c.tell(r.info.Trouble)
	if r.info.Cache != CacheHit {
		c.lib.returnLater()
	}
	return c.newExecutable(name, inner, r, max(1, o.Replicas))
}

// newRequest returns the request for a program with default options, which the caller's options override.
func (c *Client) newRequest(name string, defaults map[string]any, o CompileOptions) (*request, error) {
	r := &request{name: name, purpose: o.Purpose, store: c.store, noStore: c.noStore, overrides: maps.Clone(defaults),
		userOptions: o.XLA, renew: c.renew, host: hostFingerprint()}
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

// xlabridgeCompile replaces PJRT_Client_Compile for go-xla.
//
//export xlabridgeCompile
func xlabridgeCompile(slot C.int, args *C.xp_compile_args) (err *C.xp_error) {
	l := libraries.bySlot[slot]
	code := unsafe.Slice((*byte)(unsafe.Pointer(args.program.code)), int(args.program.code_size))
	var r *request
	if found, ok := requests.Load(uintptr(unsafe.Pointer(args.program.code))); ok {
		r = found.(*request)
	} else {
		r = &request{name: "(not ours)", store: l.getStore(), noStore: "no client has opened one",
			host: hostFingerprint()}
	}
	start := time.Now()
	defer func() {
		// A panic must not unwind through the caller's C frames. It only costs the use of the cache.
		if p := recover(); p != nil && args.executable == nil {
			r.info.Reason = fmt.Sprintf("the cache failed: %v", p)
			err = C.xb_compile(slot, args, args.compile_options, args.compile_options_size)
		}
		r.info.Seconds = time.Since(start).Seconds()
		r.raw = args.executable
	}()
	return l.compile(r, args, code)
}

// seenOptions is called with the options that go-xla gives; tests set it.
var seenOptions func(options []byte)

// compile loads the program from the cache or compiles it, and sets args.executable. It leaves out default options that
// the plugin does not accept; they change only the speed. The key of the stored program contains the options that were
// used.
func (l *library) compile(r *request, args *C.xp_compile_args, code []byte) *C.xp_error {
	if seenOptions != nil {
		seenOptions(optionsOf(args))
	}
	r.info.Cache, r.info.Reason = CacheOff, r.noStore
	platform := ""
	if r.store != nil {
		var err error
		if platform, err = l.platform(args.client); err != nil {
			r.store, r.info.Reason = nil, fmt.Sprintf("the plugin does not say what it runs on: %v", err)
		}
	}
	omitted := "" // the options that are left out, and why
	for {
		options := append(optionsOf(args), r.serialized()...)
		key, hit := l.lookUp(r, args, code, platform)
		if hit {
			r.info.Reason += omitted
			return nil
		}
		if r.extra != "" {
			with, err := l.withExtra(args, options, strings.Split(r.extra, ","))
			if err != nil {
				omitted += fmt.Sprintf("; compiled without %s: %v", r.extra, err)
				r.extra = ""
				continue
			}
			options = with
		}
		coptions := C.CBytes(options)
		start := time.Now()
		err := C.xb_compile(l.slot, args, (*C.char)(coptions), C.size_t(len(options)))
		C.free(coptions)
		if err != nil {
			unknown := l.unknownOptions(r, args)
			if len(unknown) == 0 {
				return err
			}
			omitted += fmt.Sprintf("; compiled without %s: %v", strings.Join(unknown, ", "), l.takeError(err))
			for _, name := range unknown {
				delete(r.overrides, name)
			}
			continue
		}
		r.info.Reason += omitted
		if r.store != nil {
			r.stored(l.toCache(r, key, l.metadata(r, platform, time.Since(start)), args.executable))
		}
		return nil
	}
}

// metadata describes a program that took the given time to compile.
func (l *library) metadata(r *request, platform string, compiling time.Duration) cache.Metadata {
	return cache.Metadata{Name: r.name, Purpose: r.purpose, Created: time.Now().UTC(),
		CompileSeconds: compiling.Seconds(), Plugin: l.fingerprint, Platform: platform, Program: r.text}
}

// stored notes whether the program was written to the cache.
func (r *request) stored(err error) {
	r.info.Stored = err == nil
	if err != nil {
		r.info.Reason += fmt.Sprintf("; not stored: %v", err)
		r.info.Trouble = notStored(r.store.Dir(), err)
	}
}

// optionsOf copies the caller's serialized CompileOptionsProto.
func optionsOf(args *C.xp_compile_args) []byte {
	return append([]byte(nil), unsafe.Slice((*byte)(unsafe.Pointer(args.compile_options)),
		int(args.compile_options_size))...)
}

// serialized returns the overrides in a form that can be appended to a CompileOptionsProto.
func (r *request) serialized() []byte {
	options, _ := appendOverrides(nil, r.overrides) // checked by compileText
	return options
}

// lookUp searches the cache for the program's key, and sets args.executable if there is an entry.
func (l *library) lookUp(r *request, args *C.xp_compile_args, code []byte,
	platform string) (key cache.Key, hit bool) {
	if r.store == nil {
		return key, false
	}
	format := C.GoStringN(args.program.format, C.int(args.program.format_size))
	key = r.key(l, code, format, optionsOf(args), platform)
	loaded, err := l.fromCache(r, key, args.client)
	if err != nil {
		r.info.Cache, r.info.Reason = CacheMiss, err.Error()+r.similarEntry(l, platform, err)
		r.keepFusions = errors.Is(err, errNotLoaded)
		r.unusable(key, err)
		return key, false
	}
	r.info.Cache, r.info.Stored = CacheHit, true
	args.executable = loaded
	return key, true
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
	r.text = cache.NewKey(code, []byte(format), added, []byte(r.extra)).String()
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
	for _, e := range entries {
		if e.Meta.Program != r.text || e.Meta.Program == "" {
			continue
		}
		_, own, _ := strings.Cut(platform, "\n")
		switch {
		case e.Meta.Platform != platform:
			return fmt.Sprintf("; the same program is there for %s, this device is %s", e.Meta.Device(), own)
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
func (l *library) fromCache(r *request, key cache.Key, client *C.xp_client) (*C.xp_loaded, error) {
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
	var loaded *C.xp_loaded
	bytes := (*C.char)(unsafe.Pointer(unsafe.SliceData(payload)))
	if err := l.takeError(C.xb_deserialize(l.slot, client, bytes, C.size_t(len(payload)), &loaded)); err != nil {
		return nil, fmt.Errorf("%w: %w", errNotLoaded, err)
	}
	r.info.Bytes = len(payload)
	return loaded, nil
}

// toCache stores the program.
func (l *library) toCache(r *request, key cache.Key, meta cache.Metadata, loaded *C.xp_loaded) error {
	var args C.xp_serialize_args
	if err := l.takeError(C.xb_serialize(l.slot, loaded, &args)); err != nil {
		return fmt.Errorf("the plugin cannot serialize it: %w", err)
	}
	defer C.xb_serialized_free(&args)
	payload := unsafe.Slice((*byte)(unsafe.Pointer(args.bytes)), int(args.bytes_size))
	if strings.HasPrefix(meta.Platform, "cpu\n") && !r.keepFusions {
		payload = withoutFusions(payload)
	}
	r.info.Bytes = len(payload)
	return r.store.Put(key, meta, payload)
}
