package sparse

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"xlarun/graph"
	"xlarun/rollout/dataset"
	"xlarun/rollout/plan"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

func init() {
	run.MustRegister(run.Kind{
		Name:  "sparse",
		Short: "Train a population of sparse networks on MNIST",
		Long: "Sparse trains a population of networks 784-128-64-10, each with connections of its own, on MNIST: SGD " +
			"on the same batches for all members. At intervals each member drops its weakest connections and grows " +
			"others. A step is one example through the forward and backward pass of every member, " +
			"an update is one step of the optimizer, by --batch examples.",
		Example:   "  xlarun sparse\n  xlarun sparse --pop 50 --updates 1000 --mutate-every 100 --seed 3",
		Version:   3,
		Unit:      "update",
		Length:    "updates",
		Unbounded: true,
		Round:     "round",
		Work:      "examples through every member",
		New:       func() run.Experiment { return &Experiment{Config: DefaultConfig()} },
	})
}

// Experiment is a Config with its data.
type Experiment struct {
	Config
	Folder string `set:"data" program:"no" help:"folder with MNIST's four IDX files (default: fetched once)"`
	Data   Data   // Fetch reads it
}

// Purpose describes the programs, without layers before the data is read.
func (e *Experiment) Purpose() string {
	if e.Data.Train.Len() == 0 {
		return fmt.Sprintf("sparse %d members, batch %d, %s", e.Population, e.Batch, e.DType)
	}
	return e.Config.Purpose(e.Shape(e.Data))
}

// Check finds the first mistake in the settings, a *settings.Error. It reads no data.
func (e *Experiment) Check(on plan.Machine) error {
	if err := e.Config.Check(on); err != nil {
		return err
	}
	if n, known := e.examples(); known {
		return e.checkHeldOut(n)
	}
	return nil
}

// examples returns the number of training examples by the size of the file of their labels.
func (e *Experiment) examples() (n int, known bool) {
	const name = "train" + dataset.LabelsFile
	var size int64
	if e.Folder == "" {
		size, known = dataset.FileSize("mnist", name)
	} else if info, err := os.Stat(filepath.Join(e.Folder, name)); err == nil && info.Mode().IsRegular() {
		size, known = info.Size(), true
	}
	return int(size) - dataset.LabelsHead, known && size > dataset.LabelsHead
}

// Fetch reads the data. It downloads MNIST if it is missing.
func (e *Experiment) Fetch(ctx context.Context, p run.Progress) (err error) {
	dir := e.Folder
	if dir == "" {
		dir, err = dataset.Folder(ctx, "mnist", dataset.Request{Progress: p.Download, Notice: p.Notice})
		if err != nil {
			return err
		}
		p.Notice("reading the pictures")
	}
	if e.Data, err = ReadIDX(dir); err != nil && e.Folder != "" {
		return &settings.Error{Key: "data", Got: strconv.Quote(e.Folder),
			Wants: "a folder with MNIST's four IDX files: " + err.Error()}
	}
	return err
}

// ChoosePlan chooses the method.
func (e *Experiment) ChoosePlan(ctx context.Context, b xlabridge.Backend) (plan.Choice, error) {
	return Tune(ctx, b, e.Config, e.Data)
}

// Start makes the members and compiles the programs.
func (e *Experiment) Start(ctx context.Context, b xlabridge.Backend) (run.Run, error) {
	p, err := New(ctx, b, e.Config, e.Data)
	if err != nil {
		return nil, err
	}
	return &training{Population: p}, nil
}

// Board returns the rows of a display: the members' accuracy in training and on the test data.
func (e *Experiment) Board() []run.DisplayRow {
	row := func(label, metric, color string, plain bool) run.DisplayRow {
		return run.DisplayRow{Label: label, Parts: []run.Part{{Metric: metric, Format: run.Percent}}, Curve: metric,
			Color: color, Plain: plain}
	}
	return []run.DisplayRow{
		{Label: "accuracy", Parts: []run.Part{{Before: "of the members, on the examples that they learn from"}}},
		row("best", "best_accuracy", "green", true), row("mean", "mean_accuracy", "cyan", true),
		row("worst", "worst_accuracy", "yellow", true),
		{Label: "loss", Parts: []run.Part{{Metric: "loss", Format: run.Loss}}, Curve: "loss", Plain: true},
		{Label: "test", Parts: []run.Part{{Before: "best ", Metric: "best_test_accuracy", Format: run.Percent},
			{Before: ", mean ", Metric: "mean_test_accuracy", Format: run.Percent}}, Plain: true},
		{Label: "members", Parts: []run.Part{{Metric: memberUpdates, Format: run.Whole,
			Behind: " updates of a member/s"}}},
		{Label: "failed", Plain: true, Rare: true, Parts: []run.Part{
			{Metric: "failed_members", Format: run.Whole, Behind: " members, whose loss is not finite"},
			{Before: ", the first ", Metric: "failed_member", Format: run.Whole}}},
	}
}

