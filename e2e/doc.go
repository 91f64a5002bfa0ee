// Package e2e holds the end-to-end tests. They put the built binary between real backends and real
// clients. The backends are in Python and TypeScript, and scripted ones stand in for what cannot be
// installed. The clients are the AG-UI clients of three versions. The tests carry the build tag
// e2e; README.md says how to run them.
//
// The package itself is empty. It does not test what needs no second process: golden scenarios and
// unit tests do that.
package e2e
