//go:build e2e

// Package desk tests the desk's page as people use it: a real Chromium, before the built binary
// with a desk, before a backend that asks what it is told to ask. The backend is a fake, written
// from what the official integrations stream (docs/support.md); the page knows nothing of backends.
//
// Each scene has a Holdpoint of its own, and a profile of the browser of its own. The scenes are in
// scenes/, in JavaScript, for they are about a page; what they need of the machine is in Go.
package desk
