package idempotency

import (
	"errors"
	"fmt"
	"time"

	"contactbase/internal/sqlite"
)

const findSQL = "SELECT `status`, `location`, `body`, `contact`, `request` FROM `_idempotency` WHERE `key` = ? AND `created` > ?"

// FindIn is Find in a plan.
func FindIn(tx sqlite.Reader, id, fingerprint string, now time.Time) (*Answer, error) {
	rows, err := tx.Query(findSQL, id, stored(now.Add(-Window)))
	if err != nil {
		return nil, fmt.Errorf("looking for a remembered answer: %w", err)
	}
	defer rows.Close()
	answer, request := &Answer{}, ""
	found := rows.Next()
	if found {
		err = rows.Scan(&answer.Status, &answer.Location, &answer.Body, &answer.Contact, &request)
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
	return answer, nil
}

const rememberSQL = "INSERT OR REPLACE INTO `_idempotency` (`key`, `request`, `status`, `location`, `body`, `contact`, `created`) VALUES (?, ?, ?, ?, ?, ?, ?)"

// Remembering returns the statement that keeps the answer, for the transaction of what it answers.
func Remembering(id, fingerprint string, answer *Answer, now time.Time) sqlite.Statement {
	return sqlite.Statement{
		Text: rememberSQL,
		Args: []any{id, fingerprint, answer.Status, answer.Location, answer.Body, answer.Contact, stored(now)},
	}
}
