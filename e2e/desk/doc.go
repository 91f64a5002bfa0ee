//go:build e2e

// Package desk tests the page of the desk as people use it. A real Chromium opens the page, which
// the built binary serves. The binary is the proxy of a scripted backend, whose streams are like
// those of the official integrations (docs/support.md). The page does not depend on the kind of
// backend.
//
// Each scene has its own Holdpoint and its own browser profile. The scenes are written in
// JavaScript (scenes/), because they are about a page. The Go code installs and starts what they
// need.
package desk
