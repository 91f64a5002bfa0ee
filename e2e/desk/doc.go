//go:build e2e

// Package desk tests the page of the desk as people use it. A real Chromium opens the page of the
// built binary, in front of a scripted backend. The backend sends streams like those of the
// official integrations (docs/support.md). The page does not depend on the kind of backend.
//
// Each scene has its own Holdpoint and its own browser profile. The scenes are written in
// JavaScript (scenes/), because they are about a page. The Go code starts and installs what they
// need.
package desk
