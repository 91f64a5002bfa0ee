//go:build !race

package proxy

// RaceDetector is exported for the tests of package proxy_test.
const RaceDetector = false
