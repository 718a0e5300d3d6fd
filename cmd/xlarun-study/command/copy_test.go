package command

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/internal/shelltest"
	"xlarun/cmd/xlarun/cli"
)

// fakeS3 answers as an S3 server does that has one bucket. .ci/mirror has a real one.
type fakeS3 struct {
	sync.Mutex
	objects map[string]string
}

func (s *fakeS3) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.Lock()
	defer s.Unlock()
	refuse := func(status int, code string) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "<Error><Code>"+code+"</Code><Message>no: "+code+"</Message></Error>")
	}
	name, inBucket := strings.CutPrefix(r.URL.Path, "/bucket/")
	switch {
	case !strings.Contains(r.Header.Get("Authorization"), "Credential=key/") ||
		!strings.Contains(r.Header.Get("Authorization"), "/eu-west-9/s3/"):
		refuse(http.StatusForbidden, "AccessDenied")
	case strings.HasPrefix(r.URL.Path, "/web/"):
		w.WriteHeader(http.StatusNotFound) // as of a server that knows no S3
	case !inBucket:
		refuse(http.StatusNotFound, "NoSuchBucket")
	case name == "": // it exists
	case r.Method == http.MethodPut:
		s.objects[name] = unchunked(r.Body)
		w.Header().Set("ETag", `"1"`)
	case r.Method == http.MethodDelete:
		delete(s.objects, name)
	default:
		text, ok := s.objects[name]
		if !ok {
			refuse(http.StatusNotFound, "NoSuchKey")
			return
		}
		w.Header().Set("ETag", `"1"`)
		w.Header().Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
		_, _ = io.WriteString(w, text)
	}
}

// unchunked returns the content of a body that is signed piece by piece: SIZE;chunk-signature=… and a line end before
// each piece, a line end after it.
func unchunked(body io.Reader) (text string) {
	for in := bufio.NewReader(body); ; {
		head, _ := in.ReadString('\n')
		digits, _, _ := strings.Cut(head, ";")
		size, err := strconv.ParseInt(digits, 16, 64)
		if err != nil || size == 0 {
			return text
		}
		piece := make([]byte, size+2)
		if _, err := io.ReadFull(in, piece); err != nil {
			return text
		}
		text += string(piece[:size])
	}
}

// A run's folder goes to a bucket and back. What the server refuses is a sentence, and the status says that it may
// answer later.
func TestCopy(t *testing.T) {
	fake := &fakeS3{objects: map[string]string{}}
	server := httptest.NewServer(fake)
	defer server.Close()
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret",
		"AWS_REGION": "eu-west-9", "AWS_ENDPOINT_URL": server.URL} {
		t.Setenv(name, value)
	}
	s := shelltest.New(t)
	require.NoError(t, os.MkdirAll(s.Path("run", "checkpoints"), 0o755))
	for name, text := range map[string]string{"config.toml": "kind = 'evolve'\n", "metrics.jsonl": "{}\n",
		"checkpoints/000007.safetensors": "state"} {
		require.NoError(t, os.WriteFile(s.Path("run", name), []byte(text), 0o644))
	}
	for _, args := range []string{"copy", "copy s3://bucket/a b c"} {
		require.Contains(t, s.Refused(t, strings.Fields(args)...), "arguments, wants a mirror, or a mirror and")
	}
	require.Equal(t, "s3://bucket/of/try is empty\n", s.Do(t, "copy", "s3://bucket/of/try"))
	out := s.Do(t, "copy", "run", "s3://bucket/of/try/")
	require.Contains(t, out, "holds step 7: 3 files, 24 bytes")
	require.Equal(t, "state", fake.objects["of/try/checkpoints/000007.safetensors"])
	require.Len(t, fake.objects, 4)
	require.NotEmpty(t, s.Read(t, "run", "mirror.json"))
	s.Do(t, "copy", "s3://bucket/of/try", "back")
	back, err := os.ReadFile(s.Path("back", "checkpoints", "000007.safetensors"))
	require.NoError(t, err)
	require.Equal(t, "state", string(back))
	require.Equal(t, s.Read(t, "run", "mirror.json"), s.Read(t, "back", "mirror.json"))
	require.NoError(t, os.CopyFS(s.Path("other"), os.DirFS(s.Path("run"))))
	require.NoError(t, os.WriteFile(s.Path("other", "mirror.json"), []byte(`{"run": "b"}`), 0o644))

	require.NoError(t, os.CopyFS(s.Path("never"), os.DirFS(s.Path("other"))))
	require.NoError(t, os.Remove(s.Path("never", "mirror.json")))

	for _, c := range []struct {
		status int
		says   string
		args   []string
	}{
		{cli.StatusUsage, "wants one s3://BUCKET/PREFIX, and a folder", []string{"copy", "a", "b"}},
		{cli.StatusUsage, "wants one s3://BUCKET/PREFIX, and a folder", []string{"copy", "s3://a", "s3://b"}},
		{3, "has no bucket bucke, or speaks no S3: give another one", []string{"copy", "s3://bucke/x"}},
		{3, "has no bucket web, or speaks no S3: give another one", []string{"copy", "s3://web/x"}}, // it was "empty"
		{3, "has no bucket web, or speaks no S3: give another one", []string{"copy", "s3://web/x", "new"}},
		{3, "has no bucket web, or speaks no S3: give another one", []string{"copy", "run", "s3://web/x"}},
		{3, "s3://bucket/x: it holds no run", []string{"copy", "s3://bucket/x", "new"}},
		{4, "it is the mirror of another run", []string{"copy", "other", "s3://bucket/of/try"}},
		{4, "another process writes it: the run goes on there", []string{"copy", "run", "s3://bucket/of/try",
			"--run", "b", "--holder", "c", "--after", "d"}},
		{4, "it is the mirror of another run than that in other", []string{"copy", "s3://bucket/of/try",
			"other"}},
		{4, "it is the mirror of another run than that in never", []string{"copy", "s3://bucket/of/try",
			"never"}},
		{cli.StatusUsage, "s3://bucket/of/try is newer (step 7) than back (step 0)", []string{"copy", "back",
			"s3://bucket/of/try"}},
		{cli.StatusUsage, "got s3:///x, wants s3://BUCKET/PREFIX", []string{"copy", "s3:///x"}},
	} {
		p := s.Command(c.args...)
		require.NoError(t, p.Start())
		require.Equal(t, c.status, p.Ended(), "%v: %s", c.args, &p.Err)
		require.Contains(t, p.Err.String(), c.says)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "other")
	p := s.Command("copy", "s3://bucket/of/try")
	require.NoError(t, p.Start())
	require.Equal(t, 3, p.Ended())
	require.Contains(t, p.Err.String(), "no: AccessDenied")
}
