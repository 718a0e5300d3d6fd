package settings

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Registry holds the choices of a part by name, such as the strategies of an evolution. T is a pointer to a struct of
// settings, or an interface of such. Several goroutines may use it.
type Registry[T any] struct {
	pkg, part, noun string

	mu    sync.RWMutex
	makes map[string]func() T
}

// NewRegistry returns an empty registry. Errors name the package, the part, and a choice by the noun, as in "the
// strategy openes".
func NewRegistry[T any](pkg, part, noun string) *Registry[T] {
	return &Registry[T]{pkg: pkg, part: part, noun: noun, makes: map[string]func() T{}}
}

// Register adds a choice under a name without colons and blanks. create returns it with its default settings. Register
// refuses a name that is taken.
func (r *Registry[T]) Register(name string, create func() T) error {
	if name == "" || strings.ContainsAny(name, ": ") || create == nil {
		return fmt.Errorf("%s.Register: got name %q, want one without colons and blanks, and a function that "+
			"makes the %s", r.pkg, name, r.noun)
	}
	made := reflect.ValueOf(create())
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.makes[name] != nil {
		return fmt.Errorf("%s.Register: %s is registered already: choose another name", r.pkg, name)
	}
	if !made.IsValid() || made.Kind() == reflect.Pointer && made.IsNil() {
		return fmt.Errorf("%s.Register: got a function that returns nil for %s, want one that returns a pointer to "+
			"its settings", r.pkg, name)
	}
	r.makes[name] = create
	return nil
}

// MustRegister is Register for init functions.
func (r *Registry[T]) MustRegister(name string, create func() T) {
	if err := r.Register(name, create); err != nil {
		panic(err)
	}
}

// Names lists the choices, sorted.
func (r *Registry[T]) Names() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Sorted(maps.Keys(r.makes))
}

// New returns the choice of a name with its default settings.
func (r *Registry[T]) New(name string) (choice T, ok bool) {
	r.mu.RLock()
	create := r.makes[name]
	r.mu.RUnlock()
	if create == nil {
		return choice, false
	}
	return create(), true
}

// Part returns the part of a kind of run's settings.
func (r *Registry[T]) Part() Part {
	p := Part{Name: r.part, Choices: map[string]any{}}
	for _, name := range r.Names() {
		p.Choices[name], _ = r.New(name)
	}
	return p
}

// Choose returns the choice of a spec, "name" or "name:arguments", with settings by name. Its errors are *Error. For an
// unknown name it lists all names and suggests the nearest. A choice whose settings must fit each other has a method
// Check() error, which finds the first mistake: an *Error whose key begins with the part, "strategy.".
func (r *Registry[T]) Choose(spec string, values Values) (choice T, err error) {
	var none T
	name, args, given := strings.Cut(spec, ":")
	choice, ok := r.New(name)
	if !ok {
		e := Unknown(r.part, name, r.Names())
		e.Got = strconv.Quote(spec)
		return none, e
	}
	if given {
		fields := Fields(choice)
		i := slices.IndexFunc(fields, Field.IsArgument)
		if i < 0 {
			return none, Wrong(r.part, spec, "%q: this %s takes nothing after a colon", name, r.noun)
		}
		f := fields[i]
		if _, twice := values[f.Name]; twice {
			return none, Wrong(r.part+"."+f.Name, values[f.Name], "it either here or after the colon of %q, not both",
				spec)
		}
		if err := f.Set(args); err != nil || strings.TrimSpace(args) == "" || Check(choice) != nil {
			if f.Default == "" {
				return none, Wrong(r.part, spec, "%s", f.Wants)
			}
			return none, Wrong(r.part, spec, "%s, as in %q", f.Wants, name+":"+f.Default)
		}
	}
	if err := values.Apply(choice, "the "+r.noun+" "+name, r.part+"."); err != nil {
		return none, err
	}
	if c, ok := any(choice).(interface{ Check() error }); ok {
		if err := c.Check(); err != nil {
			return none, err
		}
	}
	return choice, nil
}

// AnyOf joins names in a sentence: "genome, hyperneat or multispatial".
func AnyOf(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
