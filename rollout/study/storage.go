package study

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"
)

// Storage keeps studies. Its methods may be called by several goroutines; where it says so, by several processes.
type Storage interface {
	// Open finds the study of a name, or makes it. Directions of one that exists have to be the same.
	Open(name string, directions []Direction) (StudyID, error)
	// Add makes trials, in one step: it sets ID and Number of each. want is the number that the first has to get, -1 for any:
	// ErrMoved where another trial has it.
	Add(s StudyID, want int64, trials ...*FrozenTrial) error
	// News gives copies of the trials with an ID above `after`, of those listed, and of `running` ones that run no more, by ID.
	News(s StudyID, after int64, listed, running []int64) ([]*FrozenTrial, error)
	// Take makes a waiting trial running, with the parameters and attributes that t has, in one step: false where it is no longer waiting.
	Take(t *FrozenTrial) (bool, error)
	// Suggest writes a running trial's parameters that it has not yet, and its system attributes.
	Suggest(t *FrozenTrial) error
	// Report writes a value on the way.
	Report(trial int64, r Reported) error
	// Finish writes how a trial ended, in one step, if it has not ended yet: the first to come wins. A second result has to be equal to the bit,
	// else it is kept beside the first and the error is a *Nondeterminism.
	Finish(trial int64, r Result) error
	// End is Suggest and Finish in one step.
	End(t *FrozenTrial, r Result) error
	// SetAttr sets an attribute of the study, Attr reads one (nil: there is none).
	SetAttr(s StudyID, key string, value json.RawMessage) error
	Attr(s StudyID, key string) (json.RawMessage, error)
	Close() error
}

// StudyID is a study's in its storage.
type StudyID int64

// ErrMoved tells that others made trials in the meantime.
var ErrMoved = errors.New("others added trials in the meantime")

// Result is how a trial ended.
type Result struct {
	State        State
	Values       []float64
	Intermediate []Reported // that are to be there in the end
	Reason       string     // why it failed
}

// Keys of attributes.
const (
	ReasonAttr   = "fail_reason"           // of a trial, a user attribute: why it failed
	DigestAttr   = "xlarun:digest"         // of a trial: Result.Digest of its result
	ConflictAttr = "xlarun:nondeterminism" // of a trial: the other result and its digest
)

