package internal_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/internal/erase"
)

type point struct{ x, y int }

type parts[P any] struct {
	Number int
	Sum    func(P) int
	Move   func(p P, by int) (P, error)
	Each   func(p P, f func(P) int) int
	None   func(P)
	Inner  *inner[P]
	Absent *inner[P]
}

type inner[P any] struct{ Make func() P }

func TestTo(t *testing.T) {
	refuse := func(got any, want reflect.Type) { panic(fmt.Sprintf("got %T, want %s", got, want)) }
	p := erase.To[parts[any]](parts[point]{Number: 3,
		Sum:   func(p point) int { return p.x + p.y },
		Move:  func(p point, by int) (point, error) { return point{p.x + by, p.y}, fmt.Errorf("by %d", by) },
		Each:  func(p point, f func(point) int) int { return 10 * f(p) },
		Inner: &inner[point]{Make: func() point { return point{4, 5} }},
	}, refuse)
	require.Equal(t, 3, p.Number)
	require.Equal(t, 3, p.Sum(point{1, 2}))
	require.PanicsWithValue(t, "got <nil>, want internal_test.point", func() { p.Sum(nil) })
	moved, err := p.Move(point{1, 2}, 7)
	require.Equal(t, point{8, 2}, moved)
	require.EqualError(t, err, "by 7")
	require.Equal(t, 20, p.Each(point{2, 0}, func(p any) int { return p.(point).x }))
	require.Nil(t, p.None)
	require.Equal(t, point{4, 5}, p.Inner.Make())
	require.Nil(t, p.Absent)
	require.PanicsWithValue(t, "got string, want internal_test.point", func() { p.Sum("a point") })
}

// list is a type like strategy.Draws: only its methods name the type of an element.
type list[P any] struct{ of []any }

func (l list[P]) first() P { return l.of[0].(P) }

func TestToConvertsStructsOfEqualFields(t *testing.T) {
	first := erase.To[func(list[any]) any](func(l list[point]) int { return l.first().x }, nil)
	require.Equal(t, 3, first(list[any]{[]any{point{3, 4}}}))
}

func TestToRefusesOtherTypes(t *testing.T) {
	want := "erase: got a []internal_test.point as a []interface {}, wants a pointer, a struct or a function"
	require.PanicsWithValue(t, want, func() { erase.To[[]any]([]point{{1, 2}}, nil) })
}
