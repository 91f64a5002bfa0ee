// Package repo contains tests of the repository's conventions: which packages may import which, one
// comment for each package, no paths of somebody's machine, short lines, and documents that agree
// with the code.
//
// It has no code besides tests, and tests no behavior of Holdpoint. The descriptions of variables
// are compared with the code in cmd/holdpoint, because the struct is there, and the streams in
// documents in proxy.
//
// Its tests need only the files: no network and no installed tool, except where a test skips
// without it.
package repo
