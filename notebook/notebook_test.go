package notebook

import (
	"encoding/gob"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
)

// fakeKernel is gonb's side of the pipes.
type fakeKernel struct {
	mu    sync.Mutex
	shown []message
}

// messages returns what was shown since the last call.
func (k *fakeKernel) messages() []message {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := k.shown
	k.shown = nil
	return all
}

// html joins the HTML of what was shown since the last call.
func (k *fakeKernel) html() string {
	var b strings.Builder
	for _, m := range k.messages() {
		b.WriteString(m.Data[mimeHTML].(string))
	}
	return b.String()
}

// startKernel makes the pipes and a kernel that reads them.
var startKernel = sync.OnceValue(func() *fakeKernel {
	dir, err := os.MkdirTemp("", "notebook")
	if err != nil {
		panic(err)
	}
	forth, back := filepath.Join(dir, "forth"), filepath.Join(dir, "back")
	for _, path := range []string{forth, back} {
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			panic(err)
		}
	}
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	must(os.Setenv(pipeEnv, forth))
	must(os.Setenv(backEnv, back))
	k := &fakeKernel{}
	go func() {
		in, err := os.Open(forth)
		must(err)
		out, err := os.OpenFile(back, os.O_WRONLY, 0)
		must(err)
		must(os.RemoveAll(dir))
		decoder, encoder := gob.NewDecoder(in), gob.NewEncoder(out)
		for {
			var m message
			if decoder.Decode(&m) != nil {
				return
			}
			if v, ok := m.Data[valueKey].(value); ok {
				must(encoder.Encode(value{Address: ackAddress, Value: v.Value}))
				continue
			}
			k.mu.Lock()
			k.shown = append(k.shown, m)
			k.mu.Unlock()
		}
	}()
	return k
})

// Outside of a notebook nothing is shown and nothing fails.
func TestSilent(t *testing.T) {
	t.Setenv(pipeEnv, "")
	require.False(t, Active())
	Show("x", graph.Iota(3))
	Table([]string{"a"}, []any{1})
	HTML("<b>x</b>", "x")
	c := NewCurves("step", "loss")
	c.Add(1, 2)
	c.Close()
	require.Empty(t, c.xs)
	p := NewProgress("step", 3)
	p.Set(1)
	p.Close()
	require.NoError(t, NewPopulation().Add(1, graph.Iota(3)))
	require.NoError(t, Picture("x", []byte("GIF89a")))
	require.Error(t, Picture("x", nil))
}

func TestShow(t *testing.T) {
	k := startKernel()
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		name string
		tree any
		want []string // parts of the HTML
		not  string
	}{
		{"scalar", graph.Scalar(2.5), []string{"<b>scalar</b> f32[]", ">2.5<"}, "mean"},
		{"empty", graph.Zeros(graph.ShapeOf(graph.Float32, 0, 3)), []string{"f32[0,3]", "empty"}, "mean"},
		{"integers", graph.Int32s([]int32{-7, 3}), []string{"i32[2]", "min -7", "mean -2", "max 3", ">-7<"}, "svg"},
		{"odd", graph.Float32s([]float32{1, nan, inf, 3}), []string{"2 not finite", "mean 2", "NaN", "+Inf"}, "svg"},
		{"no number", graph.Float32s([]float32{nan}), []string{"1 not finite", "NaN"}, "svg"},
		{"huge", graph.Float64s([]float64{math.MaxFloat64, math.MaxFloat64}), []string{"mean 1.798e+308"}, "Inf"},
		{"opposite", graph.Float64s([]float64{math.MaxFloat64, -math.MaxFloat64}), []string{"mean 0"}, "Inf"},
		{"vector", graph.Iota(500), []string{"i32[500]", "max 499", "<svg", "currentColor", "…"}, "#fff"},
		{"gaps", graph.Select(graph.Iota(50).Lt(25), math.NaN(), 1.), []string{"25 not finite", "<svg"}, "L NaN"},
		{"matrix", graph.Ones(graph.ShapeOf(graph.Float32, 20, 20)), []string{"f32[20,20]", "…"}, "svg"},
		{"batch", graph.Ones(graph.ShapeOf(graph.Float32, 5, 2, 2)), []string{"… 5 of these"}, "svg"},
		{"<b>", graph.Abstract(graph.ShapeOf(graph.Float32, 2)), []string{"&lt;b&gt;", "f32[2]"}, "mean"},
		{"net", struct{ W, B *graph.Array }{graph.Iota(3), graph.Float32s([]float32{nan})},
			[]string{">.W<", "i32[3]", ">.B<", ">NaN<", "not finite"}, "svg"},
	} {
		t.Run(c.name, func(t *testing.T) {
			Show(c.name, c.tree)
			html := k.html()
			for _, want := range c.want {
				require.Contains(t, html, want)
			}
			require.NotContains(t, html, c.not)
		})
	}
}

