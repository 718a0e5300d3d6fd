package study_test

import (
	"context"
	"fmt"
	"log"

	"xlarun/studies/study"
)

// A study in memory, of an objective in Go.
func Example() {
	s, err := study.New("parabola", study.Options{Sampler: &study.TPE{}, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	err = s.Optimize(context.Background(), 50, 1, func(t *study.Trial) ([]float64, error) {
		x, err := t.SuggestFloat("x", -10, 10)
		return []float64{(x - 2) * (x - 2)}, err
	})
	if err != nil {
		log.Fatal(err)
	}
	best, err := s.Best()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(best[0].Values[0] < 0.1)
	// Output: true
}
