// Package idempotency remembers the first answer to a request that carries a key of the caller's, so that a repeat
// of the request gets that answer again and does nothing.
package idempotency

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"
)

// Window is how long an answer is remembered.
const Window = 24 * time.Hour

// MaxKeyLength is the longest key that a caller may send, in bytes.
const MaxKeyLength = 255

// ErrReused means that the key was used before with another request.
var ErrReused = errors.New("the idempotency key was used with another request")

// Answer is a remembered answer.
type Answer struct {
	Status   int    `db:"status"`
	Location string `db:"location"` // of the Location header; "" for none
	Body     string `db:"body"`
	Contact  string `db:"contact"` // the contact that the body shows, so that its erasure reaches the answer
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

// Find returns the answer that is remembered under id, nil where there is none, or ErrReused where the request was
// another one.
func Find(app core.App, id, fingerprint string, now time.Time) (*Answer, error) {
	var row struct {
		Answer
		Request string `db:"request"`
	}
	err := app.DB().NewQuery(
		"SELECT [[status]], [[location]], [[body]], [[contact]], [[request]] FROM {{_idempotency}} WHERE [[key]] = {:key} AND [[created]] > {:since}",
	).Bind(dbx.Params{"key": id, "since": stored(now.Add(-Window))}).One(&row)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking for a remembered answer: %w", err)
	}
	if row.Request != fingerprint {
		return nil, ErrReused
	}
	return &row.Answer, nil
}

// Remember keeps the answer in the transaction of what it answers: either both are there after a crash, or neither.
func Remember(tx core.App, id, fingerprint string, answer *Answer, now time.Time) error {
	_, err := tx.DB().NewQuery(
		"INSERT OR REPLACE INTO {{_idempotency}} ([[key]], [[request]], [[status]], [[location]], [[body]], [[contact]], [[created]]) " +
			"VALUES ({:key}, {:request}, {:status}, {:location}, {:body}, {:contact}, {:created})",
	).Bind(dbx.Params{
		"key":      id,
		"request":  fingerprint,
		"status":   answer.Status,
		"location": answer.Location,
		"body":     answer.Body,
		"contact":  answer.Contact,
		"created":  stored(now),
	}).Execute()
	if err != nil {
		return fmt.Errorf("remembering an answer: %w", err)
	}
	return nil
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
	).Bind(dbx.Params{"before": stored(now.Add(-Window)), "limit": limit}).Execute()
	if err != nil {
		return 0, fmt.Errorf("pruning remembered answers: %w", err)
	}
	gone, err := result.RowsAffected()
	return int(gone), err
}

func stored(at time.Time) string {
	stamp, _ := types.ParseDateTime(at.UTC()) // a time always parses
	return stamp.String()
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
