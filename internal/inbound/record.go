package inbound

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/fault"
	"contactbase/internal/quota"
	"contactbase/internal/stamp"
)

// RequestsCollection is the collection of what was received.
const RequestsCollection = "inbound_requests"

// row is a row of the collection, before it is written.
type row struct {
	id          string
	webhook     *Webhook
	contentType string
	body        string
	status      int
	result      []byte
	erased      bool
	people      []string // contacts' ids, and digests of addresses
	created     time.Time
}

// newRow makes the row of a request, as yet without its status and result.
func newRow(webhook *Webhook, contentType string, body []byte, people []string, now time.Time) *row {
	r := &row{
		id: core.GenerateDefaultRandomId(), webhook: webhook, people: people, created: now,
		contentType: strings.ToValidUTF8(contentType[:min(len(contentType), 255)], ""),
		body:        strings.ToValidUTF8(string(body), "\uFFFD"),
	}
	if len(people) > maxPeople { // too many to tell who is in it
		r.body, r.people, r.erased = "", nil, true
	}
	return r
}

// recordSQL keeps a request, unless its webhook or its tenant is gone meanwhile: nothing would ever delete it.
const recordSQL = "INSERT INTO {{inbound_requests}} ([[id]], [[inbound]], [[tenant]], [[contentType]], [[body]], [[status]], [[result]], [[erased]], [[created]]) " +
	"SELECT {:id}, w.[[id]], t.[[id]], {:contentType}, {:body}, {:status}, {:result}, {:erased}, {:created} " +
	"FROM {{inbound_webhooks}} w JOIN {{tenants}} t ON t.[[id]] = w.[[tenant]] WHERE w.[[id]] = {:inbound} AND t.[[id]] = {:tenant}"

func (r *row) insert(tx core.App) error {
	done, err := tx.DB().NewQuery(recordSQL).Bind(dbx.Params{
		"id":          r.id,
		"inbound":     r.webhook.ID,
		"tenant":      r.webhook.TenantID,
		"contentType": r.contentType,
		"body":        r.body,
		"status":      r.status,
		"result":      string(r.result),
		"erased":      r.erased,
		"created":     stamp.Stored(r.created),
	}).Execute()
	if err != nil {
		return fmt.Errorf("keeping an inbound request: %w", err)
	}
	if kept, err := done.RowsAffected(); err != nil || kept == 0 {
		return err
	}
	if !r.erased {
		if err := linkPeople(tx, r.id, r.people); err != nil {
			return err
		}
	}
	return quota.Keep(tx, r.webhook.TenantID)
}

// Record keeps what a refused request sent and what it was told. result encodes to JSON.
func Record(app core.App, webhook *Webhook, contentType string, body []byte, status int, result any, now time.Time) error {
	encoded, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("encoding the result of an inbound request: %w", err)
	}
	refused := newRow(webhook, contentType, body, peopleIn(webhook.TenantID, contentType, body), now)
	refused.status, refused.result = status, encoded
	return app.RunInTransaction(func(tx core.App) error { return refused.insert(tx) })
}

// ErrErased means that a request was about a person who is deleted, and nothing of it is left.
var ErrErased = fault.InvalidField("id", fault.CodeInvalidValue,
	"is about a contact that was deleted, and was erased with it: there is nothing left to replay")

// Stored is a request that was kept.
type Stored struct {
	WebhookID   string `db:"inbound"`
	ContentType string `db:"contentType"`
	Body        string `db:"body"`
	Erased      bool   `db:"erased"`
}

// FindRequest returns a kept request; the error is sql.ErrNoRows where there is none, and ErrErased where there is
// nothing left of it.
func FindRequest(app core.App, id string) (*Stored, error) {
	found := &Stored{}
	err := app.DB().Select("inbound", "contentType", "body", "erased").From(RequestsCollection).Where(dbx.HashExp{"id": id}).One(found)
	if err == nil && found.Erased {
		err = ErrErased
	}
	return found, err
}
