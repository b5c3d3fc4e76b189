package routes

import (
	"strings"

	"github.com/pocketbase/pocketbase/core"
)

// outside returns a path as callers reach it: below the path of the Application URL, which a proxy may have added.
func outside(app core.App, path string) string {
	_, rest, _ := strings.Cut(app.Settings().Meta.AppURL, "://")
	if slash := strings.IndexByte(rest, '/'); slash >= 0 {
		return strings.TrimRight(rest[slash:], "/") + path
	}
	return path
}
