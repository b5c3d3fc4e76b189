package visitor

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

const (
	// KnownFor is how long the address of a sign-in is known.
	KnownFor = 30 * 24 * time.Hour

	// maxKnown is how many addresses of an account are known, the latest ones.
	maxKnown = 20
)

// digest returns what is stored of a network from which an account signed in. Its key is the secret of the account's
// tokens: the digest of a guessed address cannot be computed without it, and renewing it ends all sessions and
// forgets the addresses.
func digest(account *core.Record, network string) string {
	sum := hmac.New(sha256.New, []byte(account.Collection().AuthToken.Secret))
	sum.Write([]byte(account.Id + "\x00" + network))
	return hex.EncodeToString(sum.Sum(nil))
}

const (
	isKnownSQL = "SELECT EXISTS (SELECT 1 FROM `_knownAddresses` WHERE `account` = ? AND `address` = ? AND `seen` > ?)"

	// rememberSQL stores that the account ?1 signed in from ?2 at ?3, while there is such an account. forgetSQL
	// deletes all but its latest ?2.
	rememberSQL = "INSERT INTO `_knownAddresses` (`account`, `address`, `seen`) SELECT ?1, ?2, ?3 " +
		"WHERE EXISTS (SELECT 1 FROM `tenant_members` WHERE `id` = ?1) OR EXISTS " +
		"(SELECT 1 FROM `_superusers` WHERE `id` = ?1) " +
		"ON CONFLICT DO UPDATE SET `seen` = excluded.`seen`"
	forgetSQL = "DELETE FROM `_knownAddresses` WHERE `account` = ?1 AND `address` NOT IN (" +
		"SELECT `address` FROM `_knownAddresses` WHERE `account` = ?1 ORDER BY `seen` DESC, `address` LIMIT ?2)"

	pruneSQL = "DELETE FROM `_knownAddresses` WHERE (`account`, `address`) IN " +
		"(SELECT `account`, `address` FROM `_knownAddresses` WHERE `seen` <= ? LIMIT ?)"
)

// IsKnown reports whether an account has signed in from a network in the last 30 days.
func IsKnown(app core.App, account *core.Record, network string, now time.Time) (bool, error) {
	known, err := sqlite.Value[bool](sqlite.Direct(app.ConcurrentDB()), isKnownSQL,
		account.Id, digest(account, network), stamp.Stored(now.Add(-KnownFor)))
	if err != nil {
		return false, fmt.Errorf("looking for the addresses of an account: %w", err)
	}
	return known, nil
}

// Remember stores that an account signed in from a network.
func Remember(app core.App, account *core.Record, network string, now time.Time) error {
	_, err := sqlite.Execute(app,
		sqlite.Statement{Text: rememberSQL, Args: []any{account.Id, digest(account, network), stamp.Stored(now)}},
		sqlite.Statement{Text: forgetSQL, Args: []any{account.Id, maxKnown}},
	)
	if err != nil {
		return fmt.Errorf("storing the address of a sign-in: %w", err)
	}
	return nil
}

// Prune deletes up to limit addresses that are no longer known, and returns how many it deleted.
func Prune(tx core.App, limit int, now time.Time) (int, error) {
	deleted, err := sqlite.Exec(tx, pruneSQL, stamp.Stored(now.Add(-KnownFor)), limit)
	if err != nil {
		return 0, fmt.Errorf("deleting old addresses of sign-ins: %w", err)
	}
	return deleted, nil
}
