package hooks

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pocketbase/dbx"
	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"

	"contactbase/internal/credential"
	"contactbase/internal/delivery"
	"contactbase/internal/delivery/store"
	"contactbase/internal/event"
	"contactbase/internal/order"
	"contactbase/internal/secret"
	"contactbase/internal/sqlite"
	"contactbase/internal/webhook"
)

// plainSecret is where a webhook's record carries its secret from the request to the one response that shows it.
const plainSecret = "@plainSecret"

// The length of a secret that an admin types, in characters.
const (
	minSecret = 8
	maxSecret = 256
)

func bindWebhooks(app core.App, sender *delivery.Sender, wake func()) {
	app.OnRecordCreate(webhook.CollectionName).BindFunc(newWebhookSecret)
	app.OnRecordUpdate(webhook.CollectionName).BindFunc(keepWebhookSecret)
	app.OnRecordValidate(webhook.CollectionName).BindFunc(func(e *core.RecordEvent) error {
		if err := webhook.Validate(e.Record, sender.CheckURL); err != nil {
			return err
		}
		return validateOwned(e)
	})
	app.OnRecordValidate(webhook.CollectionName).Bind(&hook.Handler[*core.RecordEvent]{
		Func: validateEvents, Priority: order.RulesApplied,
	})
	app.OnRecordCreateRequest(webhook.CollectionName).BindFunc(requireDeclared)
	app.OnRecordUpdateRequest(webhook.CollectionName).BindFunc(requireDeclared)
	app.OnRecordUpdateExecute(webhook.CollectionName).BindFunc(writeOwner)
	app.OnRecordEnrich(webhook.CollectionName).BindFunc(showWebhook)
	app.OnRecordAfterUpdateSuccess(webhook.CollectionName).BindFunc(func(e *core.RecordEvent) error {
		wake() // a webhook that was enabled again has events to deliver
		return e.Next()
	})
	app.OnRecordDelete("deliveries").BindFunc(func(e *core.RecordEvent) error {
		if err := store.Dequeue(e.App, e.Record.Id); err != nil {
			return err
		}
		return e.Next()
	})
}

// validateEvents validates the event types of extensions. PocketBase validates the others: the values of its field are
// only the types of the program, so that nothing changes the collection when extensions do.
func validateEvents(e *core.RecordEvent) error {
	listed := e.Record.GetStringSlice("events")
	own, others := []string{}, []string{}
	for _, kind := range listed {
		if !slices.Contains(event.Kinds, kind) && event.CheckOwn(kind) == nil {
			own = append(own, kind)
		} else {
			others = append(others, kind)
		}
	}
	if len(own) > event.MaxDeclared {
		return validation.Errors{"events": validation.NewError("validation_too_many_values",
			fmt.Sprintf("Select no more than %d event types of extensions.", event.MaxDeclared))}
	}
	e.Record.SetRaw("events", others)
	defer e.Record.SetRaw("events", listed)
	return e.Next()
}

// requireDeclared rejects added event types that no extension declares. Commands may: they load no scripts.
func requireDeclared(e *core.RecordRequestEvent) error {
	stored := e.Record.Original().GetStringSlice("events")
	for _, kind := range event.Undeclared(e.App, e.Record.GetStringSlice("events")) {
		if !slices.Contains(stored, kind) {
			return e.BadRequestError("", validation.Errors{"events": validation.NewError("validation_invalid_value",
				fmt.Sprintf("No extension declares the event type %.100q. Declare it, or choose from %s.",
					kind, strings.Join(event.AllKinds(e.App), ", ")))})
		}
	}
	return e.Next()
}

func newWebhookSecret(e *core.RecordEvent) error {
	noteOwner(e.Record)
	e.Record.Set("previousSecret", "")
	e.Record.Set("previousSecretUntil", "")
	e.Record.Set("olderSecrets", "")
	if e.Record.GetString("secret") == "" {
		e.Record.Set("secret", secret.New())
	}
	if err := sealWebhookSecret(e.App, e.Record); err != nil {
		return err
	}
	e.Record.Set("sealedHeaders", "")
	if err := webhook.SealHeaders(e.App, e.Record); err != nil {
		return err
	}
	return e.Next()
}

// writeOwner stores who set a new URL and, if it has another host, the new headers: even if the record in memory has
// older values of these fields than the table.
func writeOwner(e *core.RecordEvent) error {
	if e.Record.GetString("url") == e.Record.Original().GetString("url") {
		return e.Next()
	}
	return sqlite.TransactRecord(e, func(tx core.App) error {
		if err := e.Next(); err != nil {
			return err
		}
		values := dbx.Params{webhook.MemberOwnedField: e.Record.GetBool(webhook.MemberOwnedField)}
		if leavesHost(e.Record) {
			values["sealedHeaders"] = e.Record.GetString("sealedHeaders")
		}
		_, err := tx.DB().Update(e.Record.TableName(), values, dbx.HashExp{"id": e.Record.Id}).Execute()
		if err != nil {
			return fmt.Errorf("storing who set the URL of the webhook %s: %w", e.Record.Id, err)
		}
		return nil
	})
}

// keepWebhookSecret stores a new secret that an admin typed, and otherwise keeps the current one.
func keepWebhookSecret(e *core.RecordEvent) error {
	noteOwner(e.Record)
	if e.Record.GetRaw(credential.RotatedMark) == nil {
		restore(e.Record, "previousSecret", "previousSecretUntil", "olderSecrets", "sealedHeaders")
		if leavesHost(e.Record) {
			e.Record.Set("sealedHeaders", "") // they may hold a token for the present host
		}
		switch e.Record.GetString("secret") {
		case "":
			restore(e.Record, "secret")
		case e.Record.Original().GetString("secret"):
		default:
			if err := sealWebhookSecret(e.App, e.Record); err != nil {
				return err
			}
		}
	}
	if err := webhook.SealHeaders(e.App, e.Record); err != nil {
		return err
	}
	if !e.Record.GetBool("disabled") {
		e.Record.Set("disabledReason", "")
	}
	return e.Next()
}

func sealWebhookSecret(app core.App, record *core.Record) error {
	plain := record.GetString("secret")
	if n := utf8.RuneCountInString(plain); n < minSecret || n > maxSecret {
		return validation.Errors{"secret": validation.NewError("validation_length_out_of_range",
			fmt.Sprintf("The secret must have %d to %d characters. Leave it empty to generate one.", minSecret, maxSecret))}
	}
	sealed, err := secret.Seal(app, plain)
	if err != nil {
		return fmt.Errorf("encrypting the secret of a webhook: %w", err)
	}
	record.Set("secret", sealed)
	record.SetRaw(plainSecret, plain)
	return nil
}

// showWebhook adds the secret to the response of the request that set it, only the names of the headers, and the event
// types of which no more events are sent, because no extension declares them any more.
func showWebhook(e *core.RecordEnrichEvent) error {
	if err := e.Next(); err != nil {
		return err
	}
	names, err := webhook.HeaderNames(e.App, e.Record)
	if err != nil {
		return err
	}
	e.Record.Hide("secret", "previousSecret", "olderSecrets", "headers", "sealedHeaders", webhook.MemberOwnedField)
	shown := map[string]any{
		"headerNames": names, "secretPrefix": webhook.SecretPrefix(e.App, e.Record),
		"undeclaredEvents": event.Undeclared(e.App, e.Record.GetStringSlice("events")),
	}
	if plain, _ := e.Record.GetRaw(plainSecret).(string); plain != "" {
		shown["secret"] = plain
	}
	showOnly(e.Record, shown)
	return nil
}