// A long vector is a short curve that keeps its peaks.
func TestLongVector(t *testing.T) {
	values := make([]float64, 1_000_000)
	values[123_456] = 7
	values[0], values[1] = math.Inf(1), math.NaN()
	picture := vectorSVG(values)
	require.Less(t, len(picture), 40_000)
	require.Contains(t, picture, ">5<")
	require.NotContains(t, picture, "NaN")
}

func TestTable(t *testing.T) {
	k := startKernel()
	Table([]string{"a<b", "c"}, []any{1. / 3, "x&y"}, []any{float32(2)})
	m := k.messages()
	require.Len(t, m, 1)
	require.Equal(t, "a<b\tc\n0.3333\tx&y\n2", m[0].Data[mimeText])
	require.Contains(t, m[0].Data[mimeHTML], "a&lt;b")
	require.Contains(t, m[0].Data[mimeHTML], "x&amp;y")
}

// A display that moves takes its own place, draws seldom, and shows the last state.
func TestCurves(t *testing.T) {
	k := startKernel()
	c := NewCurves("step", "loss", "return")
	const points = 5 * maxPoints
	for i := range points {
		c.Add(float64(i), -float64(i), math.NaN())
	}
	c.Close()
	require.LessOrEqual(t, len(c.xs), maxPoints)
	require.Equal(t, []float64{0, 8, 16}, c.xs[:3])
	all := k.messages()
	require.Less(t, len(all), points/10)
	for _, m := range all {
		require.Equal(t, all[0].DisplayID, m.DisplayID)
		require.NotEmpty(t, m.DisplayID)
	}
	require.Equal(t, "step 4999, loss -4999, return NaN", all[len(all)-1].Data[mimeText])
	require.Panics(t, func() { c.Add(1, 2) })
}

// The last state is drawn without a further call.
func TestLiveDrawsLater(t *testing.T) {
	k := startKernel()
	p := NewProgress("step", 4)
	start := time.Now()
	p.now = func() time.Time { return start.Add(30 * time.Second) }
	p.start = start
	p.Set(1)
	p.Set(3)
	require.Eventually(t, func() bool {
		all := k.messages()
		return len(all) > 0 && all[len(all)-1].Data[mimeText] == "step 3 of 4, 0:30, about 0:10 left"
	}, time.Minute, 10*time.Millisecond)
}

func TestPopulation(t *testing.T) {
	k := startKernel()
	p := NewPopulation()
	require.NoError(t, p.Add(1, graph.Float32s([]float32{1, 2, 3, 4, float32(math.NaN())})))
	require.NoError(t, p.Add(2, graph.Float32s([]float32{float32(math.Inf(-1))})))
	require.Equal(t, quantiles{1, 1, 1.75, 2.5, 3.25, 4}, p.rows[0]) // numpy.quantile's
	p.Close()
	html := k.html()
	require.Contains(t, html, "<svg")
	require.Contains(t, html, "best NaN")
	for g := range 3 * maxPoints {
		p.mu.Lock()
		p.rows = append(p.rows, quantiles{x: float64(g)})
		p.mu.Unlock()
	}
	require.NoError(t, p.Add(9999, graph.Scalar(1)))
	require.Equal(t, 9999., p.rows[len(p.rows)-1].x)
	require.Error(t, p.Add(1, graph.Abstract(graph.ShapeOf(graph.Float32, 2))))
}

func TestPicture(t *testing.T) {
	k := startKernel()
	require.NoError(t, Picture("a & b", []byte("GIF89a...")))
	require.Contains(t, k.html(), "data:image/gif;base64,R0lGODlhLi4u")
	require.ErrorContains(t, Picture("", []byte("<html>")), "got 6 bytes that are no picture")
	require.Error(t, PictureFile("", filepath.Join(t.TempDir(), "none.gif")))
	require.Empty(t, k.messages())
}

// An interrupt ends the context, and the process goes on.
func TestContext(t *testing.T) {
	ctx := Context()
	require.NoError(t, syscall.Kill(syscall.Getpid(), syscall.SIGINT))
	select {
	case <-ctx.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("the context did not end")
	}
}

func TestClock(t *testing.T) {
	require.Equal(t, "0:05", clock(5200*time.Millisecond))
	require.Equal(t, "1:00:01", clock(3601*time.Second))
}