// Digest is a fingerprint of the result's bits. The reason of a failure does not belong to it.
func (r Result) Digest() string {
	h := sha256.New()
	h.Write([]byte(r.State)) // a hash takes all
	word := func(x uint64) { h.Write(binary.LittleEndian.AppendUint64(nil, x)) }
	word(uint64(len(r.Values)))
	for _, x := range r.Values {
		word(math.Float64bits(x))
	}
	for _, x := range r.Intermediate {
		word(uint64(x.Step))
		word(math.Float64bits(x.Value))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Nondeterminism is two results of one trial.
type Nondeterminism struct {
	Number        int64
	First, Second string // digests
}

// Error implements error.
func (e *Nondeterminism) Error() string {
	return fmt.Sprintf("trial %d came to two results, of digests %s (kept) and %s: the objective does not depend on its parameters and seeds alone", e.Number, e.First, e.Second)
}

// Conflict is what ConflictAttr holds.
type Conflict struct {
	First  string    `json:"first"`
	Second string    `json:"second"`
	Values []float64 `json:"values"` // of the second
}

// memory is a Storage in memory.
type memory struct {
	mu      sync.Mutex
	studies []*memoryStudy
	trials  []*FrozenTrial
}

type memoryStudy struct {
	name       string
	directions []Direction
	trials     []*FrozenTrial
	attrs      map[string]json.RawMessage
}

// InMemory is a storage that ends with the process.
func InMemory() Storage { return &memory{} }

func (m *memory) Open(name string, directions []Direction) (StudyID, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, s := range m.studies {
		if s.name == name {
			return StudyID(i), CheckDirections(name, s.directions, directions)
		}
	}
	m.studies = append(m.studies, &memoryStudy{name: name, directions: directions, attrs: map[string]json.RawMessage{}})
	return StudyID(len(m.studies) - 1), nil
}

// CheckDirections refuses other directions than a study has.
func CheckDirections(name string, has, wants []Direction) error {
	if !slices.Equal(has, wants) {
		return fmt.Errorf("the study %q is to %v, and not to %v: give another name", name, has, wants)
	}
	return nil
}

func (m *memory) Add(s StudyID, want int64, trials ...*FrozenTrial) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	of := m.studies[s]
	if want >= 0 && want != int64(len(of.trials)) {
		return ErrMoved
	}
	for _, t := range trials {
		t.ID, t.Number = int64(len(m.trials))+1, int64(len(of.trials))
		c := t.clone()
		m.trials, of.trials = append(m.trials, c), append(of.trials, c)
	}
	return nil
}

func (m *memory) News(s StudyID, after int64, listed, running []int64) (all []*FrozenTrial, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, id := range slices.Concat(listed, running) {
		if t := m.trials[id-1]; id <= after && (i < len(listed) || t.State != Running) {
			all = append(all, t.clone())
		}
	}
	trials := m.studies[s].trials
	i, _ := slices.BinarySearchFunc(trials, after+1, func(t *FrozenTrial, id int64) int { return int(t.ID - id) })
	for _, t := range trials[i:] {
		all = append(all, t.clone())
	}
	slices.SortFunc(all, func(a, b *FrozenTrial) int { return int(a.ID - b.ID) })
	return all, nil
}

func (m *memory) Take(t *FrozenTrial) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.trials[t.ID-1].State != Waiting {
		return false, nil
	}
	m.trials[t.ID-1].State, m.trials[t.ID-1].Start = Running, t.Start
	m.suggest(t)
	return true, nil
}

func (m *memory) Suggest(t *FrozenTrial) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.suggest(t)
	return nil
}

func (m *memory) suggest(t *FrozenTrial) {
	c, old := t.clone(), m.trials[t.ID-1]
	old.Params, old.Distributions, old.SystemAttrs, old.UserAttrs = c.Params, c.Distributions, c.SystemAttrs, c.UserAttrs
}

func (m *memory) Report(trial int64, r Reported) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.trials[trial-1]; !t.State.Finished() {
		t.report(r)
	}
	return nil
}

func (m *memory) Finish(trial int64, r Result) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.finish(trial, r)
}

func (m *memory) End(t *FrozenTrial, r Result) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.suggest(t)
	return m.finish(t.ID, r)
}

func (m *memory) finish(trial int64, r Result) error {
	t, digest := m.trials[trial-1], r.Digest()
	if t.State.Finished() {
		first, _ := System[string](t, DigestAttr)
		if first == digest {
			return nil
		}
		return errors.Join(&Nondeterminism{t.Number, first, digest}, t.SetSystem(ConflictAttr, Conflict{first, digest, r.Values}))
	}
	return t.end(r, time.Now())
}

// end is how a trial that is under way ends.
func (t *FrozenTrial) end(r Result, at time.Time) error {
	t.State, t.Values, t.Complete = r.State, r.Values, at
	for _, x := range r.Intermediate {
		t.report(x)
	}
	if r.Reason != "" {
		text, err := json.Marshal(r.Reason)
		if err != nil {
			return err
		}
		if t.UserAttrs == nil {
			t.UserAttrs = map[string]json.RawMessage{}
		}
		t.UserAttrs[ReasonAttr] = text
	}
	return t.SetSystem(DigestAttr, r.Digest())
}

func (m *memory) SetAttr(s StudyID, key string, value json.RawMessage) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.studies[s].attrs[key] = value
	return nil
}

func (m *memory) Attr(s StudyID, key string) (json.RawMessage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.studies[s].attrs[key], nil
}

func (m *memory) Close() error { return nil }
