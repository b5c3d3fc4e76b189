// Package idempotency remembers the first answer to a request that carries a key of the caller's, so that a repeat
// of the request gets that answer again and does nothing.
package idempotency

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/fault"
	"contactbase/internal/quota"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// Window is how long an answer is remembered.
const Window = 24 * time.Hour

// MaxKeyLength is the longest key that a caller may send, in bytes.
const MaxKeyLength = 255

// ErrReused means that the key was used before with another request.
var ErrReused = fault.New(fault.IdempotencyKeyReused, "The Idempotency-Key was used with another request; send a new key.")

// Answer is a remembered answer.
type Answer struct {
	Status   int
	Location string // of the Location header; "" for none
	Body     string
	Contact  string // the contact that the body shows, so that its erasure reaches the answer
	Tenant   string // whose answer it is

	// InboundRequest is the inbound request whose result is the answer's data. The body is not stored once more then, and
	// the answer goes with the request.
	InboundRequest string
}

// ID returns what a request is remembered by: a hash, because keys and scopes may hold what a table should not.
func ID(scope ...string) string {
	return digest(strings.Join(scope, "\x00"))
}

// Fingerprint identifies the body of a request.
func Fingerprint(body []byte) string {
	return digest(string(body))
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

const findSQL = "SELECT a.`status`, a.`location`, a.`contact`, a.`tenant`, a.`inboundRequest`, a.`request`, " +
	"CASE WHEN r.`id` IS NULL THEN a.`body` ELSE '{\"data\":' || r.`result` || '}' END " +
	"FROM `_idempotency` a LEFT JOIN `inbound_requests` r ON r.`id` = a.`inboundRequest` AND a.`inboundRequest` != '' " +
	"WHERE a.`key` = ? AND a.`tenant` = ? AND a.`created` > ?"

// Find returns the answer to a tenant that is remembered under id, nil where there is none, or ErrReused where the request was
// another one.
func Find(tx sqlite.Reader, tenant, id, fingerprint string, now time.Time) (*Answer, error) {
	rows, err := tx.Query(findSQL, id, tenant, stamp.Stored(now.Add(-Window)))
	if err != nil {
		return nil, fmt.Errorf("looking for a remembered answer: %w", err)
	}
	defer rows.Close()
	a, request := &Answer{}, ""
	found := rows.Next()
	if found {
		err = rows.Scan(&a.Status, &a.Location, &a.Contact, &a.Tenant, &a.InboundRequest, &request, &a.Body)
	}
	if err = errors.Join(err, rows.Err()); err != nil {
		return nil, fmt.Errorf("looking for a remembered answer: %w", err)
	}
	if !found {
		return nil, nil
	}
	if request != fingerprint {
		return nil, ErrReused
	}
	return a, nil
}

// rememberSQL is not a REPLACE, which would delete what was there behind the back of the triggers.
const rememberSQL = "INSERT INTO `_idempotency` (`key`, `request`, `status`, `location`, `body`, `contact`, `tenant`, `inboundRequest`, `created`) " +
	"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) " +
	"ON CONFLICT (`key`) DO UPDATE SET `request` = excluded.`request`, `status` = excluded.`status`, `location` = excluded.`location`, `body` = excluded.`body`, " +
	"`contact` = excluded.`contact`, `tenant` = excluded.`tenant`, `inboundRequest` = excluded.`inboundRequest`, `created` = excluded.`created`"

// Remember returns the statements that keep the answer, for the transaction of what it answers: either both are there
// after a crash, or neither. They also make room for it in what may be stored for its tenant.
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

// Forget drops the answers that show the contact.
func Forget(tx core.App, contactID string) error {
	_, err := tx.DB().Delete("_idempotency", dbx.NewExp("[[contact]] = {:contact} AND [[contact]] != ''", dbx.Params{"contact": contactID})).Execute()
	if err != nil {
		return fmt.Errorf("forgetting the answers about the contact %s: %w", contactID, err)
	}
	return nil
}

// Prune drops up to limit answers whose window is over, and returns how many went.
func Prune(tx core.App, limit int, now time.Time) (int, error) {
	result, err := tx.DB().NewQuery(
		"DELETE FROM {{_idempotency}} WHERE [[key]] IN (SELECT [[key]] FROM {{_idempotency}} WHERE [[created]] <= {:before} LIMIT {:limit})",
	).Bind(dbx.Params{"before": stamp.Stored(now.Add(-Window)), "limit": limit}).Execute()
	if err != nil {
		return 0, fmt.Errorf("pruning remembered answers: %w", err)
	}
	gone, err := result.RowsAffected()
	return int(gone), err
}

// InFlight holds the keys of the requests that run in this process. A crash empties it, as it should.
type InFlight struct {
	running sync.Map
}

// Begin claims the key and returns how to let go of it; ok is false where another request has it.
func (f *InFlight) Begin(id string) (end func(), ok bool) {
	if _, taken := f.running.LoadOrStore(id, struct{}{}); taken {
		return nil, false
	}
	return func() { f.running.Delete(id) }, true
}
