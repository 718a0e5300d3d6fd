package bench

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/machine"
	"xlarun/internal/figures"
	thirdparty "xlarun/third_party"
)

// record writes rows into a file of figures. They replace older rows of the same names. commit is what was measured.
func record(path, suite, commit string, repeats int, all []row) error {
	f, err := figures.Read(path)
	if err != nil {
		return err
	}
	kind := machine.CPUKind()
	i := slices.IndexFunc(f.Machines, func(m figures.Machine) bool { return m.Processor == kind })
	if i < 0 {
		i = len(f.Machines)
		f.Machines = append(f.Machines, figures.Machine{Name: fmt.Sprintf("machine-%d", i+1), Processor: kind,
			Cores: runtime.GOMAXPROCS(0)})
	}
	year, month, day := time.Now().UTC().Date()
	for _, r := range all {
		if r.Failed != "" {
			continue
		}
		x := figures.Figure{ID: suite + "/" + r.Name, What: r.What, Ours: digits(r.Ours),
			OursCPU: digits(r.Processor), RatioCPU: digits(r.ProcessorRatio), RatioCompile: digits(r.CompileRatio),
			Rate: digits(r.Rate), Bytes: r.PeakBytes, OtherBytes: r.PeerPeakBytes, Commit: commit,
			Date: toml.LocalDate{Year: year, Month: int(month), Day: day}, Machine: f.Machines[i].Name,
			Repeats: repeats, Load: load(), Gain: digits(r.Gain), GainCPU: digits(r.GainCPU),
			GainElsewhere: digits(r.GainThere)}
		if r.Peer != nil {
			x.Other, x.Ratio, x.OtherCPU = digits(*r.PeerSeconds), digits(*r.Ratio), digits(r.PeerProcessor)
			x.Against = r.against
		}
		if r.Rate > 0 {
			x.Unit = r.Unit
		}
		f.Put(x)
	}
	return f.Write(path)
}

// digits rounds a number to four digits.
func digits(x float64) float64 {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 4, 64), 64)
	return rounded
}

// commitOf returns the commit of the checkout that a file is in, which a flag names. Sources that differ from it are an
// error, since the row would name a commit that was not measured.
func commitOf(flag, path string) (string, error) {
	git := func(args ...string) ([]byte, error) {
		return exec.Command("git", append([]string{"-C", filepath.Dir(path)}, args...)...).Output()
	}
	commit, err := git("rev-parse", "--short=8", "HEAD")
	if err != nil {
		return "", console.BadInput("%s got %s, which is in no checkout of git: a row names the commit that was "+
			"measured", flag, path)
	}
	changed, err := git("status", "--porcelain", "--", ":/*.go", ":/*.c", ":/*.h", ":/*.py")
	if err != nil {
		return "", err
	}
	if len(changed) > 0 {
		return "", console.BadInput("%s got a checkout whose sources differ from commit %s: commit them first", flag,
			bytes.TrimSpace(commit))
	}
	return string(bytes.TrimSpace(commit)), nil
}

// versioned returns the name with the pinned versions of the package and of JAX below it.
func (p Peer) versioned() string {
	text, _ := thirdparty.Peers.ReadFile("peers/requirements.txt")
	version := func(name string) string {
		m := regexp.MustCompile(`(?mi)^` + regexp.QuoteMeta(name) + `==(.*)$`).FindSubmatch(text)
		if m == nil {
			return ""
		}
		return " " + string(m[1])
	}
	v := version(cmp.Or(p.Package, p.Name))
	switch {
	case p.Name == "jax":
		return "JAX" + v
	case p.JAX:
		return p.Name + v + ", JAX" + version("jax")
	}
	return p.Name + v
}

// load returns the machine's load average of a minute, 0 where it is not known.
func load() float64 {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	x, _ := strconv.ParseFloat(first, 64)
	return x
}
