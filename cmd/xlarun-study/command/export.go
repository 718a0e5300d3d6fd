package command

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/cli"
	"xlarun/cmd/xlarun/console"
	"xlarun/internal/quantity"
	"xlarun/studies"
	"xlarun/studies/study"
)

// trialsJSON returns trials as lines of JSON.
func trialsJSON(trials []*study.FrozenTrial) ([]byte, error) {
	var b bytes.Buffer
	lines := json.NewEncoder(&b)
	for _, t := range trials {
		reports := [][2]any{}
		for _, r := range t.Intermediate {
			reports = append(reports, [2]any{r.Step, studies.Value(r.Value)})
		}
		params := map[string]any{}
		for name, x := range t.External() {
			params[name] = studies.ParamValue(x)
		}
		if err := lines.Encode(map[string]any{"number": t.Number, "state": t.State, "values": studies.Values(t.Values),
			"params": params, "intermediate": reports, "reason": studies.Reason(t)}); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// trialsCSV returns trials as CSV, with a column for each objective and each parameter.
func trialsCSV(trials []*study.FrozenTrial) ([]byte, error) {
	params, objectives := map[string]bool{}, 0
	for _, t := range trials {
		for name := range t.Params {
			params[name] = true
		}
		objectives = max(objectives, len(t.Values))
	}
	names := slices.Sorted(maps.Keys(params))
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	head := []string{"number", "state"}
	for i := range objectives {
		head = append(head, fmt.Sprintf("value_%d", i))
	}
	for _, name := range names {
		head = append(head, "params_"+name)
	}
	err := w.Write(append(head, "reason"))
	for _, t := range trials {
		row := []string{fmt.Sprint(t.Number), string(t.State)}
		for i := range objectives {
			cell := ""
			if i < len(t.Values) {
				cell = studies.Value(t.Values[i]).String()
			}
			row = append(row, cell)
		}
		external := t.External()
		for _, name := range names {
			cell := ""
			if v, ok := external[name]; ok {
				cell = fmt.Sprint(studies.ParamValue(v))
			}
			row = append(row, cell)
		}
		err = errors.Join(err, w.Write(append(row, studies.Reason(t))))
	}
	w.Flush()
	return b.Bytes(), errors.Join(err, w.Error())
}

func studyExportCommand(a *cli.App) *cobra.Command {
	out := ""
	cmd := readOnlyCommand(a, "export", "Write the trials of a study as CSV or JSON lines",
		func(_ *study.Study, trials []*study.FrozenTrial) error {
			if out == "" {
				return console.BadInput("--out is missing: give the file to write, such as trials.csv or trials.jsonl")
			}
			if !strings.HasSuffix(out, ".csv") && !strings.HasSuffix(out, ".jsonl") {
				return console.BadInput("--out got %q, wants a file .csv or .jsonl", out)
			}
			encode := trialsJSON
			if strings.HasSuffix(out, ".csv") {
				encode = trialsCSV
			}
			text, err := encode(trials)
			if err != nil {
				return err
			}
			if err := os.WriteFile(out, text, 0o666); err != nil {
				return console.BadInput("--out %s cannot be written: %w", out, console.Cause(err))
			}
			fmt.Fprintf(a.Out, "%s in %s\n", quantity.Count(len(trials), "trial is", "trials are"), out)
			return nil
		})
	cmd.Flags().StringVar(&out, "out", "", "file to write, .csv or .jsonl")
	return cmd
}
