package proxy

import "testing"

// Brief reports whether a test should run only some of its cases. This is so in the short form
// (make unit) and under the race detector, which is ten times slower. make poison runs all cases.
func Brief() bool { return RaceDetector || testing.Short() }
