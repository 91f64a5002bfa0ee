// Package chaos breaks Holdpoint and its store while people answer questions, and checks what
// becomes of each answer.
//
// Several processes of Holdpoint share one Redis or one PostgreSQL, or a single process uses a
// file. The clocks of the processes differ by minutes and jump. Processes are killed, frozen and
// drained. The servers of a store are killed and frozen, and replaced by a server whose clock is
// ahead. Connections are cut and frozen. Clients answer at two replicas at the same time, leave,
// send requests again, reload and disagree. For each family of backends, a backend counts what it
// carries out. It would carry out an answer twice if it got the answer twice.
//
// The tests have the build tag e2e. `make chaos DURATION=30m` runs them for longer.
package chaos
