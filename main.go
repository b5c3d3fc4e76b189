// Command contactbase is the contacts API of a CRM in one executable.
package main

import (
	"embed"
	"runtime/debug"
	"strings"

	"contactbase/internal/app/cli"
)

//go:embed pb_public
var public embed.FS

// version is set by the linker: -ldflags "-X main.version=1.2.3".
var version = "dev"

func main() {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Sum != "" { // go install has downloaded the module
		version = strings.TrimPrefix(info.Main.Version, "v")
	}
	cli.Main(version, public)
}
