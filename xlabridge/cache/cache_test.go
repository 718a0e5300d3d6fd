package cache

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	testKey  = NewKey([]byte("program"), []byte("options"))
	otherKey = NewKey([]byte("another"))
	testMeta = Metadata{Name: "generation", Created: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
		CompileSeconds: 1.5, Plugin: "abc", Platform: "cpu"}
	testPayload = bytes.Repeat([]byte("compiled bytes "), 100)
)

func TestKeyTellsPartsApart(t *testing.T) {
	require.Equal(t, NewKey([]byte("ab"), []byte("c")), NewKey([]byte("ab"), []byte("c")))
	require.NotEqual(t, NewKey([]byte("ab"), []byte("c")), NewKey([]byte("a"), []byte("bc")))
	require.NotEqual(t, NewKey([]byte("ab")), NewKey([]byte("ab"), nil))
	require.Len(t, testKey.String(), 64)
	parsed, err := ParseKey(testKey.String())
	require.NoError(t, err)
	require.Equal(t, testKey, parsed)
	for _, bad := range []string{"", "12", testKey.String() + "00", strings.Repeat("x", 64)} {
		_, err := ParseKey(bad)
		require.ErrorContains(t, err, "wanted 64 hexadecimal digits")
	}
}

func TestPutGet(t *testing.T) {
	c := New(filepath.Join(t.TempDir(), "made", "by", "put"))
	_, _, err := c.Get(testKey)
	require.ErrorIs(t, err, ErrAbsent)
	require.NoError(t, c.Put(testKey, testMeta, testPayload))
	payload, meta, err := c.Get(testKey)
	require.NoError(t, err)
	require.Equal(t, testPayload, payload)
	require.Equal(t, testMeta, meta)
	_, _, err = c.Get(otherKey)
	require.ErrorIs(t, err, ErrAbsent)

	require.NoError(t, c.Put(testKey, testMeta, nil), "an empty payload is the caller's affair")
	payload, _, err = c.Get(testKey)
	require.NoError(t, err)
	require.Empty(t, payload)
	require.NoError(t, c.Remove(testKey))
	require.NoError(t, c.Remove(testKey))
	_, _, err = c.Get(testKey)
	require.ErrorIs(t, err, ErrAbsent)
}

// resum gives a doctored file a checksum that matches, so that the checks behind it are reached.
func resum(file []byte) []byte {
	sum := checksum(file)
	copy(file[checksumAt:], sum[:])
	return file
}

// TestDefects damages an entry in every way and expects a miss that says so, and that the next Put
// repairs it.
func TestDefects(t *testing.T) {
	cases := []struct {
		name   string
		damage func(file []byte) []byte
		reason string
	}{
		{"empty file", func([]byte) []byte { return nil }, "cut short within its header"},
		{"header cut", func(f []byte) []byte { return f[:headerSize-1] }, "cut short within its header"},
		{"metadata cut", func(f []byte) []byte { return f[:headerSize+5] }, "follow its header"},
		{"payload cut", func(f []byte) []byte { return f[:len(f)-1] }, "follow its header"},
		{"byte too many", func(f []byte) []byte { return append(f, 0) }, "follow its header"},
		{"magic", func(f []byte) []byte { f[0] ^= 1; return f }, "does not begin with"},
		{"version", func(f []byte) []byte { f[8]++; return f }, "format 2, wanted 1"},
		{"metadata length", func(f []byte) []byte { f[12]++; return f }, "damaged"},
		{"metadata length huge", func(f []byte) []byte {
			binary.LittleEndian.PutUint32(f[12:], 1<<32-1)
			return f
		}, "follow its header"},
		{"payload length wraps", func(f []byte) []byte {
			binary.LittleEndian.PutUint64(f[16:], 1<<64-1)
			return f
		}, "follow its header"},
		{"key bit", func(f []byte) []byte { f[24] ^= 0x80; return f }, "checksum"},
		{"checksum bit", func(f []byte) []byte { f[checksumAt+3] ^= 4; return f }, "checksum"},
		{"metadata bit", func(f []byte) []byte { f[headerSize+2] ^= 1; return f }, "checksum"},
		{"first payload bit", func(f []byte) []byte { f[len(f)-len(testPayload)] ^= 1; return f }, "checksum"},
		{"last payload bit", func(f []byte) []byte { f[len(f)-1] ^= 1; return f }, "checksum"},
		{"zeroes of the same size", func(f []byte) []byte { clear(f); return f }, "does not begin with"},
		{"another entry under this name", func(f []byte) []byte {
			copy(f[24:], otherKey[:])
			return resum(f)
		}, "under a key that is not its own"},
		{"metadata no JSON", func(f []byte) []byte { f[headerSize] = '?'; return resum(f) }, "not JSON"},
		{"not ours at all", func([]byte) []byte {
			return []byte(strings.Repeat("#!/bin/sh\n", 50))
		}, "does not begin with"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			c := New(t.TempDir())
			require.NoError(t, c.Put(testKey, testMeta, testPayload))
			file, err := os.ReadFile(c.path(testKey))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(c.path(testKey), tc.damage(file), 0o644))

			_, _, err = c.Get(testKey)
			require.ErrorContains(t, err, tc.reason)
			require.NotErrorIs(t, err, ErrAbsent)
			entries, err := c.Verify()
			require.NoError(t, err)
			require.Len(t, entries, 1)
			require.Contains(t, entries[0].Defect, tc.reason)

			require.NoError(t, c.Put(testKey, testMeta, testPayload))
			payload, _, err := c.Get(testKey)
			require.NoError(t, err)
			require.Equal(t, testPayload, payload)
		})
	}
}

