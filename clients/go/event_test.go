package contactbase_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	contactbase "contactbase/clients/go"
)

func eventJSON(kind, rest string) string {
	return `{"id":"evt_1","type":"` + kind + `","timestamp":"2026-03-04T16:20:11.087Z",` + rest + `}`
}

func TestParseEvent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ body, want string }{
		{eventJSON("contact.created", `"data":`+adaJSON), "created Ada Lovelace"},
		{eventJSON("contact.updated", `"data":`+adaJSON+`,"previous":{"company":null,"phone":"+44","vip":1},"source":{"type":"mcp","id":"k1","merge":true}`), `updated Ada Lovelace, company "", phone "+44", vip 1 by &{mcp k1 true}`},
		{eventJSON("contact.deleted", `"data":{"id":"x1"},"erased":true`), "deleted x1 true"},
		{eventJSON("contact.deleted", `"data":`+adaJSON), "deleted 0mm8yqpxck3w9xa false"},
		{eventJSON("contact.deleted", `"data":`+adaJSON+`,"mergedInto":"x2"`), "deleted 0mm8yqpxck3w9xa false into x2"},
		{eventJSON("webhook.ping", `"data":{}`), "ping"},
		{eventJSON("webhook.disabled", `"data":{"webhook":{"id":"w1","name":"Orders","url":"https://a.example"},"reason":"gone"}`), "webhook w1 Orders https://a.example gone"},
		{eventJSON("key.expiring", `"data":{"key":{"id":"k1","name":"Sync","prefix":"cmk_1"},"expires":"2026-03-18T16:20:11.087Z"}`), "key k1 Sync cmk_1 2026-03-18"},
		{eventJSON("order.paid", `"data":{"total":1e400,"lines":[]},"source":{"type":"extension"}`), `unknown {"total":1e400,"lines":[]}`},
		{eventJSON("contact.of-a-later-version", `"data":{"into":"x1"}`), `unknown {"into":"x1"}`},
	} {
		event, err := contactbase.ParseEvent([]byte(c.body))
		if err != nil {
			t.Errorf("%s: %v", c.body, err)
			continue
		}
		if head := event.Head(); head.ID != "evt_1" || !head.Timestamp.Equal(time.Date(2026, 3, 4, 16, 20, 11, 87e6, time.UTC)) {
			t.Errorf("%s: the head is %+v", c.body, head)
		}
		if got := about(event); got != c.want {
			t.Errorf("%s is %s, want %s", c.body, got, c.want)
		}
	}
	for _, body := range []string{"", "[]", eventJSON("contact.created", `"data":[]`), eventJSON("contact.created", `"data":null`), eventJSON("contact.updated", `"more":1`)} {
		if event, err := contactbase.ParseEvent([]byte(body)); err == nil {
			t.Errorf("%s is %+v", body, event)
		}
	}
}

func about(event contactbase.Event) string {
	switch event := event.(type) {
	case contactbase.ContactCreated:
		return "created " + event.Contact.Name
	case contactbase.ContactUpdated:
		return fmt.Sprintf("updated %s, company %q, phone %q, vip %v by %v", event.Contact.Name, *event.Previous.Company, *event.Previous.Phone, event.Previous.Custom["vip"], event.Source)
	case contactbase.ContactDeleted:
		return strings.TrimSuffix(fmt.Sprint("deleted ", event.Contact.ID, " ", event.Erased, " into ", event.MergedInto), " into ")
	case contactbase.Ping:
		return "ping"
	case contactbase.WebhookDisabled:
		return strings.Join([]string{"webhook", event.Webhook.ID, event.Webhook.Name, event.Webhook.URL, event.Reason}, " ")
	case contactbase.KeyExpiring:
		return strings.Join([]string{"key", event.Key.ID, event.Key.Name, event.Key.Prefix, event.Expires.Format(time.DateOnly)}, " ")
	case contactbase.UnknownEvent:
		return "unknown " + string(event.Data)
	}
	return fmt.Sprintf("%T", event)
}
