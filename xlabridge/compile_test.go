package xlabridge

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/xlabridge/cache"
)

// runAxpy checks that a program does what axpyText says.
func runAxpy(t *testing.T, c *Client, e *Executable) {
	t.Helper()
	out, err := e.execute([][]*buffer{{f32(t, c, 0, 1, 2, 3), f32(t, c, 0, 10, 20, 30)}}, nil)
	require.NoError(t, err)
	require.Equal(t, []float32{11, 42, 93}, host(t, out[0][0]))
	require.Equal(t, []float32{-9, -18, -27}, host(t, out[0][1]))
}

func TestCompileCache(t *testing.T) {
	dir := t.TempDir()
	first := openAlone(t, Options{CacheDir: dir})
	e := compile(t, first, axpyText, CompileOptions{})
	require.Equal(t, cache.Miss, e.Info().Cache)
	require.Equal(t, "not in the cache yet", e.Info().Reason)
	require.Positive(t, e.Info().Bytes)
	require.Positive(t, e.Info().Seconds)
	runAxpy(t, first, e)

	entries, err := first.Cache().Verify()
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.Empty(t, entries[0].Defect)
	require.Equal(t, e.Info().Key, entries[0].Key)
	require.Equal(t, t.Name(), entries[0].Meta.Name)
	require.Equal(t, first.Fingerprint(), entries[0].Meta.Plugin)
	require.Contains(t, entries[0].Meta.Platform, "cpu")
	needs, err := e.Memory()
	require.NoError(t, err)
	require.Positive(t, needs.Outputs)
	require.NotEmpty(t, entries[0].Meta.Memory)

	// Another client with more devices finds the same program.
	second := openAlone(t, Options{CacheDir: dir, Devices: 2})
	again := compile(t, second, axpyText, CompileOptions{})
	require.Equal(t, cache.Hit, again.Info().Cache, again.Info().Reason)
	require.Empty(t, again.Info().Reason)
	require.Equal(t, e.Info().Key, again.Info().Key)
	require.Equal(t, e.Info().Bytes, again.Info().Bytes)
	kept, err := again.Memory()
	require.NoError(t, err)
	require.Equal(t, needs, kept)
	runAxpy(t, second, again)

	// What the compiled program depends on gives another key.
	for name, o := range map[string]CompileOptions{
		"option":   {XLA: map[string]any{"xla_cpu_enable_fast_math": true}},
		"replicas": {Replicas: 2},
	} {
		other, err := second.CompileText(name, axpyText, o)
		require.NoError(t, err)
		require.Equal(t, cache.Miss, other.Info().Cache, name)
		require.NotEqual(t, e.Info().Key, other.Info().Key, name)
	}
	t.Setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=false")
	other := compile(t, second, axpyText, CompileOptions{})
	require.Equal(t, cache.Miss, other.Info().Cache, "XLA's own flags count")
}

func TestCompileWithoutCache(t *testing.T) {
	c := openAlone(t, Options{NoCache: true})
	e := compile(t, c, axpyText, CompileOptions{})
	require.Equal(t, CompileInfo{Cache: cache.Off, Reason: "turned off", Seconds: e.Info().Seconds}, e.Info())
	runAxpy(t, c, e)

	c = openAlone(t, Options{})
	e = compile(t, c, axpyText, CompileOptions{NoCache: true})
	require.Equal(t, cache.Off, e.Info().Cache)
	require.Equal(t, "turned off for this program", e.Info().Reason)
	entries, err := c.Cache().List()
	require.NoError(t, err)
	require.Empty(t, entries)
}

// TestCompileUnwritableCache works on with a reason where the folder cannot be made or written.
func TestCompileUnwritableCache(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	var warnings []string
	c := openAlone(t, Options{CacheDir: filepath.Join(file, "programs"), Warn: func(line string) {
		warnings = append(warnings, line)
	}})
	for range 2 {
		e := compile(t, c, axpyText, CompileOptions{})
		require.Equal(t, cache.Miss, e.Info().Cache)
		require.Contains(t, e.Info().Reason, "not stored")
		require.False(t, e.Info().Stored)
		runAxpy(t, c, e)
	}
	require.Equal(t, []string{"compiled programs are not kept, since " + filepath.Join(file, "programs") +
		" cannot be written (not a directory): make it writable, or set XLARUN_CACHE to a folder that is"}, warnings,
		"said once")
}