// TestEveryBit flips each bit of a small entry in turn: none may pass.
func TestEveryBit(t *testing.T) {
	file, err := encode(entry{key: testKey, meta: testMeta, payload: []byte("xy")})
	require.NoError(t, err)
	for bit := range 8 * len(file) {
		file[bit/8] ^= 1 << (bit % 8)
		_, err := decode(file)
		require.Error(t, err, "bit %d", bit)
		file[bit/8] ^= 1 << (bit % 8)
	}
	_, err = decode(file)
	require.NoError(t, err)
}

func TestFolderIsAFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(dir, nil, 0o644))
	c := New(dir)
	require.Error(t, c.Put(testKey, testMeta, testPayload))
	_, _, err := c.Get(testKey)
	require.Error(t, err)
}

func TestListVerifyPruneClear(t *testing.T) {
	c := New(t.TempDir())
	entries, err := New(filepath.Join(c.dir, "absent")).List()
	require.NoError(t, err)
	require.Empty(t, entries)

	now := time.Now()
	for i := range 4 {
		key := NewKey([]byte{byte(i)})
		meta := testMeta
		meta.Name = fmt.Sprint("program ", i)
		require.NoError(t, c.Put(key, meta, testPayload))
		used := now.Add(time.Duration(i-10) * time.Hour)
		require.NoError(t, os.Chtimes(c.path(key), used, used))
	}
	bystander := filepath.Join(c.dir, "README")
	require.NoError(t, os.WriteFile(bystander, []byte("mine"), 0o644))
	dead, fresh := filepath.Join(c.dir, tmpPrefix+"dead"), filepath.Join(c.dir, tmpPrefix+"fresh")
	require.NoError(t, os.WriteFile(dead, nil, 0o644))
	require.NoError(t, os.Chtimes(dead, now.Add(-2*tmpAge), now.Add(-2*tmpAge)))
	require.NoError(t, os.WriteFile(fresh, nil, 0o644))

	entries, err = c.List()
	require.NoError(t, err)
	require.Len(t, entries, 4)
	for i, e := range entries {
		require.Equal(t, fmt.Sprint("program ", 3-i), e.Meta.Name, "last used first")
		require.Equal(t, NewKey([]byte{byte(3 - i)}).String(), e.Key)
		require.Empty(t, e.Defect)
	}

	_, _, err = c.Get(NewKey([]byte{0}))
	require.NoError(t, err)
	entries, err = c.List()
	require.NoError(t, err)
	require.Equal(t, "program 0", entries[0].Meta.Name, "a hit counts as use")

	size := entries[0].Bytes
	removed, freed, err := c.Prune(2*size + 10)
	require.NoError(t, err)
	require.Equal(t, 2, removed)
	require.Equal(t, 2*size, freed)
	entries, err = c.Verify()
	require.NoError(t, err)
	require.Len(t, entries, 2)
	require.Equal(t, "program 0", entries[0].Meta.Name)
	require.Equal(t, "program 3", entries[1].Meta.Name)
	require.NoFileExists(t, dead)
	require.FileExists(t, fresh, "another process may be writing it")

	removed, _, err = c.Clear()
	require.NoError(t, err)
	require.Equal(t, 2, removed)
	require.FileExists(t, bystander)
	entries, err = c.List()
	require.NoError(t, err)
	require.Empty(t, entries)
}

