// Package chaos breaks Holdpoint and its store while people answer questions, and reports the
// outcome of each answer.
//
// Several processes of Holdpoint share one Redis or one PostgreSQL, or one process uses a file.
// Their clocks differ by minutes and jump. Processes are killed, frozen and drained. Servers are
// killed, frozen and failed over to one whose clock is ahead. Connections are cut and frozen.
// Clients answer at two replicas at the same time, leave, send again, reload and disagree. A
// backend of each family counts what it carries out, and would carry out an answer twice if it got
// it twice.
//
// The tests have the build tag e2e. `make chaos DURATION=30m` runs them for longer.
package chaos