// training is a run of the kind: rounds of SGD, and tests at intervals and at the end.
type training struct {
	*Population
	train  Stats // of the last round; empty before there is one
	test   Stats // of the last test
	tested int   // the update of the last test; 0: none
}

// Step makes the updates of one round, and tests the members if a test is due.
func (t *training) Step(context.Context) (run.Metrics, error) {
	every := t.config.TestEvery
	until := min(t.config.Updates, (t.Updates()/every+1)*every)
	start := time.Now()
	n, stats, err := t.Train(until - t.Updates())
	if err != nil {
		return run.Metrics{}, err
	}
	seconds := time.Since(start).Seconds()
	t.train = stats
	m := run.Metrics{Step: int64(t.Updates()), Work: float64(n * t.config.Batch), Values: []run.Value{
		{Name: stepsMetric, Number: float64(t.Updates()) * float64(t.config.Batch)},
		{Name: "loss", Number: mean(stats.Loss)}, {Name: "worst_accuracy", Number: slices.Min(stats.Accuracy)},
		{Name: "mean_accuracy", Number: mean(stats.Accuracy)},
		{Name: "best_accuracy", Number: slices.Max(stats.Accuracy)}}}
	m.Timings = []run.Value{{Name: memberUpdates, Number: float64(n*t.config.Population) / seconds}}
	if held := t.selection.last; held != nil {
		m.Values = append(m.Values, run.Value{Name: "best_held_out_accuracy", Number: slices.Max(held.Accuracy)},
			run.Value{Name: "mean_held_out_accuracy", Number: mean(held.Accuracy)})
		t.selection.last = nil
	}
	if failed := failedMembers(stats.Loss); len(failed) > 0 {
		m.Values = append(m.Values, run.Value{Name: "failed_members", Number: float64(len(failed))},
			run.Value{Name: "failed_member", Number: float64(failed[0])})
		if len(failed) == len(stats.Loss) {
			m.Failed = func(context.Context) error {
				return fmt.Errorf("all %d members failed, since none has a finite loss; member 0 has %v. Take a "+
					"smaller --lr", len(failed), stats.Loss[0])
			}
		}
	}
	if t.Updates()%every == 0 {
		tested, err := t.evaluateAll()
		if err != nil {
			return m, err
		}
		m.Values = append(m.Values, tested...)
	}
	return m, nil
}

// Names of metrics: steps so far, and the updates of all members in a second.
const (
	stepsMetric   = "steps"
	memberUpdates = "member_updates_per_second"
)

// evaluateAll tests the members and returns the metrics: of all, and of the one that is saved (best).
func (t *training) evaluateAll() ([]run.Value, error) {
	test, err := t.Evaluate()
	if err != nil {
		return nil, err
	}
	t.test, t.tested = test, t.Updates()
	saved := t.best()
	accuracy, n := test.Accuracy[saved], float64(t.data.Test.Len())
	found := []float64{n, accuracy, n * accuracy * (1 - accuracy)}
	if len(failedMembers(test.Loss[saved:saved+1])) > 0 {
		found = make([]float64, 3)
	}
	return append([]run.Value{{Name: "test_loss", Number: mean(test.Loss)},
		{Name: "best_test_accuracy", Number: slices.Max(test.Accuracy)},
		{Name: "mean_test_accuracy", Number: mean(test.Accuracy)}},
		run.EvalValues(run.NewEvaluation(found, t.data.Test.Len()))...), nil
}

// Closing tests the members of a run that ends between two tests.
func (t *training) Closing(context.Context) ([]run.Value, error) {
	if t.tested == t.Updates() {
		return nil, nil
	}
	return t.evaluateAll()
}

// Restore sets the state to a snapshot.
func (t *training) Restore(ctx context.Context, s run.Snapshot) error {
	t.train, t.test, t.tested = Stats{}, Stats{}, 0
	return t.Population.Restore(ctx, s)
}

