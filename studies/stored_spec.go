package studies

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"xlarun/rollout/settings"
	"xlarun/studies/rdb"
	"xlarun/studies/study"
)

// Attributes of a study.
const (
	specAttr = "xlarun:spec" // the settings that change results
	callAttr = "xlarun:call" // the other settings, as they were given last
)

// execution holds the settings of a spec that do not change results. It is stored as JSON under callAttr.
type execution struct {
	Trials, Workers   int
	Timeout, Lease    string
	Memory            int64
	Attempts          int64
	Checkpoint, Stall string
}

// SpecOf reads the spec that a study was started with.
func SpecOf(d *rdb.DB, id study.StudyID) (*Spec, error) {
	text, err := d.Attr(id, specAttr)
	if err != nil {
		return nil, err
	}
	if text == nil {
		return nil, errors.New("the study was not started by xlarun study run: it has no spec")
	}
	rest, err := d.Attr(id, callAttr)
	if err != nil {
		return nil, err
	}
	return specFrom(text, rest)
}

// specFrom joins the two parts of a spec. They may come from a network: the name becomes a folder's.
func specFrom(text, rest []byte) (*Spec, error) {
	s := Defaults()
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	if err := decoder.Decode(s); err != nil {
		return nil, err
	}
	if !namePattern.MatchString(s.Name) || s.Fixed == nil {
		return nil, fmt.Errorf("the spec of the study %q is damaged: it has no right name, or no settings", s.Name)
	}
	for name, v := range s.Fixed {
		s.Fixed[name] = plainNumbers(v)
	}
	for _, p := range s.Space {
		for on, list := range p.When {
			for i := range list {
				p.When[on][i] = plainNumbers(list[i])
			}
		}
	}
	var c execution
	if err := json.Unmarshal(rest, &c); err != nil {
		return nil, err
	}
	s.Trials, s.Workers, s.Timeout, s.Lease, s.Attempts, s.Memory, s.Checkpoint, s.Stall = c.Trials, c.Workers,
		c.Timeout, c.Lease, c.Attempts, settings.Bytes(c.Memory), c.Checkpoint, c.Stall
	return s, nil
}

// plainNumbers turns the numbers of JSON into those of TOML: int64 or float64.
func plainNumbers(v any) any {
	switch x := v.(type) {
	case json.Number:
		if n, err := strconv.ParseInt(x.String(), 10, 64); err == nil {
			return n
		}
		f, _ := x.Float64()
		return f
	case []any:
		for i := range x {
			x[i] = plainNumbers(x[i])
		}
	}
	return v
}

// checkSpec compares the spec with the one that the study was started with, and stores it.
func (c *Coordinator) checkSpec() error {
	id := c.study.ID()
	text, err := c.Spec.text()
	if err != nil {
		return err
	}
	before, err := c.db.Attr(id, specAttr)
	if err != nil {
		return err
	}
	if before != nil && string(before) != string(text) {
		return c.specDiffers(id)
	}
	s := c.Spec
	rest, err := json.Marshal(execution{s.Trials, s.Workers, s.Timeout, s.Lease, int64(s.Memory), s.Attempts,
		s.Checkpoint, s.Stall})
	if err != nil {
		return err
	}
	return errors.Join(c.db.SetAttr(id, callAttr, rest), c.db.SetAttr(id, specAttr, text))
}

// specDiffers names a setting that differs from the one that the study was started with.
func (c *Coordinator) specDiffers(id study.StudyID) error {
	old, err := SpecOf(c.db, id)
	if err != nil {
		return err
	}
	for _, f := range settings.Fields(c.Spec) {
		was, _ := settings.Lookup(old, f.Name)
		if !f.MayChange() && was.Text() != f.Text() {
			return wrong(f.Name, "got %s, but the study in %s was started with %s: give that, or another name",
				f.Text(), c.Spec.Where(), was.Text())
		}
	}
	names := slices.AppendSeq(slices.Collect(maps.Keys(c.Spec.Fixed)), maps.Keys(old.Fixed))
	for _, name := range slices.Sorted(slices.Values(names)) {
		if is, was := fixedText(c.Spec, name), fixedText(old, name); is != was {
			return wrong("run."+name, "got %s, but the study in %s was started with %s: give that, or another name", is,
				c.Spec.Where(), was)
		}
	}
	return wrong("param", "has other parameters than those with which the study in %s was started: give those, or "+
		"another name", c.Spec.Where())
}

// fixedText is a setting of the runs as JSON, "nothing" if it is not given.
func fixedText(s *Spec, name string) string {
	v, ok := s.Fixed[name]
	text, err := json.Marshal(v)
	if !ok || err != nil {
		return "nothing"
	}
	return string(text)
}
