// Package chaos breaks Holdpoint and its store while people answer questions, and says what became
// of each answer.
//
// Several processes of Holdpoint share one Redis or one PostgreSQL, or one has a file. Their clocks
// are minutes apart and jump. Processes are killed, frozen and drained. Servers are killed, frozen
// and failed over to one whose clock is ahead. Connections are cut and frozen. Clients answer at
// two replicas at once, leave, send again, reload and disagree. A backend of each family counts
// what it is told to carry out, and would carry it out twice if it were told twice.
//
// The tests carry the build tag e2e. `make chaos DURATION=30m` runs them for longer.
package chaos
