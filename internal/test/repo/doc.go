// Package repo contains tests of the repository's conventions: which packages may import which, one
// comment for each package, no paths of somebody's machine, short lines, and documents that agree
// with the code.
//
// The package has only tests, and they test no behavior of Holdpoint. Two related tests are
// elsewhere: cmd/holdpoint compares the descriptions of variables with the code, because the struct
// is there, and proxy compares the streams in documents.
//
// The tests need only the files of the repository. They need no network and no installed tool; a
// test that needs a tool is skipped if the tool is missing.
package repo
