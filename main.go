// Command contactbase is the contacts API of a CRM in one executable.
package main

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"strings"

	"contactbase/server"
)

//go:embed pb_public
var public embed.FS

// version is set by the linker: -ldflags "-X main.version=1.2.3".
var version = "dev"

func main() {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Sum != "" { // go install has downloaded the module
		version = strings.TrimPrefix(info.Main.Version, "v")
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "contactbase:", err)
		os.Exit(server.ExitCode(err))
	}
}

func run() error {
	files, err := fs.Sub(public, "pb_public")
	if err != nil {
		return err
	}
	app, err := server.New(server.Config{Version: version, Public: files})
	if err != nil {
		return err
	}
	return app.Execute()
}
