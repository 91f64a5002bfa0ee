package proxy

import "testing"

// Brief reports whether a test tries a part of its cases only: in the short form (make unit), and
// under the race detector, which makes each case ten times as long. make poison has all of them.
func Brief() bool { return RaceDetector || testing.Short() }