// Ending sums the run up, and names the members that have failed.
func (t *training) Ending(run.Metrics) string {
	failed := failures(t.train.Loss, t.test.Loss)
	if t.tested == 0 || len(t.train.Accuracy) == 0 {
		return fmt.Sprintf("accuracy in training %.2f %%, mean of the members", 100*mean(t.train.Accuracy)) + failed
	}
	return fmt.Sprintf("test accuracy %.2f %%, mean of the members; the highest %.2f %%; the saved member, the best "+
		"in training, %.2f %%", 100*mean(t.test.Accuracy), 100*slices.Max(t.test.Accuracy),
		100*t.test.Accuracy[t.best()]) + failed
}

// best returns the number of the member that is saved: the one with the highest accuracy in training, so that its test
// accuracy is unbiased by the choice.
func (t *training) best() int { return slices.Index(t.train.Accuracy, slices.Max(t.train.Accuracy)) }

// failedMembers returns the numbers of the members with a loss that is not finite.
func failedMembers(losses ...[]float64) []int {
	failed := map[int]bool{}
	for _, each := range losses {
		for i, x := range each {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				failed[i] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(failed))
}

// failures names the members whose loss is not finite, as the end of a sentence; "" for none.
func failures(losses ...[]float64) string {
	members := 0
	for _, each := range losses {
		members = max(members, len(each))
	}
	const most = 5
	var named string
	numbers := failedMembers(losses...)
	n := len(numbers)
	switch {
	case n == 0:
		return ""
	case n == members:
		named = fmt.Sprintf("all %d members", n)
	default:
		words := make([]string, min(n, most))
		for i := range words {
			words[i] = strconv.Itoa(numbers[i])
		}
		named = fmt.Sprintf("%d of the %d members (%s", n, members, strings.Join(words, ", "))
		if n > most {
			named += ", …"
		}
		named += ")"
	}
	return "; the loss of " + named + " is not finite: take a smaller --lr"
}

// Compiled returns the program that trains.
func (t *training) Compiled() *xlabridge.Compiled { return t.Population.train.Program() }

// Files returns each member's results, and the connections of the best one. The best is chosen by the examples of the
// last round, so that its test accuracy is unbiased by the choice. Members are not tested for the files, because that
// takes long: test results are those of a test after this update.
func (t *training) Files(run.Snapshot, bool) ([]run.File, error) {
	if len(t.train.Accuracy) == 0 {
		return nil, nil
	}
	tested := t.tested == t.Updates()
	type result struct {
		Member       int      `json:"member"`
		Loss         *float64 `json:"loss"` // null where it is not a finite number
		Accuracy     float64  `json:"accuracy"`
		TestLoss     *float64 `json:"test_loss"` // null if the members were not tested after this update
		TestAccuracy *float64 `json:"test_accuracy"`
	}
	members := make([]result, len(t.train.Loss))
	for i := range members {
		members[i] = result{Member: i, Loss: run.Finite(t.train.Loss[i]), Accuracy: t.train.Accuracy[i]}
		if tested {
			members[i].TestLoss, members[i].TestAccuracy = run.Finite(t.test.Loss[i]), run.Finite(t.test.Accuracy[i])
		}
	}
	best := t.best()
	member, err := t.Member(best)
	if err != nil {
		return nil, err
	}
	arrays := map[string]*graph.Array{}
	for l, c := range member {
		arrays[fmt.Sprintf("%d.at", l)], arrays[fmt.Sprintf("%d.w", l)] = c.At, c.W
	}
	layers, err := json.Marshal(t.shape.units())
	if err != nil {
		return nil, err
	}
	metadata := map[string]string{"kind": "sparse", "member": strconv.Itoa(best), "update": strconv.Itoa(t.Updates()),
		"layers": string(layers), "dtype": t.config.DType, "method": t.profile.Chosen["method"].(string),
		"accuracy": fmt.Sprint(t.train.Accuracy[best])}
	if tested {
		metadata["test_accuracy"] = fmt.Sprint(t.test.Accuracy[best])
	}
	return []run.File{{Name: "members.json", JSON: members},
		{Name: "best.safetensors", Arrays: arrays, Metadata: metadata}}, nil
}

func mean(values []float64) float64 {
	sum := 0.
	for _, v := range values {
		sum += v
	}
	return sum / float64(max(1, len(values)))
}
