package langgraphserver

import (
	"fmt"
	"testing"

	"holdpoint/internal/test/hostile"
	"holdpoint/translate/dialecttest"
)

// TestStateOfVeryManyMembers: the states of the client and of the server have 40,000 members each.
// They must be compared quickly; searching for each member took minutes.
func TestStateOfVeryManyMembers(t *testing.T) {
	const n = 40_000
	member := func(value int) string {
		return hostile.Many(n, func(i int) string { return fmt.Sprintf(`"k%d":%d`, (i+value)%n, value) })
	}
	s, ok := readState([]byte(`{"values":{` + member(1) + `},"next":[],"tasks":[]}`))
	if !ok {
		t.Fatal("it is no state")
	}
	in := input(t, `"state":{`+member(2)+`}`)
	before := hostile.ProcessorTime(t)
	inputOf(in, s, nil)
	if took := hostile.ProcessorTime(t) - before; took > hostile.Limit {
		t.Errorf("it took %v", took)
	}
}

// TestVeryManyQuestions: a stream asks 4,000 questions, in one frame or in many, with and without
// ids. All must be found quickly.
func TestVeryManyQuestions(t *testing.T) {
	const n = 4_000
	for _, one := range []string{`{"id":"%032[1]x","value":{"q":%[1]d}}`, `{"value":{"q":%d}}`} {
		ask := func(i int) string { return fmt.Sprintf(one, i) }
		all := hostile.Many(n, ask)
		stream := []string{meta}
		for i := range n {
			stream = append(stream, `updates|{"__interrupt__":[`+ask(i)+`]}`)
		}
		for range 20 {
			stream = append(stream, `values|{"__interrupt__":[`+all+`]}`)
		}
		e := plain(t, "", empty)
		before := hostile.ProcessorTime(t)
		after := next(t, e.Run, false, frames(stream...))
		p := dialecttest.Decode(after.Run, &dialecttest.Log{}, false, whole(stateWith(task(all)))...)
		if took := hostile.ProcessorTime(t) - before; took > hostile.Limit/3 || len(p.Result.Asked.Interrupts) != n {
			t.Errorf("%d questions took %v", len(p.Result.Asked.Interrupts), took)
		}
	}
}
