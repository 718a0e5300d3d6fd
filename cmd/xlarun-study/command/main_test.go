package command

import (
	"testing"

	"xlarun/cmd/internal/shelltest"
	"xlarun/cmd/xlarun/cli"
)

// The test binary is xlarun-study where a test starts it as a process.
func TestMain(m *testing.M) { shelltest.Main(m, cli.Main) }
