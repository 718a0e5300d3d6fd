// Package python serves the Python package: its strategies and environments live in a child process, this program, and
// their arrays in memory that both processes share.
//
// A request is a line, "NUMBER OBJECT REQUEST ARGUMENT": such as "5 0 strategy {…}", which makes an object, or
// "6 1 ask 0". Object 0 is the server itself. The answer is a line, "NUMBER JSON", which is a console.Failure if the
// request failed. Python may stop waiting for an answer, so it has the request's number. A request ends before the next
// one begins.
package python

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"xlarun/cmd/xlarun/console"
	"xlarun/envs"
	"xlarun/graph"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// object is something that Python holds: its requests by name, and what frees it.
type object struct {
	requests map[string]func(argument []byte) (any, error)
	memory   *memory
	close    func()
}

// Server answers requests. Open opens the backend for the first one that needs it.
type Server struct {
	Open    func() (xlabridge.Backend, error)
	backend xlabridge.Backend
	objects []object // by number; requests of a closed one are nil
}

// Serve answers the lines of in until it ends.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	s.objects = []object{{requests: map[string]func(argument []byte) (any, error){
		"environments": func([]byte) (any, error) { return playable(), nil },
		"strategy":     func(argument []byte) (any, error) { return s.searchOf(argument, s.strategy) },
		"archive":      func(argument []byte) (any, error) { return s.searchOf(argument, s.archive) },
		"vector": func(argument []byte) (any, error) {
			o, description, err := s.vector(argument)
			return s.add(o, description, keywords{"env-param": "params"}.sentence(err))
		},
		"close": s.closeObject,
	}}}
	defer func() {
		for i := range s.objects {
			_, _ = s.closeObject([]byte(strconv.Itoa(i)))
		}
		if s.backend != nil {
			_ = s.backend.Close()
		}
	}()
	lines, spinner := bufio.NewReader(in), newSpinner(in)
	for {
		if lines.Buffered() == 0 {
			spinner.wait()
		}
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil // Python has ended
		}
		number, line, _ := bytes.Cut(line, []byte(" "))
		answer, err := s.answer(line)
		if err == nil {
			line, err = json.Marshal(answer)
		}
		if err != nil {
			line, _ = json.Marshal(console.Failure{Error: console.CodeOf(ctx, err), Message: console.OneLine(err),
				Status: console.StatusOf(ctx, err)})
		}
		if _, err := fmt.Fprintf(out, "%s %s\n", number, line); err != nil {
			return nil
		}
	}
}

// answer returns the answer to a line.
func (s *Server) answer(line []byte) (answer any, err error) {
	number, rest, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
	name, argument, _ := bytes.Cut(rest, []byte(" "))
	i, err := strconv.Atoi(string(number))
	if err != nil || i < 0 || i >= len(s.objects) {
		return nil, console.BadInput("a request got object %q, wants one of %d", number, len(s.objects))
	}
	request := s.objects[i].requests[string(name)]
	if s.objects[i].requests == nil {
		return nil, console.BadInput("%s: got a request of an object that is closed, want a new one", name)
	}
	if request == nil {
		return nil, console.BadInput("object %d got the request %q, which it does not have: the Python package and "+
			"the program are of different versions", i, name)
	}
	if thrown := envs.Try(func() { answer, err = request(argument) }); thrown != nil {
		err = thrown
	}
	return answer, err
}

// add numbers a new object. description is what Python gets beside the number.
func (s *Server) add(o object, description map[string]any, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	description["object"] = len(s.objects)
	s.objects = append(s.objects, o)
	return description, nil
}

// closeObject frees an object.
func (s *Server) closeObject(argument []byte) (any, error) {
	i, err := strconv.Atoi(string(argument))
	if err == nil && i > 0 && i < len(s.objects) && s.objects[i].requests != nil {
		s.objects[i].close()
		s.objects[i] = object{}
	}
	return nil, err
}

// device returns the backend.
func (s *Server) device() (xlabridge.Backend, error) {
	if s.backend != nil {
		return s.backend, nil
	}
	var err error
	s.backend, err = s.Open()
	return s.backend, err
}

// read reads the argument of a request. Whole numbers in maps of any become int.
func read(argument []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(argument))
	d.UseNumber()
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// valuesOf returns keyword arguments of Python as settings: "learning_rate" is learning-rate.
func valuesOf(keywords map[string]any) settings.Values {
	values := settings.Values{}
	for name, value := range keywords {
		if n, ok := value.(json.Number); ok {
			if whole, err := strconv.Atoi(string(n)); err == nil {
				value = whole
			} else if x, err := n.Float64(); err == nil {
				value = x
			}
		}
		values[strings.ReplaceAll(name, "_", "-")] = value // as keyword writes it
	}
	return values
}

// keywords are names of keyword arguments in Python by those of settings.
type keywords map[string]string

// add adds settings behind a prefix, whose keywords are behind another one.
func (k keywords) add(prefix, before string, names ...string) {
	for _, name := range names {
		k[prefix+name] = before + keyword(name)
	}
}

// keyword returns the keyword argument of a setting.
func keyword(name string) string { return strings.ReplaceAll(name, "-", "_") }

// sentence returns an error of settings as one of keyword arguments.
func (k keywords) sentence(err error) error {
	wrong, ok := errors.AsType[*settings.Error](err)
	if !ok {
		return err
	}
	known := func(name string) string {
		if keyword, ok := k[strings.TrimPrefix(name, "--")]; ok {
			return keyword
		}
		return name
	}
	return console.BadInput("%s: got %s, want %s", known(wrong.Key), wrong.Got,
		setting.ReplaceAllStringFunc(wrong.Wants, known))
}

// setting is what looks like a setting's name among other words: --batch, emitter.bounds, qd-offset.
var setting = regexp.MustCompile(`--[a-z0-9.-]*[a-z0-9]|\b[a-z]+([.-][a-z0-9]+)+`)

// kept is what an object has in the program.
type kept struct {
	server   *Server
	memory   *memory
	state    []*graph.Array // on the device
	programs []*xlabridge.Compiled
}

// program compiles a function. The arguments and results of the program are flat: leaf after leaf.
func (k *kept) program(name, purpose string, args []any, donate []int,
	f func(args []any) any) (*xlabridge.Compiled, error) {
	b, err := k.server.device()
	if err != nil {
		return nil, err
	}
	p, err := graph.TraceArgs(name, args, graph.TraceOptions{Donate: donate}, f)
	if err != nil {
		return nil, err
	}
	x, err := b.Compile(p, xlabridge.CompileOptions{Purpose: fmt.Sprintf("Python: %s of %s", name, purpose)}.ForJit(b))
	if err == nil {
		k.programs = append(k.programs, x)
	}
	return x, err
}

func (k *kept) close() {
	xlabridge.Free(k.state)
	for _, p := range k.programs {
		_ = p.Close()
	}
	k.memory.close()
}

// call runs a program on groups of leaves, one after the other.
func call(p *xlabridge.Compiled, groups ...[]*graph.Array) ([]*graph.Array, error) {
	var args []*graph.Array
	for _, g := range groups {
		args = append(args, g...)
	}
	return p.Call(args)
}

// request is a request whose argument is the number of a slot, and which has no answer.
func (m *memory) request(f func(slot int) error) func(argument []byte) (any, error) {
	return func(argument []byte) (any, error) {
		slot, err := strconv.Atoi(string(argument))
		if err != nil || slot < 0 || slot >= m.slots {
			return nil, fmt.Errorf("got the slot %q, want one of %d", argument, m.slots)
		}
		return nil, f(slot)
	}
}
