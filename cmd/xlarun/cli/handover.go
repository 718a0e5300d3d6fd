package cli

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"xlarun/cmd/xlarun/console"
	"xlarun/xlabridge/fetch"
)

// The other programs. Each is built from the package cmd/NAME. One of them replaces this process, as external commands
// of git and cargo do.
const (
	studyProgram = "xlarun-study"
	benchProgram = "xlarun-bench"
)

// envHanded holds the name of the last program that a command line was handed over to, and the process.
const envHanded = "XLARUN_HANDED_OVER"

// quietBuild is the time after which a repeated build is reported on stderr.
const quietBuild = 2 * time.Second

// findProgram returns the path of a program. It looks beside this executable. Else, in the checkout that this
// executable was built from, it builds the program and reports that on stderr. Else it looks on PATH.
func findProgram(name string, stderr io.Writer) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if path := filepath.Join(filepath.Dir(self), name); executable(path) {
		return path, nil
	}
	if root := checkout(sourceRoot()); root != "" {
		return buildProgram(root, name, stderr)
	}
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	return "", console.BadInput(
		"this needs the program %s, which is neither beside %s nor on PATH: run go install xlarun/cmd/%s in a "+
			"checkout of xlarun", name, self, name)
}

// execProgram replaces this process by a program with the same command line. It returns only if that fails.
func execProgram(program string, args []string) error {
	handed := fmt.Sprintf("%s %d", filepath.Base(program), os.Getpid())
	if os.Getenv(envHanded) == handed {
		return fmt.Errorf("the program %s does not have this command: it is of another version, or another program",
			program)
	}
	if err := os.Setenv(envHanded, handed); err != nil {
		return err
	}
	err := syscall.Exec(program, append([]string{"xlarun"}, args...), os.Environ())
	return fmt.Errorf("%s cannot be started: %w", program, err)
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// sourceRoot returns the root of the checkout that this executable was built from, or "" if it was built with
// -trimpath.
func sourceRoot() string {
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) {
		return ""
	}
	return filepath.Join(filepath.Dir(file), "..", "..", "..")
}

// checkout returns the root of a checkout, or "" if the working folder is not in it or there is no go command.
func checkout(root string) string {
	if root == "" {
		return ""
	}
	dir, err := os.Getwd()
	if err != nil || dir != root && !strings.HasPrefix(dir, root+string(filepath.Separator)) {
		return ""
	}
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		return ""
	}
	if _, err := exec.LookPath("go"); err != nil {
		return ""
	}
	return root
}

// buildLock is the lock of the program that buildProgram has built. A lock that nothing refers to is closed by the
// garbage collector.
var buildLock *flock.Flock

// buildProgram builds a program of a checkout into the user's cache folder and returns its path. Go does nothing if the
// program is newer than its source. The lock is held until this process ends or becomes the program, so no other
// process replaces the file before it is started.
func buildProgram(root, name string, stderr io.Writer) (string, error) {
	folder, err := fetch.CacheDir()
	if err != nil {
		return "", err
	}
	folder = filepath.Join(folder, "tools", fmt.Sprintf("%.4x", sha256.Sum256([]byte(root))))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("%s cannot be built: %w", name, err)
	}
	path := filepath.Join(folder, name)
	buildLock = flock.New(path + ".lock")
	if err := buildLock.Lock(); err != nil {
		return "", fmt.Errorf("%s cannot be built: %w", name, err)
	}
	cmd := exec.Command("go", "build", "-o", path, "./cmd/"+name)
	cmd.Dir = root
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	after := quietBuild
	if !executable(path) {
		after = 0
	}
	timer := time.AfterFunc(after, func() { fmt.Fprintf(stderr, "xlarun: building %s from %s\n", name, root) })
	err = cmd.Run()
	timer.Stop()
	if err != nil {
		return "", fmt.Errorf("%s cannot be built from %s: %w: %s", name, root, err, strings.TrimSpace(out.String()))
	}
	return path, nil
}
