package safetensors

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"xlarun/graph"
)

// Save writes a tree's arrays, each under the Name of its path, and metadata to a file. It is atomic: it writes a
// temporary file in the same folder, syncs it, and renames it.
func Save(path string, tree any, metadata map[string]string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("safetensors: %s: %w", path, err)
		}
	}()
	temporary := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%016x.tmp", filepath.Base(path), rand.Uint64()))
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(f, 1<<20)
	err = write(buffered, tree, metadata)
	if err == nil {
		err = buffered.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	return syncFolder(filepath.Dir(path))
}

// syncFolder makes a rename in a folder durable.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Write writes a tree's arrays and metadata, as Save does, to w.
func Write(w io.Writer, tree any, metadata map[string]string) error {
	if err := write(w, tree, metadata); err != nil {
		return fmt.Errorf("safetensors: %w", err)
	}
	return nil
}

func write(w io.Writer, tree any, metadata map[string]string) error {
	leaves, _, names, err := flatten(tree)
	if err != nil {
		return err
	}
	// Wide elements first, so that each tensor is aligned to its element size; then by name.
	order := make([]int, len(leaves))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Or(graph.ItemSize(leaves[j].DType())-graph.ItemSize(leaves[i].DType()),
			cmp.Compare(names[i], names[j]))
	})
	text, err := headerText(leaves, names, order, metadata)
	if err != nil {
		return err
	}
	if _, err := w.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(text)))); err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return err
	}
	for _, i := range order {
		var unwritten error
		err := graph.View(leaves[i], func(b []byte) error {
			if want := leaves[i].Shape().Bytes(); len(b) != want {
				return fmt.Errorf("its data has %d bytes, want %d", len(b), want)
			}
			_, unwritten = w.Write(b)
			return nil
		})
		if err != nil {
			return fmt.Errorf("tensor %q: %w", names[i], err)
		}
		if unwritten != nil {
			return unwritten
		}
	}
	return nil
}

// headerText is the JSON header, padded with spaces to a multiple of 8 bytes.
func headerText(leaves []*graph.Array, names []string, order []int, metadata map[string]string) ([]byte, error) {
	var b bytes.Buffer
	separator := "{"
	entry := func(name string, value any) error {
		key, err := json.Marshal(name)
		if err != nil {
			return err
		}
		text, err := json.Marshal(value)
		if err != nil {
			return err
		}
		b.WriteString(separator)
		b.Write(key)
		b.WriteByte(':')
		b.Write(text)
		separator = ","
		return nil
	}
	if len(metadata) > 0 {
		for k, v := range metadata {
			if !utf8.ValidString(k) || !utf8.ValidString(v) {
				return nil, fmt.Errorf("metadata %q is not UTF-8", k)
			}
		}
		if err := entry(metadataKey, metadata); err != nil {
			return nil, err
		}
	}
	type info struct {
		DType   string `json:"dtype"`
		Shape   []int  `json:"shape"`
		Offsets [2]int `json:"data_offsets"`
	}
	at := 0
	for _, i := range order {
		s := leaves[i].Shape()
		name := dtypeName(s.DType)
		if name == "" {
			return nil, fmt.Errorf("tensor %q is %s, a type that the format does not have", names[i], s)
		}
		if err := entry(names[i], info{name, append([]int{}, s.Dims...), [2]int{at, at + s.Bytes()}}); err != nil {
			return nil, err
		}
		at += s.Bytes()
	}
	if separator == "{" {
		b.WriteByte('{')
	}
	b.WriteByte('}')
	for b.Len()%8 != 0 {
		b.WriteByte(' ')
	}
	if b.Len() > maxHeader {
		return nil, fmt.Errorf("the header takes %d bytes, the format allows %d", b.Len(), maxHeader)
	}
	return b.Bytes(), nil
}
