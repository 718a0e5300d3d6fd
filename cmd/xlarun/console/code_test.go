package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/internal/messaging"
	"xlarun/rollout/evolve/hosts"
	"xlarun/rollout/run/runfolder"
	"xlarun/xlabridge"
	"xlarun/xlabridge/fetch"
)

// Every kind of error has its code, wrapped or not, and what a user did wrong is never called anything else.
func TestCodes(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{BadInput("--pop got 0"), CodeBadInput},
		{BadInput("file: %w", &graph.Error{Msg: "a size"}), CodeBadInput},
		{&graph.Error{Op: "Add"}, CodeBadFunction},
		{ErrInterrupted, CodeInterrupted},
		{&xlabridge.PluginError{Code: 8}, CodeOutOfMemory},
		{&xlabridge.PluginError{Code: 3}, CodeDeviceFailed},
		{fetch.Absent(errors.New("no plugin")), CodeNotInstalled},
		{&runfolder.WriteError{What: "a", Err: errors.New("full")}, CodeNotWritten},
		{&messaging.CodedError{Code: CodeNoServer, Text: "nobody"}, CodeNoServer},
		{&messaging.CodedError{Code: CodeRefused, Text: "a token"}, CodeRefused},
		{errors.New("anything"), CodeFailed},
	} {
		for _, err := range []error{c.err, fmt.Errorf("update 3: %w", c.err), errors.Join(c.err, errors.New("b"))} {
			require.Equal(t, c.want, CodeOf(context.Background(), err), "%T %v", err, err)
		}
	}
}

// With --json a failure ends with a line of JSON, also if the command line cannot be parsed.
func TestFailuresAsJSON(t *testing.T) {
	result := ResultError{errors.New("half"), map[string]int{"updates": 3}}
	for _, c := range []struct {
		args           string
		err            error
		code, text     string
		status         int
		reason, choose string
	}{
		{"--json", BadInput("--pop got 0"), CodeBadInput, "tool: --pop got 0", 2, "", ""},
		{"--json --nothing", nil, CodeBadInput, "tool: there is no flag --nothing; see tool --help", 2, "", ""},
		{"--json=true", errors.New("two\nlines"), CodeFailed, "tool: two lines", 1, "", ""},
		{"--json", result, CodeFailed, "tool: half", 1, "", ""},
		{"", errors.New("bad"), "", "", 1, "", ""},
		{"", result, "", "", 1, "", ""},
		{"--json=false", errors.New("bad"), "", "", 1, "", ""},
		{"--json", nil, "", "", 0, "", ""},
		// What has to be chosen stands apart from the flag that chooses it.
		{"--json", UsageError{ChoiceError{"a.db has the studies b, c", "study"}}, CodeBadInput,
			"tool: a.db has the studies b, c: say which by --study", 2, "a.db has the studies b, c", "study"},
	} {
		var out, stderr strings.Builder
		cmd := &cobra.Command{Use: "tool", RunE: func(*cobra.Command, []string) error { return c.err }}
		cmd.Flags().Bool("json", false, "")
		status := Run(context.Background(), cmd, strings.Fields(c.args), Streams{Out: &out, Err: &stderr})
		require.Equal(t, c.status, status)
		if c.code == "" {
			require.Empty(t, out.String(), c.args)
			continue
		}
		require.Equal(t, errors.As(c.err, new(ResultError)), strings.HasSuffix(out.String(), `,"updates":3}`+"\n"))
		var got Failure
		require.NoError(t, json.Unmarshal([]byte(out.String()), &got), c.args)
		require.Equal(t, Failure{c.code, c.text, c.status, c.reason, c.choose}, got)
		require.Equal(t, c.text+"\n", stderr.String())
	}
}

// The line of JSON of a failure is valid whatever the result is. A result without members adds nothing.
func TestFailuresWithoutAResultAsJSON(t *testing.T) {
	for _, result := range []any{nil, map[string]int{}, map[string]int(nil), struct{}{}, (*Failure)(nil), []int{1}, 3,
		"", math.NaN(), func() {}} {
		var out strings.Builder
		f := Failure{Error: CodeFailed, Message: "half", Status: 1}
		require.NoError(t, Streams{Out: &out}.printFailure(f, ResultError{errors.New("half"), result}))
		require.JSONEq(t, `{"error":"failed","message":"half","status":1}`, out.String(), "result %v", result)
	}
}

// The documentation lists all codes, and the codes that other packages give are among them.
func TestCodesAreListed(t *testing.T) {
	text, err := os.ReadFile("../../../docs/reference/exit-codes.md")
	require.NoError(t, err)
	known := map[string]bool{CodeNoServer: true, CodeRefused: true} // package messaging has them
	file, err := parser.ParseFile(token.NewFileSet(), "code.go", nil, 0)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(v.Names[0].Name, "Code") {
			if literal, ok := v.Values[0].(*ast.BasicLit); ok {
				code, err := strconv.Unquote(literal.Value)
				require.NoError(t, err)
				known[code] = true
			}
		}
		return true
	})
	require.GreaterOrEqual(t, len(known), 10)
	for code := range known {
		require.Contains(t, string(text), "| `"+code+"` |")
	}
	_, table, ok := strings.Cut(string(text), "| code | what happened |")
	require.True(t, ok)
	table, _, _ = strings.Cut(table, "\n\n")
	require.Equal(t, len(known), strings.Count(table, "\n| `"), "the table has a row for each code")
	for _, e := range []Coded{&graph.Error{}, &runfolder.WriteError{}, &messaging.ConnectError{},
		&messaging.ConnectError{Refused: true}, &hosts.IdentityError{}} {
		require.True(t, known[e.ErrorCode()], "%T", e)
	}

	// So does the table of statuses.
	file, err = parser.ParseFile(token.NewFileSet(), "console.go", nil, 0)
	require.NoError(t, err)
	var statuses []string
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(v.Names[0].Name, "Status") {
			statuses = append(statuses, v.Values[0].(*ast.BasicLit).Value)
		}
		return true
	})
	require.GreaterOrEqual(t, len(statuses), 9)
	_, table, ok = strings.Cut(string(text), "| status | meaning | an engine should |\n| --- | --- | --- |\n")
	require.True(t, ok)
	table, _, _ = strings.Cut(table, "\n\n")
	var rows []string
	for row := range strings.Lines(table) {
		rows = append(rows, strings.Fields(row)[1])
	}
	require.Equal(t, statuses, rows)
}
