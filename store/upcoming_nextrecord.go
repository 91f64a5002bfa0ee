//go:build nextrecord

package store

const upcoming = 1
