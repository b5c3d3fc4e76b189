// Package idempotency remembers the response to a request with an idempotency key, so that a repetition of the
// request gets the same response and has no effect.
package idempotency

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/fault"
	"contactbase/internal/quota"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// Window is how long a response is remembered.
const Window = 24 * time.Hour

// MaxKeyLength is the maximum length of a key, in characters.
const MaxKeyLength = 255

// ErrReused means that the key was used with another request.
var ErrReused = fault.New(fault.IdempotencyKeyReused,
	"The Idempotency-Key was used with another request; send a new key.")

// Answer is a remembered response.
type Answer struct {
	Status   int
	Location string // of the Location header; "" for none
	Body     string // "" after the contact in it was deleted
	Contact  string // id of the contact in the body, with which the body is erased
	Tenant   string // id of the tenant

	// InboundRequest is the id of the inbound request whose result is the body's data, or "". Such a body is not
	// stored again, and the response is deleted with the request.
	InboundRequest string
}

// ID returns the id of a request: a hash, because keys and scopes may contain secrets.
func ID(scope ...string) string { return digest(strings.Join(scope, "\x00")) }

// Fingerprint identifies the body of a request.
func Fingerprint(body []byte) string { return digest(string(body)) }

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

const findSQL = "SELECT a.`status`, a.`location`, a.`contact`, a.`tenant`, a.`inboundRequest`, a.`request`, " +
	"CASE WHEN r.`id` IS NULL THEN a.`body` ELSE '{\"data\":' || r.`result` || '}' END " +
	"FROM `_idempotency` a LEFT JOIN `inbound_requests` r ON r.`id` = a.`inboundRequest` AND a.`inboundRequest` != '' " +
	"WHERE a.`key` = ? AND a.`tenant` = ? AND a.`created` > ?"

// Find returns the remembered response to a tenant's request, or nil if there is none. The error is ErrReused, beside
// the response, if the fingerprint of the request differs.
func Find(tx sqlite.Reader, tenant, id, fingerprint string, now time.Time) (*Answer, error) {
	a, request := &Answer{}, ""
	targets := []any{&a.Status, &a.Location, &a.Contact, &a.Tenant, &a.InboundRequest, &request, &a.Body}
	found, err := sqlite.Row(tx, targets, findSQL, id, tenant, stamp.Stored(now.Add(-Window)))
	if err != nil {
		return nil, fmt.Errorf("finding a remembered response: %w", err)
	}
	if !found {
		return nil, nil
	}
	if request != fingerprint {
		return a, ErrReused
	}
	return a, nil
}

// rememberSQL is not a REPLACE, which would delete the previous row without running its triggers.
const rememberSQL = "INSERT INTO `_idempotency` (`key`, `request`, `status`, " +
	"`location`, `body`, `contact`, `tenant`, `inboundRequest`, `created`) " +
	"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) " +
	"ON CONFLICT (`key`) DO UPDATE SET `request` = excluded.`request`, " +
	"`status` = excluded.`status`, `location` = excluded.`location`, `body` = excluded.`body`, " +
	"`contact` = excluded.`contact`, `tenant` = excluded.`tenant`, " +
	"`inboundRequest` = excluded.`inboundRequest`, `created` = excluded.`created`"

// Remember returns the statements that store the response and make room for it in the tenant's quota. They belong in
// the transaction of the request, so that a crash leaves both or neither.
func Remember(tx sqlite.Reader, id, fingerprint string, a *Answer, now time.Time) ([]sqlite.Statement, error) {
	body := a.Body
	if a.InboundRequest != "" {
		body = ""
	}
	statements, err := quota.MakeRoom(tx, a.Tenant, len(body))
	if err != nil {
		return nil, err
	}
	return append(statements, sqlite.Statement{
		Text: rememberSQL,
		Args: []any{id, fingerprint, a.Status, a.Location, body, a.Contact, a.Tenant, a.InboundRequest, stamp.Stored(now)},
	}), nil
}

// Erase erases the bodies of the responses about contacts, given by their ids. Repeats of the requests are still known.
func Erase(tx core.App, contacts []string) error {
	_, err := sqlite.Exec(tx, "UPDATE `_idempotency` SET `body` = '' WHERE `contact` IN "+
		"(SELECT `value` FROM json_each(?)) AND `contact` != ''", sqlite.List(contacts))
	if err != nil {
		return fmt.Errorf("erasing the remembered responses about %d contacts: %w", len(contacts), err)
	}
	return nil
}

// Prune deletes up to limit expired responses, and returns how many it has deleted.
func Prune(tx core.App, limit int, now time.Time) (int, error) {
	gone, err := sqlite.Exec(tx, "DELETE FROM `_idempotency` WHERE `key` IN "+
		"(SELECT `key` FROM `_idempotency` WHERE `created` <= ? LIMIT ?)", stamp.Stored(now.Add(-Window)), limit)
	if err != nil {
		return 0, fmt.Errorf("deleting expired responses: %w", err)
	}
	return gone, nil
}

// InFlight has the ids of the requests that are running in this process.
type InFlight struct{ running sync.Map }

// Begin claims an id, and returns the function that releases it. It returns false if another request
// has claimed the id.
func (f *InFlight) Begin(id string) (end func(), ok bool) {
	if _, taken := f.running.LoadOrStore(id, struct{}{}); taken {
		return nil, false
	}
	return func() { f.running.Delete(id) }, true
}
