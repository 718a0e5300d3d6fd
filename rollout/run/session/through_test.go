package session

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"xlarun/xlabridge"
)

// A session that is itself too slow, and waits for nothing, does not keep Run beyond the grace either. It closes what
// it has when it is done.
func TestBusySession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		b := &closes{}
		s := &session{Options: Options{Grace: func() time.Duration { return 800 * time.Millisecond },
			Observer: silent{}},
			offered: make(chan struct{}, 1)}
		start := time.Now()
		o, err := s.through(ctx, func(context.Context) error {
			s.backend = b
			cancel()
			time.Sleep(time.Minute)
			return nil
		})
		require.EqualError(t, err,
			"interrupted; the run did not stop in time, so its last checkpoint is the newest state")
		require.ErrorAs(t, err, new(InterruptedError))
		require.True(t, o.Abandoned)
		require.Equal(t, 600*time.Millisecond, time.Since(start))
		require.False(t, b.closed.Load())
		time.Sleep(time.Minute)
		synctest.Wait()
		require.True(t, b.closed.Load())
	})
}

// A round that ends within a long grace is waited for: it had a quarter of 800 ms, so that a host's state was 26
// generations old.
func TestLongGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &session{Options: Options{Grace: func() time.Duration { return 20 * time.Second }, Observer: silent{}},
			offered: make(chan struct{}, 1)}
		start := time.Now()
		o, err := s.through(ctx, func(context.Context) error {
			return s.do(func() error {
				cancel()
				time.Sleep(13 * time.Second)
				return nil
			})
		})
		require.ErrorAs(t, err, new(InterruptedError))
		require.False(t, o.Abandoned)
		require.Equal(t, 13*time.Second, time.Since(start))
	})
}

type closes struct {
	xlabridge.Reference
	closed atomic.Bool
}

func (c *closes) Close() error { c.closed.Store(true); return nil }

// The methods of a session call functions of others only in function literals, which wait, do, tell, within and
// withGrace get: one that does not return would keep an interrupted run.
func TestCallsFromOutside(t *testing.T) {
	// They return at once: they read or set a field or a setting, or count. DeviceDescriptions is called by
	// profileJSON, which is called in withGrace.
	quick := strings.Fields("Add Backend Bytes CloseBefore DeviceDescriptions Dir Done Fingerprint Fits Equal Err " +
		"Error Grace IsZero Over Path Platform PlanNotice PluginPath Seconds Shape String Sub Text Value")
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	set, methods := token.NewFileSet(), 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		packages := []string{}
		for _, i := range file.Imports {
			path, _ := strconv.Unquote(i.Path.Value)
			packages = append(packages, filepath.Base(path))
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil {
				continue
			}
			if star, ok := f.Recv.List[0].Type.(*ast.StarExpr); !ok || star.X.(*ast.Ident).Name != "session" {
				continue
			}
			methods++
			ast.Inspect(f.Body, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					_, literal := n.(*ast.FuncLit)
					return !literal
				}
				called, ok := call.Fun.(*ast.SelectorExpr)
				if !ok || !called.Sel.IsExported() || slices.Contains(quick, called.Sel.Name) {
					return true
				}
				of, ok := called.X.(*ast.Ident)
				assert.True(t, ok && slices.Contains(packages, of.Name), "%s: %s is called outside of a function "+
					"literal", set.Position(call.Pos()), called.Sel.Name)
				return true
			})
		}
	}
	require.Greater(t, methods, 30)
}
