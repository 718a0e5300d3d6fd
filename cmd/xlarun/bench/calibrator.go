package bench

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"strconv"
	"strings"
	"time"

	thirdparty "xlarun/third_party"
)

// calibratorSize is the population of calibrate.c.
type calibratorSize struct{ members, hidden, tile int }

var (
	smallCalibrator = calibratorSize{256, 16, 128}
	wideCalibrator  = calibratorSize{1024, 64, 64}
)

// id names the calibration's program and size: figures of different ones cannot be compared.
func (s calibratorSize) id() string {
	source, _ := fs.ReadFile(thirdparty.Peers, "peers/calibrate.c") // embedded
	return fmt.Sprintf("calibrate.c %.4x, %d x %d", sha256.Sum256(fmt.Appendf(source, "%v", cFlags)), s.members, s.hidden)
}

// calibrator is a running calibrate.c, which sleeps until it is asked for generations.
type calibrator struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// startCalibrator compiles calibrate.c for the size on first use, and starts it with as many threads as the workload has
// devices.
func startCalibrator(ctx context.Context, size calibratorSize, threads int) (work slicer, stop func() error, err error) {
	program, err := compileC(ctx, "calibrate.c", fmt.Sprintf("-DMEMBERS=%d", size.members), fmt.Sprintf("-DHIDDEN=%d", size.hidden), fmt.Sprintf("-DTILE=%d", size.tile))
	if err != nil {
		return nil, nil, fmt.Errorf("a figure cannot be calibrated: %w", err)
	}
	c := &calibrator{cmd: exec.CommandContext(ctx, program, strconv.Itoa(threads))}
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	c.out = bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		return nil, nil, fmt.Errorf("calibrate.c cannot be started: %w", err)
	}
	return c.run, c.stop, nil
}

// run is a slicer.
func (c *calibrator) run(n int) (time.Duration, error) {
	if _, err := fmt.Fprintln(c.in, n); err != nil {
		return 0, fmt.Errorf("calibrate.c has ended: %w", err)
	}
	line, err := c.out.ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("calibrate.c has ended: %w", err)
	}
	text, _, _ := strings.Cut(line, " ")
	cpu, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("calibrate.c answered %q, not with a time", strings.TrimSpace(line))
	}
	return time.Duration(cpu * float64(time.Second)), nil
}

func (c *calibrator) stop() error {
	return errors.Join(c.in.Close(), c.cmd.Wait())
}
