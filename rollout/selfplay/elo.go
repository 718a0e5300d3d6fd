package selfplay

import (
	"math"
	"math/rand/v2"
)

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

// standardError returns the standard error of the mean points of a game; NaN of fewer than two games.
func (r result) standardError() float64 {
	n, squares := float64(r.games), 0.
	for _, x := range r.points {
		squares += (x - r.score/n) * (x - r.score/n)
	}
	return math.Sqrt(squares / (n - 1) / n)
}

// eloResamples is the number of resamples of eloError: the error of the error is then 5 % of it.
const eloResamples = 200

// eloError returns the standard error of elo(results): the deviation of the ratings of bootstrap resamples, in which
// the games against each opponent are drawn again with replacement (Efron, 1979). The ratings of the opponents count as
// exact.
func eloError(results []result, seed uint64) float64 {
	draw := rand.New(rand.NewPCG(seed, 0))
	ratings, mean := make([]float64, eloResamples), 0.
	for k := range ratings {
		resampled := make([]result, len(results))
		for i, r := range results {
			resampled[i] = result{rating: r.rating, games: r.games}
			for range r.games {
				resampled[i].score += r.points[draw.IntN(r.games)]
			}
		}
		ratings[k] = elo(resampled)
		mean += ratings[k] / eloResamples
	}
	squares := 0.
	for _, x := range ratings {
		squares += (x - mean) * (x - mean)
	}
	return math.Sqrt(squares / (eloResamples - 1))
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
