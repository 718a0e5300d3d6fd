package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"time"

	"xlarun/internal/hardware"
	"xlarun/xlabridge"
	"xlarun/xlabridge/cache"
)

// StoreFormat changes when the meaning or the names of all stored plans change.
const StoreFormat = 4

// Stored is a tuner's choice in a Store.
type Stored[P any] struct {
	Tune string `json:"tune"` // quick or full
	Plan P      `json:"plan"`
}

// Store keeps a tuner's plan for one experiment beside the compiled programs. P must have a JSON form. The store is a
// file of cache.Cache: a damaged file is a miss with a reason, and the next Put replaces it.
type Store[P any] struct {
	cache *cache.Cache
	key   cache.Key
	meta  cache.Metadata
}

// ErrNone is the ordinary miss of a Store.
var ErrNone = errors.New("no plan is stored yet")

// Cores returns the number of cores that this process may use.
func Cores() int { return runtime.GOMAXPROCS(0) }

// StoreOf returns the store of a backend's plan for an experiment, or nil without a cache. The key has the kind of
// machine (on CPU the processor and the number of cores, else the kind of device), the plugin, P's format and purpose.
// So purpose must have all else that the choice depends on, but not the number of devices, so that results do not
// depend on it.
func StoreOf[P any](b xlabridge.Backend, purpose string, format int) *Store[P] {
	client, ok := b.(*xlabridge.Client)
	if !ok || client.Cache() == nil {
		return nil
	}
	devices, platform := []any{client.DeviceKind()}, cache.AcceleratorPlatform(client.Platform(), client.DeviceKind())
	if client.Platform() == "cpu" {
		platform = client.Platform()
		devices = []any{client.PlatformVersion(), hardware.Fingerprint(), Cores()}
	}
	parts, _ := json.Marshal([]any{"plan", StoreFormat, format, purpose, client.Platform(), client.Fingerprint(),
		devices}) // plain values: it cannot fail
	return &Store[P]{client.Cache().Plans(), cache.NewKey(parts),
		cache.Metadata{Purpose: purpose, Plugin: client.Fingerprint(), Platform: platform}}
}

// Get reads the stored plan and marks it as used. Any error is a miss; ErrNone is the ordinary one.
func (s *Store[P]) Get() (plan Stored[P], err error) {
	text, _, err := s.cache.Get(s.key)
	if errors.Is(err, cache.ErrAbsent) {
		return plan, ErrNone
	}
	if err != nil {
		return plan, fmt.Errorf("the stored plan is not used: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&plan); err != nil {
		var none Stored[P]
		return none, fmt.Errorf("the stored plan is damaged: %w", err)
	}
	return plan, nil
}

// Put stores a plan and replaces the one before. words describe it in `xlarun cache list`; seconds is the time that it
// took to choose.
func (s *Store[P]) Put(plan Stored[P], words string, seconds float64) error {
	text, err := json.Marshal(plan)
	if err != nil {
		return err
	}
	meta := s.meta
	meta.Name, meta.Created, meta.CompileSeconds = words, time.Now().UTC(), seconds
	return s.cache.Put(s.key, meta, text)
}
