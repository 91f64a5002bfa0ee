// Package e2e contains the end-to-end tests. They run the built binary between real backends and
// real clients. The backends are in Python and TypeScript. Scripted backends take the place of
// those that cannot be installed. The clients are three versions of @ag-ui/client. The tests have
// the build tag e2e, and README.md describes how to run them.
//
// The package has no code besides tests. Golden scenarios and unit tests cover the behavior that
// needs no second process.
package e2e
