// Package e2e contains the end-to-end tests. They run the built binary between real backends and
// real clients. The backends are in Python and TypeScript, and scripted ones replace backends that
// cannot be installed. The clients are three versions of the AG-UI client. The tests have the build
// tag e2e; README.md describes how to run them.
//
// The package has no code besides tests. Behavior that needs no second process is tested by golden
// scenarios and unit tests.
package e2e
