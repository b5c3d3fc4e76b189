package hooks

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/credential"
	"contactbase/internal/inbound"
	"contactbase/internal/inbound/payload"
	"contactbase/internal/secret"
)

// removeVerifySecret is what an admin types to remove the secret. The field never shows its value, so that empty
// means "unchanged".
const removeVerifySecret = "-"

func bindInbound(app core.App) {
	app.OnRecordCreateRequest(inbound.CollectionName).BindFunc(noteScheme)
	app.OnRecordCreateRequest(inbound.CollectionName).BindFunc(keepRate)
	app.OnRecordUpdateRequest(inbound.CollectionName).BindFunc(keepRate)
	app.OnRecordCreate(inbound.CollectionName).BindFunc(mintToken)
	app.OnRecordUpdate(inbound.CollectionName).BindFunc(keepToken)
	app.OnRecordValidate(inbound.CollectionName).BindFunc(validateInbound)
	app.OnRecordEnrich(inbound.CollectionName).BindFunc(showTokenOnce)
	app.OnRecordViewRequest(inbound.RequestsCollection).BindFunc(func(e *core.RecordRequestEvent) error {
		showBody(e.Record, payload.MaxBody)
		return e.Next()
	})
	app.OnRecordsListRequest(inbound.RequestsCollection).BindFunc(showBodies)
	app.OnRecordEnrich(inbound.RequestsCollection).BindFunc(func(e *core.RecordEnrichEvent) error {
		showBody(e.Record, maxShown)
		return e.Next()
	})
}

// How much of the compressed bodies in a response is shown, in bytes: of one that is not the only one at least, and of
// all before that.
const (
	maxShown    = 16 << 10
	maxShownAll = 16 << 20
)

// showBody replaces a stored body in a response by its text, and returns the size of the text.
func showBody(record *core.Record, limit int) int {
	text, _ := inbound.BodyText(record.GetString("body"), limit)
	record.SetRaw("body", text)
	return len(text)
}

// showBodies shows the bodies in a list in full until they are many.
func showBodies(e *core.RecordsListRequestEvent) error {
	left := maxShownAll
	for _, record := range e.Records {
		left -= showBody(record, max(maxShown, min(left, payload.MaxBody)))
	}
	return e.Next()
}

// schemeSent is the custom value that marks a record whose request has a scheme, perhaps an empty one.
const schemeSent = "@schemeSent"

func noteScheme(e *core.RecordRequestEvent) error {
	sent, err := bodyOf(e)
	if err != nil {
		return err
	}
	if _, isSent := sent["verifyScheme"]; isSent {
		e.Record.SetRaw(schemeSent, true)
	}
	return e.Next()
}

func mintToken(e *core.RecordEvent) error {
	credential.MintToken(e.Record)
	e.Record.Set("lastUsed", "")
	if e.Record.GetString("verifyScheme") == "" && e.Record.GetRaw(schemeSent) == nil {
		e.Record.Set("verifyScheme", presetScheme(e.Record))
	}
	if err := sealVerifySecret(e.App, e.Record); err != nil {
		return err
	}
	return e.Next()
}

func keepToken(e *core.RecordEvent) error {
	if credential.Minted(e.Record) == "" {
		restore(e.Record, "tokenHash", "prefix")
	}
	if err := keepLastUsed(e.App, e.Record); err != nil {
		return err
	}
	if err := sealVerifySecret(e.App, e.Record); err != nil {
		return err
	}
	return e.Next()
}

func sealVerifySecret(app core.App, record *core.Record) error {
	plain := record.GetString("verifySecret")
	switch plain {
	case record.Original().GetString("verifySecret"):
		return nil
	case "":
		restore(record, "verifySecret")
		return nil
	case removeVerifySecret:
		record.Set("verifySecret", "")
		return nil
	}
	if inbound.KeyLength(record.GetString("verifyScheme"), plain) < inbound.MinKey {
		short := fmt.Sprintf("The key must have at least %d bytes. Let the sender generate a longer secret.", inbound.MinKey)
		return validation.Errors{"verifySecret": validation.NewError("validation_too_short", short)}
	}
	sealed, err := secret.Seal(app, plain)
	if err != nil {
		return fmt.Errorf("encrypting the secret of an inbound webhook: %w", err)
	}
	record.Set("verifySecret", sealed)
	return nil
}

