package xlarun_test

import (
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

// object is a part of a Kubernetes object.
type object = map[string]any

// at returns what is at a path of keys and the first elements of lists; nil if it is missing.
func at(x any, path ...string) any {
	for _, key := range path {
		if list, ok := x.([]any); ok && len(list) > 0 {
			x = list[0]
		}
		m, ok := x.(object)
		if !ok {
			return nil
		}
		x = m[key]
	}
	return x
}

// The objects of docs/how-to/kubernetes.md parse, and their containers start commands of xlarun without a shell, which
// would not pass SIGTERM on. A Job survives more than six evictions, and what a population computes is on a volume.
func TestKubernetes(t *testing.T) {
	page, err := os.ReadFile("docs/how-to/kubernetes.md")
	require.NoError(t, err)
	jobs := 0
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		documents := yaml.NewDecoder(strings.NewReader(block[1]))
		for {
			var x object
			err := documents.Decode(&x)
			if err == io.EOF {
				break
			}
			require.NoError(t, err, "%s", block[1])
			require.NotEmpty(t, at(x, "metadata", "name"), "%v", x)
			if at(x, "kind") == "Job" {
				jobs++
				require.Greater(t, at(x, "spec", "backoffLimit"), 100, "%v", x)
			}
			container := at(x, "spec", "template", "spec", "containers")
			if container == nil {
				continue
			}
			var command []string
			words, _ := at(container, "command").([]any)
			for _, word := range words {
				command = append(command, word.(string))
			}
			require.Equal(t, "xlarun", command[0])
			require.NoError(t, parse(command[1:]), "%v", command)
			if command[1] == "evolve" || command[1] == "serve" && len(command) > 4 {
				require.NotNil(t, at(container, "volumeMounts"), "%v", command)
			}
		}
	}
	require.Equal(t, 3, jobs)
}

// A file of the host of an earlier submission passed the test of docs/how-to/slurm.md, and another submission wrote
// into the same run folders.
func TestSlurm(t *testing.T) {
	page, err := os.ReadFile("docs/how-to/slurm.md")
	require.NoError(t, err)
	submit := strings.Index(string(page), "sbatch serve.sbatch")
	removed := strings.Index(string(page), "rm -f server ")
	require.Positive(t, removed)
	require.Less(t, removed, submit)
	hosts := 0
	for _, line := range strings.Split(strings.ReplaceAll(string(page), "\\\n", ""), "\n") {
		if strings.Contains(line, "--join") && strings.HasPrefix(line, "exec") {
			hosts++
			require.Regexp(t, `--join "nats://[^"]*/\$SLURM_ARRAY_JOB_ID"`, line)
			require.Regexp(t, `--out "runs/\$SLURM_ARRAY_JOB_ID-\$SLURM_ARRAY_TASK_ID" --resume auto`, line)
		}
	}
	require.Equal(t, 1, hosts)
}
