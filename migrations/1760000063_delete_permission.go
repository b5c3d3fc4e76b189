package migrations

import (
	"slices"

	"github.com/pocketbase/pocketbase/core"
	m "github.com/pocketbase/pocketbase/migrations"
)

// Keys that may delete contacts.
func init() {
	const added = "contacts:delete"
	m.Register(func(app core.App) error {
		return changePermissions(app, func(values []string) []string {
			if slices.Contains(values, added) {
				return values
			}
			return append(values, added)
		})
	}, func(app core.App) error {
		return changePermissions(app, func(values []string) []string {
			return slices.DeleteFunc(values, func(permission string) bool { return permission == added })
		})
	}, "1760000063_delete_permission.go")
}
