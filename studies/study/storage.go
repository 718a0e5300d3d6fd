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

// Storage stores studies. Its methods may be called by several goroutines, and those of a database by several
// processes.
type Storage interface {
	// Open returns the study of a name, or makes it. The directions of an existing study have to be the same.
	Open(name string, directions []Direction) (StudyID, error)
	// Add adds trials in one step, and sets ID and Number of each. want is the number that the first one has to get, or
	// -1. The error is ErrMoved if another trial has it.
	Add(s StudyID, want int64, trials ...*FrozenTrial) error
	// Updates returns copies of trials, by ID: those with an ID above `after`, those listed, and those in `running`
	// that do not run any more.
	Updates(s StudyID, after int64, listed, running []int64) ([]*FrozenTrial, error)
	// Take changes a waiting trial to running, with the parameters and attributes of t, in one step. It returns false
	// if the trial does not wait any more.
	Take(t *FrozenTrial) (bool, error)
	// Suggest writes new parameters of a running trial, and its system attributes.
	Suggest(t *FrozenTrial) error
	// Report writes an intermediate value.
	Report(trial int64, r Reported) error
	// Finish writes the result of a trial in one step; the first result stays. A second one has to be the same to the
	// bit. If not, it is stored besides the first and the error is a *Nondeterminism.
	Finish(trial int64, r Result) error
	// End is Suggest and Finish in one step.
	End(t *FrozenTrial, r Result) error
	// SetAttr sets an attribute of the study. Attr reads one, nil if there is none.
	SetAttr(s StudyID, key string, value json.RawMessage) error
	Attr(s StudyID, key string) (json.RawMessage, error)
	Close() error
}

// StudyID identifies a study in its storage.
type StudyID int64

// ErrMoved means that another process has added trials.
var ErrMoved = errors.New("others added trials in the meantime")

// Result is the result of a trial.
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

// Digest returns a hash of the bits of the result, of a failure without its reason and the reports before it.
func (r Result) Digest() string {
	h := sha256.New()
	h.Write([]byte(r.State)) // a hash takes all
	word := func(x uint64) { h.Write(binary.LittleEndian.AppendUint64(nil, x)) }
	word(uint64(len(r.Values)))
	for _, x := range r.Values {
		word(math.Float64bits(x))
	}
	if r.State == Fail {
		r.Intermediate = nil
	}
	for _, x := range r.Intermediate {
		word(uint64(x.Step))
		word(math.Float64bits(x.Value))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Nondeterminism is the error of two different results of one trial.
type Nondeterminism struct {
	Number        int64
	First, Second string // digests
}

// Error implements error.
func (e *Nondeterminism) Error() string {
	return fmt.Sprintf("trial %d came to two results, of digests %s (kept) and %s: the objective does not depend on "+
		"its parameters and seeds alone", e.Number, e.First, e.Second)
}

// Conflict is the value of ConflictAttr.
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

// InMemory returns a storage that ends with the process.
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

// CheckDirections returns an error if the directions differ from those of the study.
func CheckDirections(name string, has, wants []Direction) error {
	if !slices.Equal(has, wants) {
		return fmt.Errorf("the study %q is to %v, and not to %v: give another name", name, has, wants)
	}
	return nil
}

func (m *memory) Add(s StudyID, want int64, trials ...*FrozenTrial) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	data := m.studies[s]
	if want >= 0 && want != int64(len(data.trials)) {
		return ErrMoved
	}
	for _, t := range trials {
		t.ID, t.Number = int64(len(m.trials))+1, int64(len(data.trials))
		c := t.clone()
		m.trials, data.trials = append(m.trials, c), append(data.trials, c)
	}
	return nil
}

func (m *memory) Updates(s StudyID, after int64, listed, running []int64) (all []*FrozenTrial, err error) {
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
	old.Params, old.Distributions, old.SystemAttrs, old.UserAttrs = c.Params, c.Distributions, c.SystemAttrs,
		c.UserAttrs
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
		return errors.Join(&Nondeterminism{t.Number, first, digest},
			t.SetSystem(ConflictAttr, Conflict{first, digest, r.Values}))
	}
	return t.end(r, time.Now())
}

// end sets the result of a running trial.
func (t *FrozenTrial) end(r Result, now time.Time) error {
	t.State, t.Values, t.Complete = r.State, r.Values, now
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
