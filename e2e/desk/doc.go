//go:build e2e

// Package desk tests the desk's page as people use it: a real Chromium with the built binary and
// its desk, in front of a scripted backend. The backend follows the streams of the official
// integrations (docs/support.md); the page does not depend on the kind of backend.
//
// Each scene has its own Holdpoint, and its own profile of the browser. The scenes are in scenes/,
// in JavaScript, because they are about a page; what they need from the machine is in Go.
package desk
