//go:build race

package proxy

// RaceDetector reports whether the race detector is on. It is exported for package proxy_test.
const RaceDetector = true
