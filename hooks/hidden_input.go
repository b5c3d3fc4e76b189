package hooks

import (
	"net/url"
	"strings"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/inbound"
	"contactbase/internal/member"
	"contactbase/internal/webhook"
)

// hiddenInput has the hidden fields that members write although they cannot read them, by collection.
var hiddenInput = map[string][]string{
	webhook.CollectionName: {"secret", "headers"},
	inbound.CollectionName: {"verifySecret"},
}

// fromMember is the custom value that marks a record with the input of a member.
const fromMember = "@fromMember"

func bindHiddenInput(app core.App) {
	app.OnRecordCreateRequest(owned...).BindFunc(newID)
	app.OnRecordUpdateRequest(member.CollectionName).BindFunc(onlyOwnPassword)
	for collection, fields := range hiddenInput {
		load := func(e *core.RecordRequestEvent) error {
			if err := loadHidden(e, fields); err != nil {
				return err
			}
			return e.Next()
		}
		app.OnRecordCreateRequest(collection).BindFunc(load)
		app.OnRecordUpdateRequest(collection).BindFunc(load)
	}
}

// newID replaces the id that a member chose: with the id of a deleted record, the new one would show
// its remaining data.
func newID(e *core.RecordRequestEvent) error {
	if !e.HasSuperuserAuth() {
		e.Record.Id = core.GenerateDefaultRandomId()
	}
	return e.Next()
}

// onlyOwnPassword prevents members from guessing the passwords of others, which PocketBase compares without a limit.
func onlyOwnPassword(e *core.RecordRequestEvent) error {
	if e.HasSuperuserAuth() || e.Auth != nil && e.Auth.Id == e.Record.Id {
		return e.Next()
	}
	sent, err := bodyOf(e)
	if err != nil {
		return err
	}
	for name := range sent {
		if strings.Contains(strings.ToLower(name), "password") {
			return e.ForbiddenError("Only members themselves can change their passwords.", nil)
		}
	}
	return e.Next()
}

// loadHidden reads hidden fields from a member's request. PocketBase silently drops them unless a superuser sends
// them: it would replace a typed secret by a generated one.
func loadHidden(e *core.RecordRequestEvent, fields []string) error {
	if !member.Is(e.Auth) {
		return nil
	}
	e.Record.SetRaw(fromMember, true)
	sent, err := bodyOf(e)
	if err != nil {
		return err
	}
	for _, field := range fields {
		if value, isSent := sent[field]; isSent {
			e.Record.Set(field, value)
		}
	}
	return nil
}

// leavesHost reports whether a member leads a webhook to another host.
func leavesHost(webhook *core.Record) bool {
	return webhook.GetRaw(fromMember) != nil &&
		origin(webhook.GetString("url")) != origin(webhook.Original().GetString("url"))
}

// origin returns the scheme and the host of a URL.
func origin(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return address
	}
	return parsed.Scheme + "://" + parsed.Host
}

// noteOwner stores whether a member set the URL of a webhook, when the URL changes. Such a webhook reaches
// public addresses only.
func noteOwner(record *core.Record) {
	if record.IsNew() || record.GetString("url") != record.Original().GetString("url") {
		record.Set(webhook.MemberOwnedField, record.GetRaw(fromMember) != nil)
		return
	}
	restore(record, webhook.MemberOwnedField)
}
