package webhook

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/credential"
	"contactbase/internal/fault"
	"contactbase/internal/secret"
	"contactbase/internal/stamp"
)

// OverlapHours is how long an old secret signs beside the new one after a rotation, unless its caller chooses less.
const OverlapHours = 24

// maxOldSecrets is how many old secrets sign beside the current one: each adds a signature to every request.
const maxOldSecrets = 4

// Secrets are the secrets of a webhook as the table has them, all sealed. Previous was the current one before the
// last rotation, and Older has those before it.
type Secrets struct {
	Current, Previous string
	PreviousUntil     string // a stored time
	Older             string // the JSON of a list of oldSecret, the latest first; "" for none
}

// oldSecret is a secret that a rotation has replaced.
type oldSecret struct {
	Plain []byte `json:"secret"` // may be invalid UTF-8
	Until string `json:"until"`  // the stored time until which it signs
}

// Signing returns the secrets that sign at a time, in plain, the current one first.
func (s *Secrets) Signing(app core.App, now time.Time) ([]string, error) {
	current, err := secret.Open(app, s.Current)
	if err != nil {
		return nil, err
	}
	old, err := s.old(app, now)
	if err != nil {
		return nil, err
	}
	signing := []string{current}
	for _, o := range old {
		signing = append(signing, string(o.Plain))
	}
	return signing, nil
}

// old returns the old secrets that still sign, the latest first.
func (s *Secrets) old(app core.App, now time.Time) (old []oldSecret, err error) {
	if s.Older != "" {
		plain, err := secret.Open(app, s.Older)
		if err == nil {
			err = json.Unmarshal([]byte(plain), &old)
		}
		if err != nil {
			return nil, fmt.Errorf("reading the older secrets of a webhook: %w", err)
		}
	}
	if s.Previous != "" {
		plain, err := secret.Open(app, s.Previous)
		if err != nil {
			return nil, err
		}
		old = slices.Insert(old, 0, oldSecret{[]byte(plain), s.PreviousUntil})
	}
	return slices.DeleteFunc(old, func(o oldSecret) bool { return o.Until <= stamp.Stored(now) }), nil
}

// SecretPrefix returns the first characters of the secret in a webhook's record, by which people recognize it. It is ""
// for a secret that cannot be opened or that somebody has typed.
func SecretPrefix(app core.App, record *core.Record) string {
	plain, err := secret.Open(app, record.GetString("secret"))
	if err != nil {
		return ""
	}
	return secret.Shown(plain)
}

// RotateSecret replaces the webhook's secret and returns the new one. The old one also signs until the overlap ends,
// as do older ones until theirs end. Without an overlap, all old secrets end. The error is sql.ErrNoRows if there is
// no such webhook, and a *fault.Error if the overlap is invalid or too many secrets sign already.
func RotateSecret(app core.App, webhookID string, overlapHours int, now time.Time) (string, error) {
	if overlapHours < 0 || overlapHours > OverlapHours {
		return "", fault.InvalidField("overlapHours", fault.CodeInvalidValue,
			fmt.Sprintf("must be between 0 and %d", OverlapHours))
	}
	plain := secret.New()
	err := app.RunInTransaction(func(tx core.App) error {
		record, err := tx.FindRecordById(CollectionName, webhookID)
		if err != nil {
			return err
		}
		old, err := overlapping(tx, record, overlapHours, now)
		if err != nil {
			return err
		}
		record.SetRaw(credential.RotatedMark, true)
		if err := setSecrets(tx, record, plain, old); err != nil {
			return err
		}
		return tx.Save(record)
	})
	if err != nil {
		return "", fmt.Errorf("rotating the secret of the webhook %q: %w", webhookID, err)
	}
	return plain, nil
}

// overlapping returns the old secrets that sign after a rotation at a time.
func overlapping(app core.App, record *core.Record, overlapHours int, now time.Time) ([]oldSecret, error) {
	if overlapHours == 0 {
		return nil, nil
	}
	stored := &Secrets{
		record.GetString("secret"), record.GetString("previousSecret"),
		record.GetString("previousSecretUntil"), record.GetString("olderSecrets"),
	}
	old, err := stored.old(app, now)
	if err != nil {
		return nil, err
	}
	if len(old) >= maxOldSecrets {
		first := slices.MinFunc(old, func(a, b oldSecret) int { return stamp.Parse(a.Until).Compare(stamp.Parse(b.Until)) })
		return nil, fault.New(fault.TooManyRotations, fmt.Sprintf("The secret was not rotated because %d earlier "+
			"secrets still sign. Rotate it after %s, or with an overlapHours of 0, which ends them all "+
			"immediately.", len(old), stamp.Show(first.Until)))
	}
	plain, err := secret.Open(app, stored.Current)
	if err != nil {
		return nil, err
	}
	return slices.Insert(
		old, 0, oldSecret{[]byte(plain), stamp.Stored(now.Add(time.Duration(overlapHours) * time.Hour))},
	), nil
}

// setSecrets seals the current secret and old ones, the latest first, and stores them in the record.
func setSecrets(app core.App, record *core.Record, current string, old []oldSecret) error {
	previous, older := oldSecret{}, ""
	if len(old) > 0 {
		previous = old[0]
	}
	if len(old) > 1 {
		encoded, err := json.Marshal(old[1:])
		if err != nil {
			return err
		}
		older = string(encoded)
	}
	for field, plain := range map[string]string{
		"secret": current, "previousSecret": string(previous.Plain), "olderSecrets": older,
	} {
		sealed := ""
		if plain != "" {
			var err error
			if sealed, err = secret.Seal(app, plain); err != nil {
				return err
			}
		}
		record.Set(field, sealed)
	}
	record.Set("previousSecretUntil", previous.Until)
	return nil
}
