package demo

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// A screen writes the output of the demonstration.
type screen struct {
	out   io.Writer
	width int
	color bool
}

// twoColumns is the smallest screen width at which the frames of the backend and of the client are
// shown side by side.
const twoColumns = 100

// Colors, as escape sequences.
const (
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	green  = "\x1b[32m"
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	plain  = "\x1b[0m"
)

func (s *screen) paint(color, text string) string {
	if !s.color || text == "" {
		return text
	}
	return color + text + plain
}

func (s *screen) line(format string, args ...any) { fmt.Fprintf(s.out, format+"\n", args...) }

func (s *screen) title(text string) {
	rule := max(0, min(s.width, 100)-utf8.RuneCountInString(text)-4)
	s.line("\n%s", s.paint(bold, "== "+text+" "+strings.Repeat("=", rule)))
}

// fact shows a name with its value. A long value continues on further lines.
func (s *screen) fact(name, value string) {
	const indent = 24
	room, rest := max(20, s.width-indent), []rune(value)
	for first := true; first || len(rest) > 0; first = false {
		n := min(room, len(rest))
		s.line("   %s %s", pad(name, indent-4), string(rest[:n]))
		name, rest = "", rest[n:]
	}
}

// frames shows the frames of the backend in a column on the left, and those of the client on the
// right. A sign between the columns shows what Holdpoint did with a frame: a space if it forwarded
// the frame unchanged, | if it rewrote the frame, < if it left the frame out, and > if it added the
// frame. If short is set, consecutive unchanged frames are summarized in one line.
func (s *screen) frames(backend, client []string, short bool) {
	left := "the backend sends"
	if backend == nil {
		left = "the backend is not called"
	}
	rows := align(backend, client)
	if s.width < twoColumns {
		if backend == nil {
			s.line("   %s", s.paint(dim, left))
		} else {
			s.column(left, rows, short, func(r row) string { return r.left })
		}
		s.column("the client receives", rows, true, func(r row) string { return r.right })
		return
	}
	column := (s.width - 8) / 2
	s.line("   %s   %s", s.paint(dim, pad(left, column)), s.paint(dim, "the client receives"))
	for _, r := range shorten(rows, short) {
		left, right := pad(fit(brief(r.left), column), column), fit(brief(r.right), column)
		if r.sign == " " {
			s.line("   %s   %s", left, right)
		} else {
			s.line("   %s %s %s", s.paint(red, left), s.paint(bold, r.sign), s.paint(green, right))
		}
	}
}

// column shows the frames of one side, backend or client, if the screen is too narrow for two
// columns.
func (s *screen) column(name string, rows []row, short bool, side func(row) string) {
	s.line("   %s", s.paint(dim, name))
	for _, r := range shorten(rows, short) {
		if side(r) != "" {
			s.line("   %s %s", r.sign, fit(brief(side(r)), s.width-5))
		}
	}
}

// shorten replaces consecutive unchanged frames by one line with their number, if short is set.
func shorten(rows []row, short bool) []row {
	if !short {
		return rows
	}
	var list []row
	for i := 0; i < len(rows); {
		n := 0
		for i+n < len(rows) && rows[i+n].sign == " " {
			n++
		}
		if n > 1 {
			text := fmt.Sprintf("… %d frames that pass untouched", n)
			list, i = append(list, row{text, " ", text}), i+n
		} else {
			list, i = append(list, rows[i]), i+1
		}
	}
	return list
}

// A row has a frame of the backend on the left, a frame of the client on the right, or both.
type row struct{ left, sign, right string }

// align pairs the frames that are equal in a and b (their longest common subsequence). The frames
// between two such pairs differ; align pairs them too, from the end.
func align(a, b []string) []row {
	length := make([][]int, len(a)+1)
	for i := range length {
		length[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				length[i][j] = length[i+1][j+1] + 1
			} else {
				length[i][j] = max(length[i+1][j], length[i][j+1])
			}
		}
	}
	var rows []row
	var left, right []string // frames since the last equal pair
	flush := func() {
		// The frames are paired from the end, so that a rewritten RUN_FINISHED is next to the
		// backend's own.
		for n := max(len(left), len(right)); n > 0; n-- {
			rows = append(rows, pair(fromEnd(left, n), fromEnd(right, n)))
		}
		left, right = nil, nil
	}
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			flush()
			rows = append(rows, row{a[i], " ", b[j]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && length[i+1][j] >= length[i][j+1]:
			left, i = append(left, a[i]), i+1
		default:
			right, j = append(right, b[j]), j+1
		}
	}
	flush()
	return rows
}

// fromEnd returns the n-th element from the end, or "" if there are fewer.
func fromEnd(list []string, n int) string {
	if n > len(list) {
		return ""
	}
	return list[len(list)-n]
}

func pair(left, right string) row {
	switch {
	case right == "":
		return row{left, "<", right}
	case left == "":
		return row{left, ">", right}
	}
	return row{left, "|", right}
}

// brief returns a frame on one line: its type, then outcome and code, and then its other members as
// name=value. It leaves out threadId, which is the same in all frames, and rawEvent, which repeats
// LangChain's event.
func brief(frame string) string {
	ev := gjson.Parse(frame)
	if !ev.IsObject() {
		return frame
	}
	parts := []string{ev.Get("type").Str}
	for _, name := range []string{"outcome", "code"} {
		if v := ev.Get(name); v.Exists() {
			parts = append(parts, name+"="+v.Raw)
		}
	}
	ev.ForEach(func(k, v gjson.Result) bool {
		switch k.Str {
		case "type", "outcome", "code", "threadId", "rawEvent":
		default:
			parts = append(parts, k.Str+"="+v.Raw)
		}
		return true
	})
	return strings.Join(parts, " ")
}

// fit cuts text to the number of columns. The last column of a cut text is an ellipsis.
func fit(text string, columns int) string {
	if utf8.RuneCountInString(text) <= columns {
		return text
	}
	r := []rune(text)
	return string(r[:max(0, columns-1)]) + "…"
}

// pad extends text with spaces to a number of columns.
func pad(text string, columns int) string {
	return text + strings.Repeat(" ", max(0, columns-utf8.RuneCountInString(text)))
}
