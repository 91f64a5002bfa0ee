// Package repo holds the tests that keep the repository's habits: who may import whom and why not,
// one comment for each package, no trace of anybody's machine, short lines, and documents that
// agree with the code.
//
// It has no code of its own and tests no behaviour of Holdpoint. cmd/holdpoint compares what a
// document says of a variable, because the struct is there. proxy compares what a document shows of
// a stream.
//
// It follows the project's design and needs nothing but the files: no git, no network, no installed
// tool.
package repo
