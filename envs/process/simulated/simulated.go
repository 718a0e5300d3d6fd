// Package simulated is a program for tests of package process: it speaks the protocol, and breaks it if asked to. A
// test's TestMain calls Main, and the command is then the test's own binary.
package simulated

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"
)

// word is the first argument that makes a binary the program.
const word = "simulate"

// Command returns the command, for a way to break the protocol; "" for none. steps is the step of an episode in which
// that happens. With the way "dies-if-FILE" the program ends there if the file exists.
func Command(way string, steps int) string {
	return fmt.Sprintf("%s %s %s %d", os.Args[0], word, orGood(way), steps)
}

func orGood(way string) string {
	if way == "" {
		return "good"
	}
	return way
}

// Main runs the program and ends the process, if the arguments say so.
func Main() {
	if len(os.Args) != 4 || os.Args[1] != word {
		return
	}
	at, err := strconv.Atoi(os.Args[3])
	if err == nil {
		err = run(os.Args[2], int32(at))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	os.Exit(0)
}

// Episode is an episode: the observation is {seed mod 1000, steps}.
type Episode struct{ Seed, Steps int32 }

// Observation returns the observation.
func (e Episode) Observation() []float32 { return []float32{float32(e.Seed % 1000), float32(e.Steps)} }

// Step plays an action. The reward is the action, and the episode terminates after 3 to 6 steps.
func (e *Episode) Step(action int32) (reward float32, terminated, truncated bool) {
	e.Steps++
	return float32(action), e.Steps >= 3+e.Seed%4, false
}

func run(way string, at int32) error {
	if way == "greeting" {
		fmt.Println(`{"protocol": 2}`)
		return nil
	}
	fmt.Println(`{"protocol": 1, "timeout": 0.5, "observation": {"shape": [2]}, "action": {"n": 3}, "max_steps": 5}`)
	in, episodes := bufio.NewReader(os.Stdin), map[uint32]*Episode{}
	for {
		var request string
		var n int
		if _, err := fmt.Fscanf(in, "%s %d\n", &request, &n); err != nil {
			return nil // the pipe is closed
		}
		slots, second := make([]uint32, n), make([]int32, n)
		if err := binary.Read(in, binary.LittleEndian, slots); err != nil {
			return err
		}
		if err := binary.Read(in, binary.LittleEndian, second); err != nil {
			return err
		}
		var observations, rewards, terminated, truncated []byte
		broken := false
		for i, s := range slots {
			if request == "reset" {
				episodes[s] = &Episode{Seed: second[i]}
			}
			e := episodes[s]
			if e == nil {
				return fmt.Errorf("no episode in slot %d", s)
			}
			if request == "step" {
				reward, over, cut := e.Step(second[i])
				if e.Steps == at && way == "reward" {
					reward = float32(math.Inf(1))
				}
				broken = broken || e.Steps == at
				rewards = binary.LittleEndian.AppendUint32(rewards, math.Float32bits(reward))
				terminated, truncated = append(terminated, flag(over)), append(truncated, flag(cut))
			}
			for k, x := range e.Observation() {
				if e.Steps == at && way == "nan" && k == 1 {
					x = float32(math.NaN())
				}
				observations = binary.LittleEndian.AppendUint32(observations, math.Float32bits(x))
			}
		}
		answer := append(append(append(observations, rewards...), terminated...), truncated...)
		if path, ok := strings.CutPrefix(way, "dies-if-"); ok && broken {
			if _, err := os.Stat(path); err == nil {
				return fmt.Errorf("the simulator exploded")
			}
		}
		if broken {
			switch way {
			case "dead":
				return fmt.Errorf("the simulator exploded")
			case "silent":
				time.Sleep(time.Hour)
			case "count":
				answer = answer[1:]
			case "noise":
				fmt.Println("step", at)
			case "error":
				fmt.Println("error there is no such action")
			case "cut":
				fmt.Printf("ok %d\n", len(answer))
				return nil
			}
		}
		fmt.Printf("ok %d\n", len(answer))
		if _, err := os.Stdout.Write(answer); err != nil {
			return err
		}
	}
}

func flag(x bool) byte {
	if x {
		return 1
	}
	return 0
}
