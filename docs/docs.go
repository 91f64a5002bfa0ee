// Package docs embeds the page of this folder from which the binary quotes. So the support of each
// framework is described only once.
package docs

import _ "embed"

// Support is support.md.
//
//go:embed support.md
var Support string
