package inbound

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"

	"contactbase/internal/credential"
	"contactbase/internal/fault"
	"contactbase/internal/inbound/payload"
	"contactbase/internal/secret"
	"contactbase/internal/stamp"
	"contactbase/internal/tenant"
)

// CollectionName is the collection of inbound webhooks.
const CollectionName = "inbound_webhooks"

// The access levels of an inbound webhook.
const (
	AccessUpsert = "upsert" // create and update; deletions are ignored
	AccessFull   = "full"   // deletions too
)

// DefaultRateLimit is how many requests per minute an inbound webhook without a rateLimit receives.
const DefaultRateLimit = 600

// Webhook is an inbound webhook as requests need it.
type Webhook struct {
	ID         string
	TenantID   string
	APIEnabled bool // of the tenant
	State      tenant.State
	Access     string
	Mapping    *payload.Mapping // nil if none
	Verify     Verification
	RateLimit  int // requests per minute, 0 for DefaultRateLimit
	LastUsed   time.Time

	token     string // of the request; "" for a superuser
	tokenHash string // of the token; "" for a superuser
	unusable  error  // why the stored mapping is invalid, for example after an upgrade with stricter limits
}

// ErrInvalidToken means that the token is unknown or its webhook disabled. Clients do not learn which.
var ErrInvalidToken = fault.New(fault.InvalidToken, "The inbound webhook is unknown or disabled, "+
	"or its address was replaced. Copy its current address into the sender.")

// FindByToken returns the enabled webhook with this token, or ErrInvalidToken.
func FindByToken(app core.App, token string) (*Webhook, error) {
	if !credential.WellFormed(credential.TokenPrefix, token) {
		return nil, ErrInvalidToken
	}
	hash := credential.Hash(token)
	webhook, err := find(app, "w.[[tokenHash]] = {:value} AND NOT w.[[disabled]]", hash)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, ErrInvalidToken
	}
	if err != nil {
		return nil, err
	}
	webhook.token, webhook.tokenHash = token, hash
	return webhook, nil
}

// isOfSender reports whether a sender's preset or scheme says who sends the requests.
func (w *Webhook) isOfSender() bool {
	return w.Mapping.Preset() != "" || w.Verify.Scheme != "" && !slices.Contains(genericSchemes, w.Verify.Scheme)
}

// authorize checks, in the transaction of a request, that it may still be applied. Meanwhile the webhook may have
// been deleted, disabled or rotated, the tenant deleted, or its API access turned off. A superuser may replay
// requests of a disabled webhook. The error is ErrInvalidToken, tenant.ErrNotEnabled or that of tenant.Writable.
func (w *Webhook) authorize(tx core.App) error {
	var row struct {
		Valid      bool         `db:"valid"`
		APIEnabled bool         `db:"apiEnabled"`
		State      tenant.State `db:"state"`
	}
	err := tx.DB().NewQuery(
		"SELECT {:hash} = '' OR (w.[[tokenHash]] = {:hash} AND NOT w.[[disabled]]) AS [[valid]], t.[[apiEnabled]], " +
			tenant.StateSQL("t.[[id]]") + " AS [[state]] " +
			"FROM {{inbound_webhooks}} w JOIN {{tenants}} t ON t.[[id]] = w.[[tenant]] " +
			"WHERE w.[[id]] = {:id} AND t.[[id]] = {:tenant}",
	).Bind(dbx.Params{"hash": w.tokenHash, "id": w.ID, "tenant": w.TenantID}).One(&row)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && !row.Valid:
		return ErrInvalidToken
	case err != nil:
		return fmt.Errorf("reading the inbound webhook %s again: %w", w.ID, err)
	case !row.APIEnabled:
		return tenant.ErrNotEnabled
	}
	return row.State.Writable()
}

// FindByID returns the webhook, enabled or not. The error is sql.ErrNoRows if there is none.
func FindByID(app core.App, id string) (*Webhook, error) {
	return find(app, "w.[[id]] = {:value}", id)
}