// TestCompileDamagedCache damages the entry in each way: a miss with a reason, the right result,
// and a repaired entry.
func TestCompileDamagedCache(t *testing.T) {
	cases := []struct {
		name   string
		damage func(t *testing.T, c *cache.Cache, path string)
		reason string
	}{
		{"truncated", func(t *testing.T, _ *cache.Cache, path string) {
			require.NoError(t, os.Truncate(path, 1000))
		}, "entry is damaged"},
		{"empty", func(t *testing.T, _ *cache.Cache, path string) {
			require.NoError(t, os.Truncate(path, 0))
		}, "entry is damaged"},
		{"bit flip", func(t *testing.T, _ *cache.Cache, path string) {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			data[len(data)/2] ^= 8
			require.NoError(t, os.WriteFile(path, data, 0o644))
		}, "checksum does not match"},
		{"another program's entry", func(t *testing.T, c *cache.Cache, path string) {
			key := cache.NewKey([]byte("other"))
			require.NoError(t, c.Put(key, cache.Metadata{}, []byte("x")))
			require.NoError(t, os.Rename(filepath.Join(c.Dir(), key.String()+filepath.Ext(path)), path))
		}, "a key that is not its own"},
		{"whole, but no program", func(t *testing.T, c *cache.Cache, path string) {
			putAt(t, c, path, []byte(strings.Repeat("no program ", 300)))
		}, "the plugin cannot load the entry"},
		{"whole, but nothing", func(t *testing.T, c *cache.Cache, path string) {
			putAt(t, c, path, nil)
		}, "it holds no program"},
	}
	var warnings []string
	c := openAlone(t, Options{Warn: func(line string) { warnings = append(warnings, line) }})
	first := compile(t, c, axpyText, CompileOptions{}).Info()
	require.True(t, first.Stored)
	require.Empty(t, first.Trouble)
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			warnings = nil
			files, err := filepath.Glob(filepath.Join(c.Cache().Dir(), first.Key+"*"))
			require.NoError(t, err)
			require.Len(t, files, 1)
			tc.damage(t, c.Cache(), files[0])

			e := compile(t, c, axpyText, CompileOptions{})
			require.Equal(t, cache.Miss, e.Info().Cache)
			require.Contains(t, e.Info().Reason, tc.reason)
			require.Contains(t, e.Info().Trouble, tc.reason)
			require.True(t, e.Info().Stored, "it is repaired")
			require.Equal(t, []string{e.Info().Trouble}, warnings)
			runAxpy(t, c, e)
			e = compile(t, c, axpyText, CompileOptions{})
			require.Equal(t, cache.Hit, e.Info().Cache, e.Info().Reason)
			runAxpy(t, c, e)
		})
	}
}

// putAt files a well-formed entry with the payload under the key that the path names.
func putAt(t *testing.T, c *cache.Cache, path string, payload []byte) {
	t.Helper()
	key, err := cache.ParseKey(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
	require.NoError(t, err)
	require.NoError(t, c.Put(key, cache.Metadata{}, payload))
}

func TestCompileErrors(t *testing.T) {
	c := openAlone(t, Options{})
	cases := []struct {
		name, text string
		o          CompileOptions
		want       string
	}{
		{"empty", "", CompileOptions{}, "the program is empty"},
		{"no module", "junk", CompileOptions{}, "xlabridge: compile no module:"},
		{"types", strings.Replace(axpyText, "%y: tensor<3xf32>", "%y: tensor<4xf32>", 1), CompileOptions{}, "%y"},
		{"unknown option", axpyText, CompileOptions{XLA: map[string]any{"xla_nonsense": true}},
			"No such compile option: 'xla_nonsense'"},
		{"option's type", axpyText, CompileOptions{XLA: map[string]any{"xla_x": []int{1}}},
			`compiler option "xla_x": got a []int, wanted`},
		{"replicas", axpyText, CompileOptions{Replicas: 2}, "got 2 replicas, but the client has 1 devices"},
		{"negative replicas", axpyText, CompileOptions{Replicas: -1}, "got -1 replicas"},
		{"no results", "module @m { func.func public @main(%x: tensor<f32>) { return } }", CompileOptions{},
			"returns nothing"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			for range 2 {
				_, err := c.CompileText(tc.name, tc.text, tc.o)
				require.ErrorContains(t, err, tc.want)
			}
		})
	}
}

