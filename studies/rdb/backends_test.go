package rdb

import (
	"os"
	"path/filepath"
	"testing"

	"xlarun/internal/ramdisk"
	"xlarun/studies/rdb/rdbtest"
)

func TestMain(m *testing.M) {
	ramdisk.Use()
	code := m.Run()
	rdbtest.Stop()
	os.Exit(code)
}

// backends are the databases that every test of storages runs on: each gives the address of a new one.
var backends = []struct {
	name string
	at   func(testing.TB) string
}{
	{"sqlite", func(t testing.TB) string { return filepath.Join(t.TempDir(), "deep", "a study?.db") }},
	{"postgresql", func(t testing.TB) string { return rdbtest.Start(t).Database(t) }},
}

// onEach runs a test on a new database of each kind.
func onEach(t *testing.T, test func(t *testing.T, at string)) {
	t.Helper()
	for _, b := range backends {
		t.Run(b.name, func(t *testing.T) { test(t, b.at(t)) })
	}
}
