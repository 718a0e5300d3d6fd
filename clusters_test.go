package xlarun_test

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
	"mvdan.cc/sh/v3/syntax"
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

// The containers of examples/kubernetes start commands of xlarun without a shell, which would not pass SIGTERM on.
// examples/kubernetes has a module that shows the manifests to Kubernetes.
func TestKubernetes(t *testing.T) {
	files, err := filepath.Glob("examples/kubernetes/*.yaml")
	require.NoError(t, err)
	containers, probed := 0, 0
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for documents := yaml.NewDecoder(strings.NewReader(string(text))); ; {
			var x object
			err := documents.Decode(&x)
			if err == io.EOF {
				break
			}
			require.NoError(t, err, name)
			container := at(x, "spec", "template", "spec", "containers")
			if container == nil {
				continue
			}
			containers++
			require.Nil(t, at(container, "command"), "%s: the image starts xlarun", name)
			var args []string
			for _, word := range at(container, "args").([]any) {
				args = append(args, word.(string))
			}
			require.NoError(t, parse(args), "%s: %v", name, args)
			if slices.Contains(args, "--web") {
				probed++
				require.Equal(t, "/readyz", at(container, "readinessProbe", "httpGet", "path"), name)
				require.Equal(t, "/healthz", at(container, "livenessProbe", "httpGet", "path"), name)
				// the database may take 2 s
				require.Equal(t, 3, at(container, "livenessProbe", "timeoutSeconds"), name)
			}
		}
	}
	require.Equal(t, []int{4, 2}, []int{containers, probed})
}

// The scripts of examples/slurm start commands of xlarun with flags that exist. Files of a job have its number in their
// names: without it a second submission failed, or wrote into the folders of the first. .ci/slurm runs them.
func TestSlurm(t *testing.T) {
	files, err := filepath.Glob("examples/slurm/*.sbatch")
	require.NoError(t, err)
	commands := 0
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Regexp(t, `(?m)^#SBATCH --requeue --open-mode=append --signal=TERM@\d+$`, string(text), name)
		var walk func(script string)
		walk = func(script string) {
			file, err := syntax.NewParser().Parse(strings.NewReader(script), name)
			require.NoError(t, err, name)
			syntax.Walk(file, func(n syntax.Node) bool {
				call, ok := n.(*syntax.CallExpr)
				if !ok {
					return true
				}
				var words []string
				for _, w := range call.Args {
					words = append(words, literal(w.Parts))
				}
				for i, word := range words {
					switch {
					case word == "-c":
						walk(words[i+1]) // of bash
					case word == "xlarun":
						commands++
						require.NoError(t, parse(words[i+1:]), "%s: %v", name, words)
					case word == "--out":
						source := script[call.Args[i+1].Pos().Offset():call.Args[i+1].End().Offset()]
						require.Regexp(t, `\$(SLURM_ARRAY_JOB_ID|RUN|runs)\b`, source, name)
						require.Contains(t, words[i:], "--resume", name)
					}
				}
				return true
			})
		}
		walk(string(text))
		if filepath.Base(name) == "population.sbatch" {
			require.Contains(t, string(text), "RUN=${RUN:-runs/$SLURM_JOB_ID}")
		}
	}
	require.Equal(t, 7, commands)
}
