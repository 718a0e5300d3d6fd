package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"xlarun/internal/messaging"
	"xlarun/xlabridge"
)

// run runs a command that has one flag of each kind and ends with err.
func run(ctx context.Context, err error, args ...string) (status int, stderr string) {
	root := &cobra.Command{Use: "tool", RunE: func(*cobra.Command, []string) error { return err }}
	root.Flags().Int("pop-size", 256, "")
	root.Flags().Float64("target", math.NaN(), "")
	root.Flags().Bool("jit", true, "")
	root.Flags().String("name", "", "")
	var out, errs bytes.Buffer
	status = Run(ctx, root, args, Streams{Out: &out, Err: &errs})
	return status, errs.String()
}

func TestStatusAndSentence(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for i, c := range []struct {
		what   string
		ctx    context.Context
		err    error
		status int
		stderr string
	}{
		{"a good run says nothing", context.Background(), nil, StatusOK, ""},
		{"a failure, on one line", context.Background(), errors.New("it broke\n  in two"), StatusFailed,
			"tool: it broke in two\n"},
		{"bad input, however deep", context.Background(), fmt.Errorf("a: %w", errors.Join(BadInput("x got %d", 3))),
			StatusUsage, "tool: a: x got 3\n"},
		{"nobody answers", context.Background(),
			fmt.Errorf("a: %w", &messaging.CodedError{Code: CodeNoServer, Text: "away"}), StatusNoServer,
			"tool: a: away\n"},
		{"a refusal", context.Background(), &messaging.CodedError{Code: CodeRefused, Text: "a token"}, StatusRefused,
			"tool: a token\n"},
		{"an interrupt that says what it leaves", ended, InterruptedError{errors.New("interrupted; the state is in x")},
			StatusInterrupted, "tool: interrupted; the state is in x\n"},
		{"an interrupt that shows as a canceled context", ended, fmt.Errorf("read: %w", context.Canceled),
			StatusInterrupted, "tool: interrupted\n"},
		{"a canceled context without an interrupt", context.Background(), context.Canceled, StatusFailed,
			"tool: context canceled\n"},
	} {
		status, stderr := run(c.ctx, c.err)
		require.Equal(t, c.status, status, "%d: %s", i, c.what)
		require.Equal(t, c.stderr, stderr, "%d: %s", i, c.what)
	}
}

// The line of JSON has the exit status after SIGTERM: 75 where the same command continues. Engines take 143 for a
// failure.
func TestTerminated(t *testing.T) {
	for _, c := range []struct {
		cause  error
		saves  bool
		status int
	}{{ErrTerminated, false, 143}, {ErrTerminated, true, 75}, {nil, true, 130}} {
		ended, cancel := context.WithCancelCause(context.Background())
		cancel(c.cause)
		root := &cobra.Command{Use: "tool", RunE: func(cmd *cobra.Command, _ []string) error {
			if c.saves {
				Saves(cmd.Context(), time.Minute)
			}
			return ErrInterrupted
		}}
		root.Flags().Bool("json", false, "")
		var out, errs bytes.Buffer
		require.Equal(t, c.status, Run(ended, root, []string{"--json"}, Streams{Out: &out, Err: &errs}))
		require.JSONEq(t, fmt.Sprintf(`{"error":"interrupted","message":"tool: interrupted","status":%d}`, c.status),
			out.String())
	}
}

// A command that saves has its own time after SIGTERM, in which its call may return; after Ctrl-C it has Grace. It had
// Grace after both.
func TestGrace(t *testing.T) {
	for _, c := range []struct {
		cause  error
		takes  time.Duration // of the call under way
		status int
		waits  time.Duration
	}{
		{ErrTerminated, 15 * time.Second, StatusOK, 15 * time.Second},
		{ErrTerminated, time.Hour, StatusAgain, 20 * time.Second},
		{context.Canceled, 15 * time.Second, StatusInterrupted, Grace},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			root := &cobra.Command{Use: "tool", RunE: func(cmd *cobra.Command, _ []string) error {
				Saves(cmd.Context(), DefaultGrace)
				cancel(c.cause)
				time.Sleep(c.takes)
				return nil
			}}
			start := time.Now()
			require.Equal(t, c.status, Run(ctx, root, nil, Streams{Out: io.Discard, Err: io.Discard}))
			require.Equal(t, c.waits, time.Since(start))
			time.Sleep(c.takes)
		})
	}
	require.ErrorContains(t, CheckGrace(0), "--grace got 0s, wants a time such as 20s")
}

