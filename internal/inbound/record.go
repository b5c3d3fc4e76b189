package inbound

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/fault"
	"contactbase/internal/inbound/payload"
	"contactbase/internal/quota"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// RequestsCollection is the collection of received requests.
const RequestsCollection = "inbound_requests"

// row is an unsaved row of the collection.
type row struct {
	id          string
	webhook     *Webhook
	contentType string
	body        any // as pack returns it
	status      int
	result      []byte
	erased      bool
	people      []string // contacts' ids, and digests of addresses
	crowded     bool     // has more than two addresses an item
	created     time.Time
}

// newRow returns the row of a request with a number of items, without status, result and time. It reads the whole body:
// do not call it in a transaction.
func newRow(webhook *Webhook, sent payload.Kept, items int) *row {
	people := peopleIn(webhook.TenantID, sent.ContentType, sent.Body)
	r := &row{
		id: core.GenerateDefaultRandomId(), webhook: webhook, people: people, crowded: len(people) > 2*items,
		contentType: strings.ToValidUTF8(sent.ContentType[:min(len(sent.ContentType), 255)], ""),
	}
	if len(people) > maxPeople { // too many to record who is in it
		r.body, r.people, r.erased = "", nil, true
	} else {
		r.body = pack(sent, webhook.token)
	}
	return r
}

// recordSQL stores a request, unless its webhook or tenant has been deleted: nothing would ever delete the row.
const recordSQL = "INSERT INTO {{inbound_requests}} ([[id]], [[inbound]], [[tenant]], " +
	"[[contentType]], [[body]], [[status]], [[result]], [[erased]], [[created]]) " +
	"SELECT {:id}, w.[[id]], t.[[id]], {:contentType}, {:body}, {:status}, {:result}, {:erased}, {:created} " +
	"FROM {{inbound_webhooks}} w JOIN {{tenants}} t ON t.[[id]] = w.[[tenant]] " +
	"WHERE w.[[id]] = {:inbound} AND t.[[id]] = {:tenant}"

// insert stores the request, and reports whether its webhook and its tenant still exist.
func (r *row) insert(tx core.App) (bool, error) {
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
		return false, fmt.Errorf("storing an inbound request: %w", err)
	}
	if kept, err := done.RowsAffected(); err != nil || kept == 0 {
		return false, err
	}
	if !r.erased {
		if err := r.linkPeople(tx); err != nil {
			return false, err
		}
	}
	return true, quota.Keep(tx, r.webhook.TenantID)
}

// Record stores a request that is not applied, such as a rejected one or a handshake, and its response.
// result encodes to JSON.
func Record(
	ctx context.Context, app core.App, webhook *Webhook,
	contentType string, body []byte, status int, result any, now time.Time,
) error {
	encoded, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("encoding the result of an inbound request: %w", err)
	}
	kept := newRow(webhook, payload.Keep(contentType, body), 1)
	kept.status, kept.result, kept.created = status, encoded, now
	err = sqlite.Transact(ctx, app, webhook.TenantID, false, func(tx core.App) error {
		_, err := kept.insert(tx)
		return err
	})
	return cmp.Or(err, quota.Trim(ctx, app, webhook.TenantID))
}

// ErrErased means that a request was about a deleted contact and has been erased.
var ErrErased = fault.InvalidField("id", fault.CodeInvalidValue,
	"cannot be replayed: its contact was deleted, and the request was erased with it")

// Stored is a stored request.
type Stored struct {
	WebhookID   string `db:"inbound"`
	ContentType string `db:"contentType"`
	Body        string `db:"body"` // as it is stored: see Text
	Erased      bool   `db:"erased"`
}

// errNotStored means that a request was received and its body not kept.
var errNotStored = fault.New(fault.NotStored,
	"The body of the request was too large to keep. Let the sender send it again.")

// FindRequest returns a stored request. The error is sql.ErrNoRows if there is none, and ErrErased if it has been
// erased.
func FindRequest(app core.App, id string) (*Stored, error) {
	found := &Stored{}
	err := app.DB().Select("inbound", "contentType", "body", "erased").
		From(RequestsCollection).Where(dbx.HashExp{"id": id}).One(found)
	if err != nil {
		return nil, err
	}
	if found.Erased {
		return nil, ErrErased
	}
	return found, nil
}

// Size returns how many bytes Text will have.
func (s *Stored) Size() int { return textSize(s.Body, payload.MaxBody) }

// Text returns the text of the body, for which a large one is decompressed. The error is a *fault.Error if it was not
// kept.
func (s *Stored) Text() ([]byte, error) {
	text, isKept := BodyText(s.Body, s.Size())
	if !isKept {
		return nil, errNotStored
	}
	return []byte(text), nil
}
