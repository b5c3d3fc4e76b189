package credential

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"

	"contactbase/internal/fault"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
	"contactbase/internal/tenant"
)

// Identity is the tenant of a valid key and what the key may do.
type Identity struct {
	KeyID      string
	TenantID   string
	APIEnabled bool
	RateLimit  int          // requests per minute; 0 is the default
	State      tenant.State // of the tenant

	permissions []Permission
	expires     time.Time
	hash        string
	version     int64 // of the credentials, read before the identity
}

// Allows reports whether the key has the permission.
func (i *Identity) Allows(p Permission) bool {
	if len(i.permissions) == 0 {
		return slices.Contains(ByDefault, p)
	}
	return slices.Contains(i.permissions, p)
}

// ErrInvalidKey means that the key is unknown, malformed, revoked or expired. Clients do not learn which.
var ErrInvalidKey = fault.New(fault.InvalidKey,
	"The API key is unknown, revoked or expired. Check it, or ask the administrator for a new one.")

// EndedKeyError is an ErrInvalidKey about a revoked or expired key. Clients get the same response; activity
// counts for the key.
type EndedKeyError struct{ KeyID string }

func (e *EndedKeyError) Error() string { return ErrInvalidKey.Error() }

func (e *EndedKeyError) Unwrap() error { return ErrInvalidKey }

// lastUsedInterval is the shortest time between two stored uses of a key.
const lastUsedInterval = time.Minute

// Keyring finds the identity of a key. It caches identities by the key's hash. After any commit, it checks one
// integer in the database to see whether they are still valid. A change by any process on the data directory thus
// counts immediately.
type Keyring struct {
	current sqlite.Cached[int64] // the version in the database

	mu         sync.RWMutex
	version    int64
	identities map[string]*Identity
	used       map[string]time.Time // by key id: the last noted use

	unwritten map[string]time.Time // by key id: uses that are not stored yet
	writing   bool                 // whether a goroutine stores them
	idle      *sync.Cond           // on mu: no goroutine does
}

// NewKeyring returns an empty keyring. It grows to the number of valid keys in use: unknown keys are not cached.
func NewKeyring() *Keyring {
	k := &Keyring{identities: map[string]*Identity{}, used: map[string]time.Time{}, unwritten: map[string]time.Time{}}
	k.idle = sync.NewCond(&k.mu)
	return k
}

// Look returns the identity of the key, or ErrInvalidKey: an *EndedKeyError if the key is revoked or expired.
func (k *Keyring) Look(app core.App, key string, now time.Time) (*Identity, error) {
	if !WellFormed(KeyPrefix, key) {
		return nil, ErrInvalidKey
	}
	reader := sqlite.Direct(app.ConcurrentDB())
	version, err := k.current.Get(app, func() (int64, error) { return currentVersion(reader) })
	if err != nil {
		return nil, err
	}
	hash := Hash(key)
	identity := k.remembered(version, hash)
	if identity == nil {
		if identity, err = load(reader, hash); err != nil {
			return nil, err
		}
		identity.version = version
		k.remember(version, hash, identity)
	}
	if identity.expired(now) {
		return nil, &EndedKeyError{identity.KeyID}
	}
	k.touch(app, identity.KeyID, now)
	return identity, nil
}

// Expires returns when the key expires, the zero time for never.
func (i *Identity) Expires() time.Time { return i.expires }

func (i *Identity) expired(now time.Time) bool { return !i.expires.IsZero() && !now.Before(i.expires) }

// Confirm returns the current identity, inside the transaction that relies on it and changes neither keys nor
// tenants. It is i itself if nothing has changed. The error is ErrInvalidKey if the key has ended.
func (i *Identity) Confirm(tx sqlite.Reader, now time.Time) (*Identity, error) {
	version, err := versionOnce(tx)
	if err != nil {
		return nil, err
	}
	return i.ConfirmAt(tx, version, now)
}

// IsOf reports whether the identity was read at the version of the credentials.
func (i *Identity) IsOf(version int64) bool { return i.version == version }

// ConfirmAt is Confirm for a caller that has read the version of the credentials. It queries nothing if the identity
// is of that version.
func (i *Identity) ConfirmAt(tx sqlite.Reader, version int64, now time.Time) (_ *Identity, err error) {
	present := i
	if version != i.version {
		if present, err = load(tx, i.hash); err != nil {
			return nil, err
		}
		present.version = version
	}
	if present.expired(now) {
		return nil, &EndedKeyError{present.KeyID}
	}
	return present, nil
}

// Version returns a number that changes whenever an identity may have changed.
func Version(app core.App) (int64, error) { return currentVersion(sqlite.Direct(app.ConcurrentDB())) }

