package selfplay

import "math"

// result is what one made of games against an opponent.
type result struct {
	rating float64 // the opponent's
	score  float64 // games won, and half of those that were drawn
	games  int
}

// elo is the rating at which results are likeliest (Elo, 1978): against each opponent one more drawn game is counted,
// so that who wins all has a finite one. Without results it is 0.
func elo(results []result) float64 {
	if len(results) == 0 {
		return 0
	}
	surplus := func(rating float64) (s float64) { // expected less reached
		for _, r := range results {
			s += float64(r.games+1)*expected(rating-r.rating) - (r.score + .5)
		}
		return s
	}
	low, high := -farthest, farthest
	for range 100 {
		if mid := (low + high) / 2; surplus(mid) > 0 {
			high = mid
		} else {
			low = mid
		}
	}
	return (low + high) / 2
}

// farthest bounds ratings.
const farthest = 1e5

// expected is the score that a difference of ratings lets expect.
func expected(difference float64) float64 { return 1 / (1 + math.Pow(10, -difference/400)) }
