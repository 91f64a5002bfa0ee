// Package repo holds the tests that keep the repository's habits: who may import whom and why not, one comment per
// package, no trace of anybody's machine, and documents that agree with the code.
//
// It has no code of its own and tests no behaviour of Holdpoint. What a document says of a variable is compared in
// cmd/holdpoint, where the struct is; what it says of the stream, in proxy.
//
// It follows the project's design and needs nothing but the files: no git, no network, no installed tool.
package repo
