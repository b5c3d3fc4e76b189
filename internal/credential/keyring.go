package credential

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"

	"contactbase/internal/sqlite"
)

// Grant is what a valid key opens.
type Grant struct {
	KeyID      string
	TenantID   string
	APIEnabled bool
	RateLimit  int // requests a minute; 0 means the default

	permissions []Permission
	expires     time.Time
}

// Allows tells whether the key has the permission.
func (g *Grant) Allows(p Permission) bool {
	return len(g.permissions) == 0 || slices.Contains(g.permissions, p)
}

// ErrInvalidKey means that the key is unknown, malformed, revoked or expired. Callers are not told which.
var ErrInvalidKey = errors.New("invalid API key")

// lastUsedInterval is how often the use of a key is written down at the most.
const lastUsedInterval = time.Minute

// Keyring finds the grant of a key. It remembers grants by the key's hash and asks one integer of the database on
// each look-up whether they still hold: a change made by any process on the same folder counts at once.
type Keyring struct {
	mu      sync.RWMutex
	version int64
	grants  map[string]*Grant
	used    map[string]time.Time // by key id: when its use was last written down
}

// NewKeyring returns an empty keyring. It grows to the number of valid keys in use, no further: an unknown key is
// never remembered.
func NewKeyring() *Keyring {
	return &Keyring{grants: map[string]*Grant{}, used: map[string]time.Time{}}
}

// Look returns the grant of the key, or ErrInvalidKey.
func (k *Keyring) Look(app core.App, key string, now time.Time) (*Grant, error) {
	if !WellFormed(KeyPrefix, key) {
		return nil, ErrInvalidKey
	}
	version, err := currentVersion(app)
	if err != nil {
		return nil, err
	}
	hash := Hash(key)
	grant := k.remembered(version, hash)
	if grant == nil {
		if grant, err = load(app, hash); err != nil {
			return nil, err
		}
		k.remember(version, hash, grant)
	}
	if !grant.expires.IsZero() && !now.Before(grant.expires) {
		return nil, ErrInvalidKey
	}
	k.touch(app, grant.KeyID, now)
	return grant, nil
}

const versionSQL = "SELECT `version` FROM `_credentialVersion`"

func currentVersion(app core.App) (version int64, err error) {
	rows, err := sqlite.Direct(app.ConcurrentDB()).Query(versionSQL)
	if err == nil {
		defer rows.Close()
		if rows.Next() {
			err = rows.Scan(&version)
		}
		err = errors.Join(err, rows.Err())
	}
	if err != nil {
		return 0, fmt.Errorf("reading the version of the credentials: %w", err)
	}
	return version, nil
}

func (k *Keyring) remembered(version int64, hash string) *Grant {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if k.version != version {
		return nil
	}
	return k.grants[hash]
}

// remember keeps a grant that was read after the version: it may be newer than the version says, never older.
func (k *Keyring) remember(version int64, hash string, grant *Grant) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if version < k.version {
		return
	}
	if version > k.version {
		clear(k.grants)
		k.version = version
	}
	k.grants[hash] = grant
}

// touch writes down that the key was used. A failure is only logged: it must not refuse a valid request.
func (k *Keyring) touch(app core.App, keyID string, now time.Time) {
	k.mu.RLock()
	last := k.used[keyID]
	k.mu.RUnlock()
	if now.Sub(last) < lastUsedInterval {
		return
	}
	k.mu.Lock()
	due := now.Sub(k.used[keyID]) >= lastUsedInterval
	k.used[keyID] = now
	k.mu.Unlock()
	if !due {
		return
	}
	stamp, _ := types.ParseDateTime(now) // a time always parses
	_, err := app.NonconcurrentDB().Update(CollectionName, dbx.Params{"lastUsed": stamp.String()}, dbx.HashExp{"id": keyID}).Execute()
	if err != nil {
		app.Logger().Warn("writing down the use of an API key failed", "key", keyID, "error", err)
	}
}

func load(app core.App, hash string) (*Grant, error) {
	var row struct {
		ID          string                  `db:"id"`
		Tenant      string                  `db:"tenant"`
		Permissions types.JSONArray[string] `db:"permissions"`
		Expires     types.DateTime          `db:"expires"`
		Revoked     types.DateTime          `db:"revoked"`
		APIEnabled  bool                    `db:"apiEnabled"`
		RateLimit   int                     `db:"rateLimit"`
	}
	err := app.ConcurrentDB().NewQuery(
		"SELECT k.[[id]], k.[[tenant]], k.[[permissions]], k.[[expires]], k.[[revoked]], t.[[apiEnabled]], t.[[rateLimit]] " +
			"FROM {{api_keys}} k JOIN {{tenants}} t ON t.[[id]] = k.[[tenant]] WHERE k.[[hash]] = {:hash}",
	).Bind(dbx.Params{"hash": hash}).One(&row)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, ErrInvalidKey
	}
	if err != nil {
		return nil, fmt.Errorf("looking up an API key: %w", err)
	}
	if !row.Revoked.IsZero() {
		return nil, ErrInvalidKey
	}
	grant := &Grant{
		KeyID:      row.ID,
		TenantID:   row.Tenant,
		APIEnabled: row.APIEnabled,
		RateLimit:  row.RateLimit,
		expires:    row.Expires.Time(),
	}
	for _, p := range row.Permissions {
		grant.permissions = append(grant.permissions, Permission(p))
	}
	return grant, nil
}
