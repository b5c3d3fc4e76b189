package hooks

import (
	"strings"

	"github.com/pocketbase/pocketbase/core"
)

// bindSettings removes a slash at the end of the application's URL, when it is saved and when it is loaded: links in PocketBase's mails would
// have two in a row, which a proxy for a path does not serve.
func bindSettings(app core.App) {
	trim := func(settings *core.Settings) {
		settings.Meta.AppURL = strings.TrimRight(settings.Meta.AppURL, "/")
	}
	app.OnSettingsUpdateRequest().BindFunc(func(e *core.SettingsUpdateRequestEvent) error {
		trim(e.NewSettings)
		return e.Next()
	})
	app.OnSettingsReload().BindFunc(func(e *core.SettingsReloadEvent) error {
		err := e.Next()
		trim(e.App.Settings())
		return err
	})
}
