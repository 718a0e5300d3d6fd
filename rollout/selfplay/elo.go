package selfplay

import "math"

// result is the score of some games against an opponent.
type result struct {
	rating float64 // the opponent's
	score  float64 // games won, plus half of the games drawn
	games  int
}

// elo returns the rating that makes results likeliest (Elo, 1978). One more draw against each opponent is counted, so
// that the rating is finite after only wins. Without results it is 0.
func elo(results []result) float64 {
	if len(results) == 0 {
		return 0
	}
	surplus := func(rating float64) (s float64) { // expected score minus score
		for _, r := range results {
			s += float64(r.games+1)*expected(rating-r.rating) - (r.score + .5)
		}
		return s
	}
	low, high := -maxRating, maxRating
	for range 100 {
		if mid := (low + high) / 2; surplus(mid) > 0 {
			high = mid
		} else {
			low = mid
		}
	}
	return (low + high) / 2
}

// maxRating is the largest rating.
const maxRating = 1e5

// expected returns the expected score of a game for a difference of ratings.
func expected(difference float64) float64 { return 1 / (1 + math.Pow(10, -difference/400)) }
