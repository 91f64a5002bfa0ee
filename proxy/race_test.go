//go:build race

package proxy

// RaceDetector is for the tests of package proxy_test too.
const RaceDetector = true