const versionSQL = "SELECT `version` FROM `_credentialVersion`"

func currentVersion(tx sqlite.Reader) (int64, error) {
	version, err := sqlite.Value[int64](tx, versionSQL)
	if err != nil {
		return 0, fmt.Errorf("reading the version of the credentials: %w", err)
	}
	return version, nil
}

// cachedVersion is the version in a batch's cache.
type cachedVersion int64

// versionOnce returns currentVersion, which a batch's write functions read once.
func versionOnce(tx sqlite.Reader) (int64, error) {
	version, known := sqlite.CachedInBatch[cachedVersion](tx)
	if !known {
		current, err := currentVersion(tx)
		if err != nil {
			return 0, err
		}
		version = cachedVersion(current)
	}
	sqlite.CacheInBatch(tx, version)
	return int64(version), nil
}

func (k *Keyring) remembered(version int64, hash string) *Identity {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if k.version != version {
		return nil
	}
	return k.identities[hash]
}

// remember caches an identity that was read after the version. It may be newer than the version, never older.
func (k *Keyring) remember(version int64, hash string, identity *Identity) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if version < k.version {
		return
	}
	if version > k.version {
		clear(k.identities)
		k.version = version
	}
	k.identities[hash] = identity
}

// touch notes a use of the key. It is stored in the background: the request must not wait for the writer lock.
func (k *Keyring) touch(app core.App, keyID string, now time.Time) {
	k.mu.RLock()
	last := k.used[keyID]
	k.mu.RUnlock()
	if !touchDue(last, now) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !touchDue(k.used[keyID], now) {
		return
	}
	k.used[keyID], k.unwritten[keyID] = now, now
	if !k.writing {
		k.writing = true
		go k.writeUses(app)
	}
}

// touchDue reports whether to note another use, also if the clock was set back since the last.
func touchDue(last, now time.Time) bool {
	since := now.Sub(last)
	return since < 0 || since >= lastUsedInterval
}

const usedSQL = "UPDATE `api_keys` SET `lastUsed` = ? WHERE `id` = ?"

// writeUses stores the noted uses until none are left. It only logs a failure: there will be a next use.
func (k *Keyring) writeUses(app core.App) {
	for {
		uses := k.takeUses()
		if len(uses) == 0 {
			return
		}
		statements := make([]sqlite.Statement, 0, len(uses))
		for keyID, at := range uses {
			statements = append(statements, sqlite.Statement{Text: usedSQL, Args: []any{stamp.Stored(at), keyID}})
		}
		if _, err := sqlite.Execute(app, statements...); err != nil {
			app.Logger().Warn("storing the last use of API keys", "keys", len(uses), "error", err)
		}
	}
}

// takeUses returns the uses to store. Without any, the goroutine ends.
func (k *Keyring) takeUses() map[string]time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	uses := k.unwritten
	k.unwritten = map[string]time.Time{}
	if len(uses) == 0 {
		k.writing = false
		k.idle.Broadcast()
	}
	return uses
}

// Flush waits until all uses are stored.
func (k *Keyring) Flush() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for k.writing {
		k.idle.Wait()
	}
}

const identitySQL = "SELECT k.`id`, k.`tenant`, k.`permissions`, " +
	"k.`expires`, k.`revoked`, t.`apiEnabled`, t.`rateLimit` " +
	"FROM `api_keys` k JOIN `tenants` t ON t.`id` = k.`tenant` WHERE k.`hash` = ?"

// load reads the identity of the key with this hash. The error is ErrInvalidKey if there is none, and an
// *EndedKeyError if it is revoked.
func load(tx sqlite.Reader, hash string) (*Identity, error) {
	identity, err := loadKey(tx, hash)
	if err == nil {
		identity.State, err = tenant.StateOf(tx, identity.TenantID)
	}
	return identity, err
}

func loadKey(tx sqlite.Reader, hash string) (*Identity, error) {
	identity := &Identity{hash: hash}
	var permissions types.JSONArray[Permission]
	var expires, revoked types.DateTime
	targets := []any{
		&identity.KeyID, &identity.TenantID, &permissions, &expires,
		&revoked, &identity.APIEnabled, &identity.RateLimit,
	}
	found, err := sqlite.Row(tx, targets, identitySQL, hash)
	if err != nil {
		return nil, fmt.Errorf("looking up an API key: %w", err)
	}
	if !found {
		return nil, ErrInvalidKey
	}
	if !revoked.IsZero() {
		return nil, &EndedKeyError{identity.KeyID}
	}
	identity.permissions, identity.expires = permissions, expires.Time()
	return identity, nil
}
