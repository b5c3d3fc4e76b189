package routes

import (
	"strings"

	"github.com/pocketbase/pocketbase/core"
)

// outside returns a path of the program as callers reach it: below the path of the Application URL, where a proxy has put
// the program there.
func outside(app core.App, path string) string {
	_, rest, _ := strings.Cut(app.Settings().Meta.AppURL, "://")
	if slash := strings.IndexByte(rest, '/'); slash >= 0 {
		return strings.TrimRight(rest[slash:], "/") + path
	}
	return path
}
