package genome

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// keys lists the keys of a document.
const keys = "recurrent, nodes (number, kind, bias, response, activation, aggregation), " +
	"connections (innovation, from, to, weight, enabled) and metadata"

// decode reads a value from JSON, in which keys are in lower case. what is the name of the value. If strict, it refuses
// keys that the value does not have.
func decode(text []byte, value any, what string, strict bool) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if strict {
		d.DisallowUnknownFields()
	}
	switch err := d.Decode(value); {
	case err == nil:
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			return fmt.Errorf("has text after the JSON of %s", what)
		}
		return nil
	case errors.Is(err, io.EOF):
		return errors.New("is empty")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("ends in the middle of the JSON of %s", what)
	default:
		return wrong(text, err, what)
	}
}

// complete refuses a genome in JSON in which a node or a connection lacks a key. Inputs have only a number and a kind.
func complete(text []byte) error {
	var d struct{ Nodes, Connections []map[string]json.RawMessage }
	if err := json.Unmarshal(text, &d); err != nil {
		return wrong(text, err, "a genome")
	}
	lacks := func(what string, i int, value map[string]json.RawMessage, keys ...string) error {
		for _, k := range keys {
			if v, ok := value[k]; !ok || string(v) == "null" {
				return fmt.Errorf("%s %d of its list has no %s", what, i+1, k)
			}
		}
		return nil
	}
	for i, n := range d.Nodes {
		keys := []string{"number", "kind", "bias", "response", "activation", "aggregation"}
		if string(n["kind"]) == `"`+kindInput+`"` {
			keys = keys[:2]
		}
		if err := lacks("node", i, n, keys...); err != nil {
			return err
		}
	}
	for i, c := range d.Connections {
		if err := lacks("connection", i, c, "innovation", "from", "to", "weight", "enabled"); err != nil {
			return err
		}
	}
	return nil
}

// wrong says in one sentence what an error of encoding/json means.
func wrong(text []byte, err error, what string) error {
	line := func(offset int64) int { return 1 + bytes.Count(text[:min(int(offset), len(text))], []byte("\n")) }
	if other := (*json.UnmarshalTypeError)(nil); errors.As(err, &other) {
		field, got := strings.ToLower(other.Field), other.Value
		if field == "" {
			field = "the whole"
		}
		if number, ok := strings.CutPrefix(got, "number "); ok {
			got = number
		} else {
			got = "of the type " + got
		}
		return fmt.Errorf("is not %s in JSON: line %d: %s is %s, want %s", what, line(other.Offset), field, got,
			jsonName(other.Type))
	}
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		return fmt.Errorf("is not %s in JSON: line %d: %w", what, line(syntax.Offset), err)
	}
	if key, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return fmt.Errorf("has the key %s, want only %s", key, keys)
	}
	return fmt.Errorf("is not %s in JSON: %w", what, err)
}

// jsonName returns the name in JSON of what a Go type holds.
func jsonName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int:
		return "a whole number of at most 64 bits"
	case reflect.Float64:
		return "a number of at most 64 bits"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "an array"
	}
	return "an object"
}
