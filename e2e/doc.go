// Package e2e holds the end-to-end tests: real backends in Python (LangGraph, Microsoft Agent Framework) and TypeScript
// (Strands), scripted ones for what cannot be installed, the real AG-UI clients of three versions, and the built binary between
// them. They carry the build tag e2e; README.md says how to run them.
//
// The package itself is empty. It does not test what needs no second process: golden scenarios and unit tests do that.
package e2e
