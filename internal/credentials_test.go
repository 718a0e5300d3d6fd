package internal_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/internal/credentials"
)

// A file has one token, or one of each role. What is neither is an error: a misspelt role, a blank line or a comment
// made all lines one token of all roles.
func TestTokens(t *testing.T) {
	t.Parallel()
	const a, b = "0123456789abcdef", "fedcba9876543210"
	const some = "# of some\nworker " + a + "\n\n\tserver\t" + b + "\r\n"
	type tokens = map[credentials.Role]string
	for text, want := range map[string]struct {
		tokens tokens
		err    string
	}{
		"# of all\n\n  " + a + "\n":     {tokens{credentials.Any: a}, ""},
		some:                            {tokens{credentials.Worker: a, credentials.Server: b}, ""},
		"worker " + a + "\nraeder " + b: {nil, `has a line of the role "raeder", wants worker, server `},
		a + " " + b:                     {nil, `has a line of the role "0123456789", wants worker, server `},
		"worker " + a + " " + b:         {nil, "has a token of a worker with white space"},
		a + "\n" + b:                    {nil, "has several tokens of a role"},
		"worker " + a + "\n" + b:        {nil, "has several tokens of a role"},
		"server " + a + "\nserver " + b: {nil, "has several tokens of a role"},
		"worker " + a + "\nserver abc":  {nil, "has a token of 3 characters, wants 16 or more"},
		"worker":                        {nil, "has a token of 6 characters, wants 16 or more"},
		" \n# none\n":                   {nil, "is empty: write a token into it"},
	} {
		file := filepath.Join(t.TempDir(), "token")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		all, err := credentials.Files{TokenFile: file}.Tokens()
		require.Equal(t, want.tokens, all, text)
		if want.err == "" {
			require.NoError(t, err, text)
			continue
		}
		require.ErrorContains(t, err, "--token-file "+file+" "+want.err)
		require.ErrorAs(t, err, new(*credentials.Error))
	}
}