const compileEnv = "XLARUN_TEST_COMPILE_IN"

// TestMain lets the test binary be the other processes of TestCompileConcurrently.
func TestMain(m *testing.M) {
	if dir := os.Getenv(compileEnv); dir != "" {
		if err := compileIn(dir); err != nil {
			println(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// compileIn compiles a program in a client of its own with the cache in dir, and runs it.
func compileIn(dir string) error {
	c, err := Open(context.Background(), Options{CacheDir: dir})
	if err != nil {
		return err
	}
	defer c.Close()
	for range 3 {
		e, err := c.CompileText("shared", axpyText, CompileOptions{})
		if err != nil {
			return err
		}
		if err := e.Close(); err != nil {
			return err
		}
	}
	return c.Close()
}

// TestCompileConcurrently lets goroutines and processes fill one empty cache with one program.
func TestCompileConcurrently(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if err := compileIn(dir); err != nil {
				t.Error(err)
			}
		})
	}
	for range 2 {
		wg.Go(func() {
			other := exec.Command(os.Args[0])
			other.Env = append(os.Environ(), compileEnv+"="+dir)
			out, err := other.CombinedOutput()
			if err != nil || len(out) > 0 {
				t.Errorf("%v: %s (wanted nothing said)", err, out)
			}
		})
	}
	wg.Wait()
	entries, err := cache.New(dir).Verify()
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.Empty(t, entries[0].Defect)
	c := openAlone(t, Options{CacheDir: dir})
	require.Equal(t, cache.Hit, compile(t, c, axpyText, CompileOptions{}).Info().Cache)
}

func TestInspect(t *testing.T) {
	c := openAlone(t, Options{})
	got, err := c.inspect("axpy", axpyText, c.defaultOptions(CompileOptions{}), CompileOptions{})
	require.NoError(t, err)
	require.Contains(t, got.Before, "HloModule axpy")
	require.Contains(t, got.After, "fusion")
	require.NotContains(t, got.Before, "fusion")
	require.NotEmpty(t, got.Memory)
	entries, err := c.Cache().List()
	require.NoError(t, err)
	require.Empty(t, entries)
	_, err = c.inspect("junk", "junk", c.defaultOptions(CompileOptions{}), CompileOptions{})
	require.ErrorContains(t, err, "xlabridge: compile junk:")
}

func TestCacheLimit(t *testing.T) {
	for _, tc := range []struct {
		number      int
		value, fail string
		want        int64
	}{
		{1, "", "", 2e9}, {2, "none", "", 0}, {3, "1M", "", 1e6}, {4, "2GiB", "", 2 << 30},
		{5, "0", "wants a size", 0}, {6, "much", "wants a size", 0}, {7, "-1", "wants a size", 0},
		{8, "NaN", "wants a size", 0},
	} {
		t.Setenv(cache.EnvMax, tc.value)
		got, err := cache.Limit()
		if tc.fail != "" {
			require.ErrorContains(t, err, tc.fail, tc.number)
			_, err = Open(t.Context(), Options{})
			require.ErrorContains(t, err, cache.EnvMax, tc.number)
			continue
		}
		require.NoError(t, err, tc.number)
		require.Equal(t, tc.want, got, tc.number)
	}
	t.Setenv(cache.EnvMax, "1")
	c := openAlone(t, Options{})
	for i := range 3 {
		compile(t, c, strings.Replace(axpyText, "@axpy", fmt.Sprint("@axpy", i), 1), CompileOptions{})
	}
	entries, err := c.Cache().List()
	require.NoError(t, err)
	require.Len(t, entries, 1, "9: the last one stays")
}