// keepRate refuses a limit above the default, unless a superuser sets it: the server's time is not a member's to give.
func keepRate(e *core.RecordRequestEvent) error {
	rate := e.Record.GetInt("rateLimit")
	if e.HasSuperuserAuth() || rate <= max(inbound.DefaultRateLimit, e.Record.Original().GetInt("rateLimit")) {
		return e.Next()
	}
	return e.BadRequestError("The record is invalid.", validation.Errors{"rateLimit": validation.NewError(
		"validation_max_less_equal_than_required", fmt.Sprintf(
			"Must be at most %d requests a minute. Only an operator of the server can set more.", inbound.DefaultRateLimit))})
}

// presetScheme returns how the sender of the mapping's preset signs, "" if unknown.
func presetScheme(record *core.Record) string {
	mapping, err := payload.ParseMapping([]byte(record.GetString("mapping")))
	if err != nil { // validateInbound says why
		return ""
	}
	return mapping.Scheme()
}

// validateScheme refuses a scheme without a secret, unless it comes with a preset: it would verify nothing. Strava's
// only has a handshake.
func validateScheme(record *core.Record) error {
	scheme := record.GetString("verifyScheme")
	switch {
	case scheme == "", scheme == "strava", record.GetString("verifySecret") != "",
		scheme == record.Original().GetString("verifyScheme"), scheme == presetScheme(record):
		return nil
	}
	return validation.Errors{"verifyScheme": validation.NewError("validation_no_secret",
		"The scheme needs the secret with which the sender signs; send it as verifySecret.")}
}

// validateSettings checks what a scheme needs whose header an admin names.
func validateSettings(record *core.Record) error {
	how := inbound.Verification{
		Scheme: record.GetString("verifyScheme"), Header: record.GetString("verifyHeader"),
		Format: record.GetString("verifyFormat"), Hash: record.GetString("verifyHash"),
		Timestamp: record.GetString("verifyTimestamp"),
	}
	wrong := validation.Errors{}
	for name, field := range how.Check() {
		wrong["verify"+name] = validation.NewError("validation_invalid_value", sentence(errors.New(field.Message)))
	}
	return wrong.Filter()
}

func validateInbound(e *core.RecordEvent) error {
	if err := validateScheme(e.Record); err != nil {
		return err
	}
	if err := validateSettings(e.Record); err != nil {
		return err
	}
	if raw := e.Record.GetString("mapping"); raw != "" && raw != "null" {
		mapping, err := payload.ParseMapping([]byte(raw))
		if err != nil {
			return invalidMapping(err)
		}
		_, unknown, err := contact.CustomNames(e.App, maps.Keys(mapping.Custom()))
		if err != nil {
			return err
		}
		if len(unknown) > 0 && raw != e.Record.Original().GetString("mapping") { // a field may be deleted later
			return invalidMapping(fmt.Errorf("fields.%s: is not a field of a contact; "+
				"an administrator adds fields to the collection contacts", unknown[0]))
		}
	}
	return validateOwned(e)
}

// invalidMapping returns the error for the field, whose name is mapping. It quotes the part, so that its case stays.
func invalidMapping(err error) error {
	text := strings.TrimPrefix(err.Error(), "mapping: ")
	if part, wrong, found := strings.Cut(text, ": "); found {
		text = strconv.Quote(part) + ": " + wrong
	}
	return validation.Errors{"mapping": validation.NewError("validation_invalid_mapping", sentence(errors.New(text)))}
}

func showTokenOnce(e *core.RecordEnrichEvent) error {
	if err := e.Next(); err != nil {
		return err
	}
	e.Record.Hide("tokenHash", "verifySecret")
	if token := credential.Minted(e.Record); token != "" {
		showOnly(e.Record, map[string]any{"token": token, "url": inbound.Address(e.App, token)})
	}
	return nil
}

// sentence returns an error as the dashboard shows it.
func sentence(err error) string {
	text := strings.TrimSuffix(err.Error(), ".")
	if text == "" {
		return "The value is invalid."
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}
