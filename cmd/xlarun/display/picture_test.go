package display

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A picture has two numbers in each character, one above the other; without colors the greater one.
func TestPicture(t *testing.T) {
	nan := math.NaN()
	var p picture
	calls := 0
	rows := [][]float64{{0, 1, nan, nan}, {1, nan, 0, nan}}
	news := RoundReport{Map: func(width, height int) ([][]float64, error) {
		require.Equal(t, []int{pictureWidth, pictureHeight}, []int{width, height})
		calls++
		return rows, nil
	}}
	now := time.Unix(100, 0)
	require.NoError(t, p.update(news, now, false))
	require.NoError(t, p.update(news, now.Add(pictureEvery/2), false))
	require.Equal(t, 1, calls, "the picture is new")
	require.NoError(t, p.update(news, now.Add(pictureEvery/2), true))
	require.NoError(t, p.update(news, now.Add(2*pictureEvery), false))
	require.Equal(t, 3, calls)
	require.NoError(t, p.update(RoundReport{}, now.Add(4*pictureEvery), true))
	gone := RoundReport{Map: func(int, int) ([][]float64, error) { return nil, errors.New("gone") }}
	require.ErrorContains(t, p.update(gone, now, true), "gone", "errors vanished")
	require.NoError(t, p.update(gone, now, true), "it is said once")
	require.Equal(t, rows, p.rows, "a picture stays until there is another")

	draw := func(style Style) string {
		lines := p.lines(grid{80, 12, style}, "archive")
		require.Len(t, lines, 1)
		require.Equal(t, "archive", strings.TrimSpace(lines[0].line[0].text))
		return lines[0].line[1:].render(80, style)
	}
	require.Equal(t, "##. ", draw(Style{}))
	require.Equal(t, "██░ ", draw(Style{Unicode: true}))
	require.Equal(t, "\x1b[38;5;54;48;5;226m▀\x1b[0m\x1b[38;5;226m▀\x1b[0m\x1b[38;5;54m▄\x1b[0m ",
		draw(Style{Unicode: true, Color: true}))
	require.Empty(t, p.lines(grid{40, 12, Style{}}, "archive"), "a narrow terminal")
	p.rows = [][]float64{{3}, {3}}
	require.Equal(t, "#", draw(Style{}), "equal numbers")
	// With elites of one fitness, empty cells were drawn as full.
	p.rows = [][]float64{{3, nan}, {nan, nan}}
	require.Equal(t, "# ", draw(Style{}))
	p.rows = [][]float64{{nan}, {nan}}
	require.Equal(t, " ", draw(Style{}), "nothing yet")
}
