// Package docs has the page of these documents that the binary quotes from: what is supported
// stands in one place only.
package docs

import _ "embed"

// Support is support.md.
//
//go:embed support.md
var Support string
