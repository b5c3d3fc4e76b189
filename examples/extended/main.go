// Command extended is Contactbase with a rule, a route and an event of its own.
package main

import (
	"fmt"
	"net/http"
	"os"
	"strings"

	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/server"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "extended:", err)
		os.Exit(server.ExitCode(err))
	}
}

func run() error {
	app, err := server.New(server.Config{Version: "1.0.0-extended"})
	if err != nil {
		return err
	}
	app.OnRecordValidate("contacts").BindFunc(refuseDisposable)
	app.OnServe().BindFunc(addRoutes)
	emitOrders(app)
	return app.Execute()
}

// refuseDisposable rejects disposable email addresses. It sees every write of a contact.
func refuseDisposable(e *core.RecordEvent) error {
	if strings.HasSuffix(e.Record.GetString("email"), "@mailinator.com") {
		return validation.Errors{"email": validation.NewError("disposable", "must not be a disposable address")}
	}
	return e.Next()
}

// addRoutes adds a route for superusers that counts the contacts of all tenants.
func addRoutes(e *core.ServeEvent) error {
	e.Router.GET("/api/extended/contacts", func(e *core.RequestEvent) error {
		count, err := e.App.CountRecords("contacts")
		if err != nil {
			return err
		}
		return e.JSON(http.StatusOK, map[string]any{"count": count})
	}).Bind(apis.RequireSuperuserAuth())
	return e.Next()
}
