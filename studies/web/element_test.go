package web

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// element is an element of a page. Its nodes are *element or string.
type element struct {
	Tag   string            `json:"tag"`
	Attrs map[string]string `json:"attrs"`
	Nodes []any             `json:"nodes"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (e *element) UnmarshalJSON(text []byte) error {
	var raw struct {
		Tag   string
		Attrs map[string]string
		Nodes []json.RawMessage
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		return err
	}
	e.Tag, e.Attrs = raw.Tag, raw.Attrs
	for _, node := range raw.Nodes {
		var word string
		if err := json.Unmarshal(node, &word); err == nil {
			e.Nodes = append(e.Nodes, word)
			continue
		}
		child := &element{}
		if err := json.Unmarshal(node, child); err != nil {
			return err
		}
		e.Nodes = append(e.Nodes, child)
	}
	return nil
}

// parse reads a page as HTML has it.
func parse(t *testing.T, text string) *element {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	open := []*element{{}}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		in := open[len(open)-1]
		switch x := token.(type) {
		case xml.StartElement:
			e := &element{Tag: x.Name.Local, Attrs: map[string]string{}}
			for _, a := range x.Attr {
				e.Attrs[a.Name.Local] = a.Value
			}
			in.Nodes = append(in.Nodes, e)
			open = append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			in.Nodes = append(in.Nodes, string(x))
		}
	}
	all := open[0].all("html")
	require.Len(t, all, 1)
	return all[0]
}

// text is what an element says.
func (e *element) text() (text string) {
	for _, node := range e.Nodes {
		if child, ok := node.(*element); ok {
			text += child.text()
		} else {
			text += node.(string)
		}
	}
	return text
}

// label is what an element says itself, without its children.
func (e *element) label() (text string) {
	for _, node := range e.Nodes {
		if own, ok := node.(string); ok {
			text += own
		}
	}
	return text
}

// all returns the elements below one that are of a tag, in order; "" is any.
func (e *element) all(tag string) (all []*element) {
	for _, node := range e.Nodes {
		if child, ok := node.(*element); ok {
			if tag == "" || child.Tag == tag {
				all = append(all, child)
			}
			all = append(all, child.all(tag)...)
		}
	}
	return all
}

// id returns the element with an ID.
func (e *element) id(t *testing.T, id string) *element {
	t.Helper()
	all := slices.DeleteFunc(e.all(""), func(e *element) bool { return e.Attrs["id"] != id })
	require.Len(t, all, 1, id)
	return all[0]
}

// class returns the elements below one that have a class.
func (e *element) class(name string) []*element {
	return slices.DeleteFunc(e.all(""), func(e *element) bool {
		return !slices.Contains(strings.Fields(e.Attrs["class"]), name)
	})
}

// labels returns what each element says itself.
func labels(all []*element) []string {
	out := make([]string, len(all))
	for i, e := range all {
		out[i] = e.label()
	}
	return out
}

// texts returns what each element says.
func texts(all []*element) []string {
	out := make([]string, len(all))
	for i, e := range all {
		out[i] = e.text()
	}
	return out
}

// rows returns what the cells of the table in an element say.
func (e *element) rows() (all [][]string) {
	for _, row := range e.all("tr") {
		all = append(all, texts(append(row.all("th"), row.all("td")...)))
	}
	return all
}

// plot returns the picture in an element, which is the one with a role: the others are its key.
func (e *element) plot(t *testing.T) *element {
	t.Helper()
	all := slices.DeleteFunc(e.all("svg"), func(e *element) bool { return e.Attrs["role"] != "img" })
	require.Len(t, all, 1)
	return all[0]
}

// ticks returns the numbers at the axes of a picture: those of y, which end at their axis, and those of x.
func (e *element) ticks() (x, y []string) {
	for _, label := range e.all("text") {
		switch {
		case label.Attrs["text-anchor"] == "end":
			y = append(y, label.text())
		case strings.ContainsAny(label.text(), "0123456789") && !strings.Contains(label.text(), " "):
			x = append(x, label.text())
		}
	}
	return x, y
}