func find(app core.App, where, value string) (*Webhook, error) {
	var row struct {
		ID           string         `db:"id"`
		Tenant       string         `db:"tenant"`
		Access       string         `db:"access"`
		Mapping      sql.NullString `db:"mapping"`
		VerifySecret string         `db:"verifySecret"`
		Scheme       string         `db:"verifyScheme"`
		Header       string         `db:"verifyHeader"`
		Format       string         `db:"verifyFormat"`
		Hash         string         `db:"verifyHash"`
		Timestamp    string         `db:"verifyTimestamp"`
		RateLimit    int            `db:"rateLimit"`
		LastUsed     types.DateTime `db:"lastUsed"`
		APIEnabled   bool           `db:"apiEnabled"`
		State        tenant.State   `db:"state"`
	}
	err := app.DB().NewQuery(
		"SELECT w.[[id]], w.[[tenant]], w.[[access]], w.[[mapping]], w.[[verifySecret]], w.[[verifyScheme]], " +
			"w.[[verifyHeader]], w.[[verifyFormat]], w.[[verifyHash]], w.[[verifyTimestamp]], " +
			"w.[[rateLimit]], w.[[lastUsed]], t.[[apiEnabled]], " + tenant.StateSQL("t.[[id]]") + " AS [[state]] " +
			"FROM {{inbound_webhooks}} w JOIN {{tenants}} t ON t.[[id]] = w.[[tenant]] WHERE " + where,
	).Bind(dbx.Params{"value": value}).One(&row)
	if err != nil {
		return nil, err
	}
	webhook := &Webhook{
		ID:         row.ID,
		TenantID:   row.Tenant,
		APIEnabled: row.APIEnabled,
		State:      row.State,
		Access:     row.Access,
		Verify:     Verification{"", row.Scheme, row.Header, row.Format, row.Hash, row.Timestamp},
		RateLimit:  row.RateLimit,
		LastUsed:   row.LastUsed.Time(),
	}
	if row.Mapping.String != "" && row.Mapping.String != "null" {
		webhook.Mapping, webhook.unusable = payload.ParseMapping([]byte(row.Mapping.String))
	}
	if row.VerifySecret != "" {
		if webhook.Verify.Secret, err = secret.Open(app, row.VerifySecret); err != nil {
			return nil, fmt.Errorf("reading the secret of the inbound webhook %s: %w", row.ID, err)
		}
	}
	return webhook, nil
}

// lastUsedInterval is the shortest time between two stored uses of a webhook.
const lastUsedInterval = time.Minute

// Touch stores in the caller's transaction that the webhook was used.
func (w *Webhook) Touch(tx core.App, now time.Time) error {
	if now.Sub(w.LastUsed) < lastUsedInterval {
		return nil
	}
	_, err := tx.DB().Update(CollectionName, dbx.Params{"lastUsed": stamp.Stored(now)}, dbx.HashExp{"id": w.ID}).Execute()
	if err != nil {
		return fmt.Errorf("storing the last use of the inbound webhook %s: %w", w.ID, err)
	}
	return nil
}

// RotateToken gives the webhook a new token, which credential.Minted reads from the returned record. The old one
// stops working immediately.
func RotateToken(app core.App, id string) (*core.Record, error) {
	record, err := app.FindRecordById(CollectionName, id)
	if err != nil {
		return nil, fmt.Errorf("no inbound webhook has the ID %q: %w", id, err)
	}
	credential.MintToken(record)
	record.SetRaw(credential.RotatedMark, true)
	record.IgnoreUnchangedFields(true)
	if err := app.Save(record); err != nil {
		return nil, fmt.Errorf("rotating the token of the inbound webhook %s: %w", id, err)
	}
	return record, nil
}

// Address returns the full address to paste into the sender.
func Address(app core.App, token string) string {
	return strings.TrimRight(app.Settings().Meta.AppURL, "/") + "/api/hooks/" + token
}
