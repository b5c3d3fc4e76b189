// Command contactbase is the contacts API of a CRM in one executable.
package main

import (
	"embed"

	"contactbase/internal/app/cli"
)

//go:embed pb_public
var public embed.FS

// version is set by the linker: -ldflags "-X main.version=1.2.3".
var version = "dev"

func main() { cli.Main(version, public) }
