//go:build e2e

package e2e

import (
	"fmt"
	"path/filepath"
	"testing"

	"holdpoint/internal/test/servers"
)

// TestAegra tests Aegra, an open-source LangGraph Server, with a real PostgreSQL. If a run asks,
// its stream has no event with the question, so Holdpoint must read the thread's state. The client
// must get the question in the same run, an approved action must run once, and the next message
// must be answered.
func TestAegra(t *testing.T) {
	t.Parallel()
	onDemand[aegra].install(aegra)
	if err := onDemand[aegra].err; err != nil {
		t.Fatal(err)
	}
	database := servers.StartPostgres(t, servers.PostgresOptions{})
	database.Exec("ALTER ROLE " + servers.PostgresUser + " PASSWORD 'aegra'") // Aegra cannot read an escaped password
	s := &server{stack: aegra, ledger: filepath.Join(t.TempDir(), "ledger"), env: []string{
		fmt.Sprintf("DATABASE_URL=postgresql://%s:aegra@%s/%s", servers.PostgresUser, database.Addr(), servers.PostgresDatabase),
	}}
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.kill)
	w := world{b: &backend{name: "aegra", server: s}, h: ofServer(t, s, "agent", nil), version: newest}
	together(t, map[string]oneAnswer{
		"approved": {yesToServer, []string{deleteA}}, "denied": {noToServer, nil}, "cancelled": {cancelled, nil},
	}, func(t *testing.T, c oneAnswer) {
		cl := newClient(t, shared.through, w.version, w.h.address+"/", uuid(), nil) // the ledger has the ids of the server, which are UUIDs
		cl.asksAbout(t, step{say: "delete a.txt"}, 1)
		w.ran(t, cl)
		answered := step{resume: cl.answers(c.answer)}
		cl.finish(t, answered)
		w.ran(t, cl, c.want...)
		cl.finish(t, answered) // repeat the same answer
		w.ran(t, cl, c.want...)
		cl.goesOn(t, nil)
		w.ran(t, cl, c.want...)
	})
	t.Run("a message in the place of an answer", func(t *testing.T) {
		cl := newClient(t, shared.through, w.version, w.h.address+"/", uuid(), nil)
		cl.asksAbout(t, step{say: "delete a.txt"}, 1)
		cl.goesOn(t, nil)
		w.ran(t, cl)
	})
}

var aegra = stack{"aegra", "0.6.0"}
