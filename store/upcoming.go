//go:build !nextrecord

package store

// upcoming is 0 in every build that anybody runs. A build with the tag nextrecord stands for the
// next release, in the end-to-end test of a rolling upgrade (e2e: TestRollingUpgrade).
const upcoming = 0