// A command inside a call that cannot be stopped does not hold up the end of the process.
func TestInterruptDoesNotWaitForever(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	release := make(chan struct{})
	defer close(release)
	root := &cobra.Command{Use: "tool", RunE: func(*cobra.Command, []string) error { cancel(); <-release; return nil }}
	var errs bytes.Buffer
	require.Equal(t, StatusInterrupted, Run(ctx, root, nil, Streams{Out: &errs, Err: &errs}))
	require.Equal(t, "tool: interrupted\n", errs.String())
}

func TestFlagErrors(t *testing.T) {
	for i, c := range []struct{ arg, want string }{
		{"--pop_size=3", ""},
		{"--pop-size=many", `tool: --pop-size got "many", wants a whole number such as 256`},
		{"--target=high", `tool: --target got "high", wants a number such as 0.1`},
		{"--jit=maybe", `tool: --jit got "maybe", wants true or false`},
		{"--name", `tool: --name got no value, wants a text such as "name"`},
		{"--pop-sise=3", "tool: there is no flag --pop-sise, did you mean --pop-size?; see tool --help"},
		{"-q", "tool: there is no flag -q; see tool --help"},
	} {
		status, stderr := run(context.Background(), nil, c.arg)
		if c.want == "" {
			require.Equal(t, StatusOK, status, "%d: %s", i, stderr)
			continue
		}
		require.Equal(t, StatusUsage, status, "%d", i)
		require.Equal(t, c.want+"\n", stderr, "%d", i)
	}
}

func TestBackendFlagsRefuse(t *testing.T) {
	for i, c := range []struct {
		o    BackendFlags
		want string
	}{
		{BackendFlags{Backend: "cpu"}, ""},
		{BackendFlags{Backend: Reference, Devices: 1}, ""},
		{BackendFlags{Backend: "cup"}, `--backend got "cup", wants one of`},
		{BackendFlags{Backend: "cuda", Memory: xlabridge.DeviceMemoryOptions{Fraction: .5, OnDemand: true}}, ""},
		{BackendFlags{Backend: "cpu", Memory: xlabridge.DeviceMemoryOptions{Fraction: .5}},
			"--memory-fraction got 0.5, wants no value: only cuda and rocm take a part of a GPU's memory; leave it " +
				"out, or use one of these backends"},
		{BackendFlags{Backend: "tpu", Memory: xlabridge.DeviceMemoryOptions{OnDemand: true}},
			"--preallocate got false, wants no value"},
		{BackendFlags{Backend: "cuda", Memory: xlabridge.DeviceMemoryOptions{Fraction: 1.5}},
			"--memory-fraction got 1.5, " +
				"wants a number above 0 and at most 1"},
		{BackendFlags{Backend: "cuda", Memory: xlabridge.DeviceMemoryOptions{Fraction: math.NaN()}}, "got NaN"},
		{BackendFlags{Backend: "cuda", Topology: "h100", Memory: xlabridge.DeviceMemoryOptions{OnDemand: true}},
			"--preallocate got false, wants no value for a topology"},
		{BackendFlags{Backend: "cpu", Devices: -1}, "--devices got -1, wants 1 to 256, or 0 for all"},
		{BackendFlags{Backend: "cpu", Devices: 257}, "--devices got 257"},
		{BackendFlags{Backend: Reference, Devices: 2}, "the reference interpreter has 1 device"},
	} {
		err := c.o.Check()
		if c.want == "" {
			require.NoError(t, err, "%d", i)
			continue
		}
		require.ErrorContains(t, err, c.want, "%d", i)
		require.Equal(t, StatusUsage, StatusOf(context.Background(), err), "%d", i)
	}
}

func TestOpenTheInterpreter(t *testing.T) {
	b, err := OpenBackend(context.Background(), BackendFlags{Backend: Reference}, nil)
	require.NoError(t, err)
	require.Equal(t, Reference, b.Backend())
	require.NoError(t, b.Close())
}

func TestPrintJSON(t *testing.T) {
	var out bytes.Buffer
	s := Streams{Out: &out}
	require.NoError(t, s.PrintJSON(map[string]int{"a": 1}))
	require.Equal(t, "{\"a\":1}\n", out.String())
	require.Error(t, s.PrintJSON(math.NaN()))
	require.Equal(t, "{\"a\":1}\n", out.String(), "what cannot be written leaves nothing")
	require.Empty(t, s.Getenv("PATH"), "no environment, no variable")
}

func TestCauseAndExists(t *testing.T) {
	missing := t.TempDir() + "/missing"
	_, err := os.ReadFile(missing)
	require.EqualError(t, Cause(err), "no such file or directory")
	require.EqualError(t, Cause(errors.New("other")), "other")
	require.False(t, Exists(missing))
	require.NoError(t, os.Symlink("nowhere", missing))
	require.True(t, Exists(missing), "a link that leads nowhere is there")
}
