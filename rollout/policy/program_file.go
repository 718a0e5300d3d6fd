package policy

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"xlarun/graph"
	"xlarun/graph/safetensors"
	"xlarun/graph/stablehlo"
	"xlarun/internal/files"
)

// Limits of a program's text, in bytes. A packed program stands in a run's config.
const (
	longestProgram = 64 << 20
	longestPacked  = 512 << 10
)

// programs has the functions that this process has read, by their packed texts.
var programs sync.Map

// readProgram reads a function that JAX exported. It returns the function and its packed text.
func readProgram(path string) (*stablehlo.Function, string, error) {
	file, err := files.Read(path, longestProgram)
	if err != nil {
		return nil, "", err
	}
	text, err := stablehlo.Text(path, file)
	if err != nil {
		return nil, "", reason(err, path)
	}
	packed := packProgram(stablehlo.Compact(text))
	if f, ok := programs.Load(packed); ok {
		return f.(*stablehlo.Function), packed, nil
	}
	f, err := stablehlo.Parse(path, text) // the file itself, whose lines errors name
	if err != nil {
		return nil, "", reason(err, path)
	}
	if len(packed) > longestPacked {
		return nil, "", fmt.Errorf("it has large constants, %d KiB when packed, at most %d KiB: pass them as "+
			"parameters", len(packed)>>10, longestPacked>>10)
	}
	programs.Store(packed, f)
	return f, packed, nil
}

// reason is why a file cannot be read, without its path and without the line of Go that reads it.
func reason(err error, path string) error {
	text := err.Error()
	if e, ok := errors.AsType[*graph.Error](err); ok {
		text = e.Msg
	}
	return errors.New(strings.TrimPrefix(text, path+": "))
}

func packProgram(text string) string {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	_, _ = z.Write([]byte(text)) // a Buffer takes all
	_ = z.Close()
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// unpackedProgram returns the function of a packed text.
func unpackedProgram(packed string) (*stablehlo.Function, error) {
	if f, ok := programs.Load(packed); ok {
		return f.(*stablehlo.Function), nil
	}
	b, err := base64.StdEncoding.DecodeString(packed)
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(z, longestProgram+1))
	if err == nil && len(text) > longestProgram {
		err = fmt.Errorf("it has more than %d bytes", longestProgram)
	}
	if err != nil {
		return nil, err
	}
	f, err := stablehlo.Parse("the program", string(text))
	if err == nil {
		programs.Store(packed, f)
	}
	return f, err
}

// paramFile is a parameter file that was read.
type paramFile struct {
	bytes  []byte
	arrays map[string]*graph.Array // by the names in the file, with dots for slashes
	digest string                  // sha256 of its bytes, in hexadecimal digits
}

// programParams has the parameter files that this process has read, by digest: a file that changes or goes away during
// a run changes nothing in it, as the settings of a run have the digest.
var programParams sync.Map

// longestParams is the largest parameter file, in bytes.
const longestParams = 2 << 30

// readProgramParams reads a parameter file. It refuses one with another digest; "" takes any.
func readProgramParams(path, digest string) (*paramFile, error) {
	if f, ok := programParams.Load(digest); ok {
		return f.(*paramFile), nil
	}
	b, err := files.Read(path, longestParams)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(b)
	f := &paramFile{bytes: b, digest: hex.EncodeToString(sum[:]), arrays: map[string]*graph.Array{}}
	if digest != "" && digest != f.digest {
		return nil, fmt.Errorf("it has changed since the run began: its sha256 is %s, and policy.sha256 is %s; "+
			"without policy.sha256 and policy.module it is taken as it is now", f.digest, digest)
	}
	if before, ok := programParams.Load(f.digest); ok {
		return before.(*paramFile), nil
	}
	file, err := safetensors.New(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(strings.TrimPrefix(err.Error(), "safetensors: "), "file: "))
	}
	if err := file.CheckDigest(); err != nil {
		return nil, err
	}
	for _, name := range file.Names() {
		a, err := file.Array(name)
		if err != nil {
			return nil, err
		}
		plain := leafOf("_." + strings.ReplaceAll(name, "/", "."))
		if f.arrays[plain] != nil {
			return nil, fmt.Errorf("two of its arrays are called %s", plain)
		}
		f.arrays[plain] = a
	}
	programParams.Store(f.digest, f)
	return f, nil
}

// readParams reads the parameter file and compares it with the function.
func (p *Program) readParams() error {
	f, err := readProgramParams(p.Params, p.SHA256)
	if err != nil {
		return err
	}
	var names []string
	for name := range f.arrays {
		names = append(names, name)
	}
	slices.Sort(names)
	inputs, labels := p.function.Inputs(), p.function.Names()
	p.start, p.digest = map[string]*graph.Array{}, f.digest
	for i, name := range p.names {
		a := f.arrays[strings.ReplaceAll(name, "/", ".")]
		if a == nil {
			return fmt.Errorf("it has no array %q for %s; it has %s", name, labels[i], listed(names))
		}
		if !slices.Equal(a.Dims(), inputs[i].Dims) || !a.DType().IsFloat() {
			return fmt.Errorf("its %s is %s, and the program takes %s", name, a.Shape(), inputs[i])
		}
		finite, err := graph.Eval(a.IsFinite().All())
		if err != nil {
			return err
		}
		if t, err := graph.ToTensor(finite); err != nil || !t.B(0) {
			return errors.Join(err, fmt.Errorf("its %s has NaN or infinity", name))
		}
		p.start[name] = a
	}
	for _, name := range names {
		if !slices.ContainsFunc(p.names, func(n string) bool { return strings.ReplaceAll(n, "/", ".") == name }) {
			return fmt.Errorf("its array %s is no parameter of the program: leave it out, or export with "+
				"jax.jit(apply, keep_unused=True)", name)
		}
	}
	return nil
}

// listed lists at most five names.
func listed(names []string) string {
	switch {
	case len(names) == 0:
		return "none"
	case len(names) > 5:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:5], ", "), len(names)-5)
	}
	return strings.Join(names, ", ")
}
