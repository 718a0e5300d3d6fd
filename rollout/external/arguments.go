package external

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Split returns the words of a command: those of a JSON list, else what blanks separate.
func Split(text string) (words []string, err error) {
	if strings.HasPrefix(text, "[") {
		err = json.Unmarshal([]byte(text), &words)
	} else {
		words = strings.Fields(text)
		if strings.ContainsAny(text, `"'`) {
			return nil, fmt.Errorf("got %s, whose quotes no shell reads: give a JSON list, such as "+
				`["python", "-c", "print(1)"]`, text)
		}
	}
	if err != nil || len(words) == 0 || words[0] == "" {
		return nil, fmt.Errorf("got %q, wants a program and its arguments, with blanks between them or as a JSON list "+
			"of texts", text)
	}
	return words, nil
}

// Find returns an error if a text is no command, or its program is not on this machine.
func Find(text string) error {
	words, err := Split(text)
	if err != nil {
		return err
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		return fmt.Errorf("got the program %s, which cannot be started here (%w)", words[0], cause(err))
	}
	return nil
}

// placeholder is {NAME} in a command. {{NAME}} stands for {NAME}, and ${NAME} is a shell's.
var placeholder = regexp.MustCompile(`\{\{[A-Za-z_][\w.-]*\}\}|\$?\{[A-Za-z_][\w.-]*\}`)

// Misspelt placeholders. A list of two words may be a script, with braces of its own.
var (
	spaced  = regexp.MustCompile(`\{\s*([A-Za-z_][\w.-]*)\s*\}`)
	escaped = regexp.MustCompile(`\{\{[A-Za-z_][\w.-]*\}\}|\$\{[^}]*\}`)
	single  = regexp.MustCompile(`\{[A-Za-z_]|^\S*\w\}\S*$`) // where braces do not match
)

// misspelt returns an error if a command has a placeholder with blanks, or without one of its braces.
func (p *Program) misspelt() error {
	for _, found := range spaced.FindAllStringSubmatch(strings.Join(p.Command, " "), -1) {
		_, known := p.Params[found[1]]
		if exact := "{" + found[1] + "}"; found[0] != exact && (known || slices.Contains(Reserved, found[1])) {
			return fmt.Errorf("has %q: a placeholder has no blanks, %s", found[0], exact)
		}
	}
	for _, word := range p.Command {
		plain := escaped.ReplaceAllString(word, "")
		if strings.Count(plain, "{") != strings.Count(plain, "}") && single.MatchString(plain) {
			return fmt.Errorf("has %q, whose braces do not match: a placeholder is {NAME}, and {{NAME}} a text in "+
				"braces", word)
		}
	}
	return nil
}

// Reserved are the names of placeholders that are no parameters.
var Reserved = []string{"folder", "params", "seed", "threads", "trial", "values"}

// Names of the files in the folder of a program.
const paramsFile, valuesFile, outFile, errFile = "params.json", "values.jsonl", "stdout", "stderr"

// reserved returns the value of a reserved placeholder.
func (p *Program) reserved(name string) any {
	return map[string]any{"folder": p.Folder, "params": filepath.Join(p.Folder, paramsFile), "seed": p.Seed,
		"threads": p.Threads, "trial": p.Trial, "values": filepath.Join(p.Folder, valuesFile)}[name]
}

// Arguments returns the command with values in place of placeholders. A parameter without a placeholder becomes a flag
// at the end, --NAME=VALUE, unless the command has {params}, the file with all of them. A placeholder that is neither a
// parameter nor Reserved, or is misspelt, is an error.
func (p *Program) Arguments() (words []string, err error) {
	if err := p.misspelt(); err != nil {
		return nil, err
	}
	used := map[string]bool{}
	for _, word := range p.Command {
		words = append(words, placeholder.ReplaceAllStringFunc(word, func(found string) string {
			name := strings.Trim(found, "${}")
			switch value, ok := p.Params[name]; {
			case found[0] == '$':
				return found
			case strings.HasPrefix(found, "{{"):
				return found[1 : len(found)-1]
			case slices.Contains(Reserved, name):
				used[name] = true
				return argument(p.reserved(name))
			case ok:
				used[name] = true
				return argument(value)
			}
			err = fmt.Errorf("has {%s}, which is no parameter of each trial: there are %s; {{%s}} is a text in braces",
				name, strings.Join(append(slices.Sorted(maps.Keys(p.Params)), Reserved...), ", "), name)
			return found
		}))
	}
	for _, name := range slices.Sorted(maps.Keys(p.Params)) {
		if !used[name] && !used["params"] {
			words = append(words, "--"+name+"="+argument(p.Params[name]))
		}
	}
	return words, err
}

// argument returns a value as a text: a text as it is, another value as JSON.
func argument(value any) string {
	if s, ok := value.(string); ok {
		return s
	}
	text, err := json.Marshal(value)
	if err != nil { // it is infinite
		return fmt.Sprint(value)
	}
	return string(text)
}

// notInNames is what the name of an environment variable cannot have.
var notInNames = regexp.MustCompile(`[^A-Za-z0-9_]`)

// Variable returns the name of the environment variable with a parameter.
func Variable(param string) string { return "XLARUN_PARAM_" + notInNames.ReplaceAllString(param, "_") }

// environment returns the program's variables: those of this process without Program.Secret, the parameters, and what
// keeps libraries from using all cores, and Python from keeping lines back.
func (p *Program) environment() (all []string) {
	own := map[string]string{}
	for _, name := range Reserved {
		own["XLARUN_"+strings.ToUpper(name)] = argument(p.reserved(name))
	}
	for name, value := range p.Params {
		own[Variable(name)] = argument(value)
	}
	for name, value := range map[string]string{"OMP_NUM_THREADS": strconv.Itoa(p.Threads), "PYTHONUNBUFFERED": "1"} {
		if _, given := os.LookupEnv(name); !given {
			own[name] = value
		}
	}
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); name != p.Secret {
			all = append(all, variable)
		}
	}
	for name, value := range own {
		all = append(all, name+"="+value)
	}
	return all
}
