package selfplay

import "math"

// result is the score of some games against an opponent.
type result struct {
	rating float64 // the opponent's
	score  float64 // games won, plus half of the games drawn
	games  int
	points []float64 // of each game: 1, 0 or 1/2 for a draw
}

// newResult returns the result of games with these points.
func newResult(rating float64, points []float64) result {
	r := result{rating: rating, games: len(points), points: points}
	mean := 0.
	for _, x := range points {
		mean += x / float64(r.games)
	}
	r.score = mean * float64(r.games)
	return r
}

// eloError returns the standard error of a rating that elo returned: the root of the inverse curvature of the
// likelihood there (Fisher information), in which the draws that elo adds count as games. The ratings of the opponents
// count as exact. It is infinite without results.
func eloError(rating float64, results []result) float64 {
	information := 0.
	for _, r := range results {
		p := expected(rating - r.rating)
		information += float64(r.games+1) * p * (1 - p)
	}
	return 400 / math.Ln10 / math.Sqrt(information)
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