// Programs and the plans beside them share a limit: whatever was used longest ago goes first.
func TestPruneSeveral(t *testing.T) {
	programs := New(filepath.Join(t.TempDir(), "programs"))
	plans := programs.Plans()
	require.Equal(t, filepath.Join(filepath.Dir(programs.Dir()), "plans"), plans.Dir())
	now := time.Now()
	put := func(c *Cache, i int, hours int) {
		key := NewKey([]byte{byte(i)})
		require.NoError(t, c.Put(key, testMeta, testPayload))
		used := now.Add(-time.Duration(hours) * time.Hour)
		require.NoError(t, os.Chtimes(c.path(key), used, used))
	}
	put(programs, 0, 5)
	put(plans, 0, 4)
	put(programs, 1, 3)
	put(plans, 1, 2)
	entries, err := plans.List()
	require.NoError(t, err)
	require.Len(t, entries, 2, "each has its own")
	size := entries[0].Bytes

	removed, err := Prune(4*size, programs, plans)
	require.NoError(t, err)
	require.Equal(t, []Removed{{}, {}}, removed)
	removed, err = Prune(size+10, programs, plans)
	require.NoError(t, err)
	require.Equal(t, []Removed{{2, 2 * size}, {1, size}}, removed)
	_, _, err = plans.Get(NewKey([]byte{1}))
	require.NoError(t, err, "used last")
	removed, err = Prune(-1, programs, plans)
	require.NoError(t, err)
	require.Equal(t, []Removed{{}, {1, size}}, removed)
}

// hammer stores and reads a few keys; every read must be a whole entry or an ordinary miss.
func hammer(c *Cache, seed int) error {
	for i := range 40 {
		key := NewKey([]byte{byte(i % 3)})
		payload := bytes.Repeat([]byte{byte(i % 3)}, 50_000)
		if (i+seed)%2 == 0 {
			if err := c.Put(key, testMeta, payload); err != nil {
				return err
			}
			continue
		}
		got, _, err := c.Get(key)
		if err == ErrAbsent {
			continue
		}
		if err != nil {
			return err
		}
		if !bytes.Equal(got, payload) {
			return fmt.Errorf("key %d: wrong payload", i%3)
		}
	}
	return nil
}

const hammerEnv = "XLARUN_TEST_HAMMER"

// TestMain lets the test binary be the other process of TestConcurrentWriters.
func TestMain(m *testing.M) {
	if dir := os.Getenv(hammerEnv); dir != "" {
		if err := hammer(New(dir), 1); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestConcurrentWriters(t *testing.T) {
	c := New(t.TempDir())
	var wg sync.WaitGroup
	errs := make(chan error, 6)
	for i := range 4 {
		wg.Go(func() { errs <- hammer(c, i) })
	}
	for range 2 {
		wg.Go(func() {
			other := exec.Command(os.Args[0])
			other.Env = append(os.Environ(), hammerEnv+"="+c.dir)
			if out, err := other.CombinedOutput(); err != nil {
				errs <- fmt.Errorf("%w: %s", err, out)
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	entries, err := c.Verify()
	require.NoError(t, err)
	require.Len(t, entries, 3)
	for _, e := range entries {
		require.Empty(t, e.Defect)
	}
	left, err := filepath.Glob(filepath.Join(c.dir, tmpPrefix+"*"))
	require.NoError(t, err)
	require.Empty(t, left)
}
