package rollout

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"time"

	"xlarun/xlabridge"
	"xlarun/xlabridge/cache"
)

// planFormat changes when the meaning of all stored plans changes.
const planFormat = 2

// PlanStore keeps the plan that a tuner chose for one experiment, a P that JSON can hold, beside the compiled programs. It
// is a file of cache.Cache: what is not perfect is a miss with a reason, and the next Put repairs it.
type PlanStore[P any] struct {
	cache *cache.Cache
	key   cache.Key
	meta  cache.Metadata
}

// ErrNoPlan is the ordinary miss of a PlanStore.
var ErrNoPlan = errors.New("no plan is stored yet")

// Cores are the processors that a plan may reckon with: the machine's, as far as this process may use them.
func Cores() int { return runtime.GOMAXPROCS(0) }

// PlanStoreOf is the store of a backend's plan for an experiment; nil where nothing is kept. The key is made of the kind
// of machine, its number of cores, the plugin, P's format, and purpose, which therefore says all else that the choice depends on. The number of
// devices should not be a part of it, so that results do not hang on it.
func PlanStoreOf[P any](b xlabridge.Backend, purpose string, format int) *PlanStore[P] {
	client, ok := b.(*xlabridge.Client)
	if !ok || client.Cache() == nil {
		return nil
	}
	parts, _ := json.Marshal([]any{"plan", planFormat, format, purpose, client.Platform(), client.PlatformVersion(), client.Fingerprint(),
		xlabridge.HostFingerprint(), Cores()}) // plain values: it cannot fail
	return &PlanStore[P]{client.Cache().Plans(), cache.NewKey(parts),
		cache.Metadata{Purpose: purpose, Plugin: client.Fingerprint(), Platform: client.Platform()}}
}

// Get reads the stored plan, which counts as used now. Any error is a miss; ErrNoPlan is the ordinary one.
func (s *PlanStore[P]) Get() (plan P, err error) {
	text, _, err := s.cache.Get(s.key)
	if errors.Is(err, cache.ErrAbsent) {
		return plan, ErrNoPlan
	}
	if err != nil {
		return plan, fmt.Errorf("the stored plan is not used: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&plan); err != nil {
		var none P
		return none, fmt.Errorf("the stored plan is damaged: %w", err)
	}
	return plan, nil
}

// Put stores a plan over whatever was there; words describe it in `xlarun cache list`, seconds is the time that choosing
// it took.
func (s *PlanStore[P]) Put(plan P, words string, seconds float64) error {
	text, err := json.Marshal(plan)
	if err != nil {
		return err
	}
	meta := s.meta
	meta.Name, meta.Created, meta.CompileSeconds = words, time.Now().UTC(), seconds
	return s.cache.Put(s.key, meta, text)
}
