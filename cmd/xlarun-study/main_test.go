package main

import (
	"testing"

	"xlarun/cmd/internal/shelltest"
)

func TestMain(m *testing.M) { shelltest.Main(m, main) }
