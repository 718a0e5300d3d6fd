package faults

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

// effect is how often faults of a kind happened, and how often they were seen to do something: a process ended or
// stood still, a link was given packets, a moved coordinator answered, or a node said so.
type effect struct{ faults, seen int }

// effects are those of all histories.
var effects = effectTable{kinds: map[string]*effect{}}

type effectTable struct {
	mu    sync.Mutex
	kinds map[string]*effect
}

// said is what a node writes when a fault of a kind does something.
var said = map[string]*regexp.Regexp{
	clockSet: regexp.MustCompile(clockJumped),
	version:  regexp.MustCompile("this worker is xlarun another, the study is served by"),
	fullDisk: regexp.MustCompile("(?i)no space left|disk is full|disk full"),
}

func (e *effectTable) of(kind string) *effect {
	if e.kinds[kind] == nil {
		e.kinds[kind] = &effect{}
	}
	return e.kinds[kind]
}

// planned notes that a fault begins, had that one did something.
func (e *effectTable) planned(kind string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.of(kind).faults++
}

func (e *effectTable) had(kind string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.of(kind).seen++
}

// read notes what a node has said.
func (e *effectTable) read(text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for kind, pattern := range said {
		e.of(kind).seen += len(pattern.FindAllString(text, -1))
	}
}

// enough is how many faults of a kind do something at least once.
const enough = 20

// check fails if faults of a kind did nothing.
func (e *effectTable) check(t *testing.T) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for kind, x := range e.kinds {
		assert.False(t, x.faults >= enough && x.seen == 0, "%d faults of the kind %s did nothing", x.faults, kind)
	}
}

func (e *effectTable) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []string
	for _, kind := range slices.Sorted(maps.Keys(e.kinds)) {
		all = append(all, fmt.Sprintf("%s %d/%d", kind, e.kinds[kind].seen, e.kinds[kind].faults))
	}
	return "seen/faults: " + strings.Join(all, ", ")
}
