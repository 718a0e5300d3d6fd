package plugin

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/xlabridge/fetch"
)

// helperEnv makes the test binary install a plugin and end; its value is a
// helperTask in JSON.
const helperEnv = "XLARUN_PLUGIN_TEST_HELPER"

type helperTask struct {
	Dir, Index string
	Pin        wheel
}

func helperProcess() int {
	var task helperTask
	if err := json.Unmarshal([]byte(os.Getenv(helperEnv)), &task); err != nil {
		fmt.Println(err)
		return 2
	}
	s := storeIn(task.Dir, pinSet{task.Pin}, map[string]string{"PIP_INDEX_URL": task.Index})
	found, err := s.find(context.Background(), Request{})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(found.Source, found.SHA256)
	return 0
}

func helperCommand(t *testing.T, task helperTask) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(task)
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperEnv+"="+string(text))
	return cmd
}

// Two processes that find no plugin: one installs it, the other finds it.
func TestTwoProcesses(t *testing.T) {
	body := buildWheel(t, fakeEntries())
	ix := newIndex(t, body)
	task := helperTask{Dir: filepath.Join(t.TempDir(), "plugins"), Index: ix.URL + "/simple", Pin: pinFor(body)}
	var cmds [2]*exec.Cmd
	var outs [2]strings.Builder
	for i := range cmds {
		cmds[i] = helperCommand(t, task)
		cmds[i].Stdout = &outs[i]
		require.NoError(t, cmds[i].Start())
	}
	var sources []string
	for i := range cmds {
		require.NoError(t, cmds[i].Wait(), outs[i].String())
		source, sum, _ := strings.Cut(strings.TrimSpace(outs[i].String()), " ")
		require.Equal(t, sumOf([]byte(fakeEntries()[1].text)), sum)
		sources = append(sources, source)
	}
	require.ElementsMatch(t, []string{"installed", "cache"}, sources)
	require.Equal(t, int64(1), ix.files.Load())
}

// A process that is killed in the middle leaves a stage, which is no plugin and
// which the next installation clears away.
func TestKilledProcess(t *testing.T) {
	body := buildWheel(t, fakeEntries())
	ix := newIndex(t, body)
	begun := make(chan struct{})
	ix.mu.Lock()
	ix.file = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body[:len(body)/2])
		w.(http.Flusher).Flush()
		close(begun)
		<-r.Context().Done()
	}
	ix.mu.Unlock()
	task := helperTask{Dir: filepath.Join(t.TempDir(), "plugins"), Index: ix.URL + "/simple", Pin: pinFor(body)}
	cmd := helperCommand(t, task)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	<-begun
	require.NoError(t, cmd.Process.Kill())
	require.False(t, bufio.NewScanner(out).Scan(), "it was killed before it said anything")
	require.Error(t, cmd.Wait())

	s := storeIn(task.Dir, pinSet{task.Pin}, newIndex(t, body).env())
	stages, err := filepath.Glob(filepath.Join(s.Dir, fetch.StagePrefix+"*"))
	require.NoError(t, err)
	require.Len(t, stages, 1)
	_, err = s.find(background, Request{Offline: true})
	require.ErrorIs(t, err, fetch.ErrNotInstalled)
	require.Empty(t, searchDir(stages[0], "cpu"))

	found, err := s.find(background, Request{})
	require.NoError(t, err)
	require.Equal(t, SourceInstalled, found.Source)
	stages, err = filepath.Glob(filepath.Join(s.Dir, fetch.StagePrefix+"*"))
	require.NoError(t, err)
	require.Empty(t, stages)
}
