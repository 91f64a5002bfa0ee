package proxy_test

import (
	"testing"

	golden "holdpoint/internal/scenario"
	"holdpoint/proxy"
)

// TestGoldenAtAnotherReplica plays every scenario with a new replica for each turn. The replicas
// share only a store. The client and the backend must get the same bytes as with one replica.
func TestGoldenAtAnotherReplica(t *testing.T) {
	failing := knownFailing(t)
	for at, s := range scenarios(t) {
		if failing[s.Name] != "" || s.Turns < 2 || proxy.Brief() && at%3 != 0 {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, s, delivery{name: "another replica"})
			defer st.close()
			for turn := 1; turn <= s.Turns; turn++ {
				if turn > 1 {
					st.start()
				}
				st.begin(turn)
				got := st.post(s.request(turn))
				if diff := s.differs(golden.Want(turn), got); diff != "" {
					t.Errorf("turn %d: %s", turn, diff)
				}
				for n, body := range st.backend.sent {
					pretty, err := indent(body)
					if err != nil && len(body) > 0 {
						t.Fatal(err)
					}
					if diff := s.differs(golden.Sent(turn, n+1), pretty); diff != "" {
						t.Errorf("turn %d: %s", turn, diff)
					}
				}
			}
		})
	}
}
