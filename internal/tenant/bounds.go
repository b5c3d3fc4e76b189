package tenant

import (
	"fmt"
	"time"

	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// Bounds says how many records a tenant may have at most. What a tenant has beyond a bound stays.
type Bounds struct {
	Keys     int // neither revoked nor expired
	Webhooks int
	Inbound  int // inbound webhooks
	Members  int // without portal links
}

// DefaultBounds are the bounds of an installation without settings for them.
var DefaultBounds = Bounds{Keys: 100, Webhooks: 100, Inbound: 100, Members: 500}

// MaxWebhooks is what a larger Bounds.Webhooks counts as: one write of the fan-out takes the deliveries of an event to
// so many.
const MaxWebhooks = 200

// The bounds that no setting raises.
const (
	maxEndedKeys = 1_000
	maxLinks     = 1_000
)

// LimitReached is the code of the error on the field `tenant`.
const LimitReached = "validation_limit_reached"

// bound limits the records of a tenant that count.
type bound struct {
	collection string
	counts     string // SQL condition on a record of the tenant ?1, at the time ?2, if the record ?3 is written
	most       func(Bounds) int
	records    string // what counts, in errors
	remedy     string // what makes room, in errors
	flag       string // the flag that raises the bound, "" for none
	ceiling    int    // what the flag raises it to at most, 0 for any number; an import may bring more
	rotations  bool   // whether the bound also holds for a rotation, which replaces a key
}

const activeKey = "`revoked` = '' AND (`expires` = '' OR `expires` > ?2)"

// bounds are all bounds. A key that is written counts as one that has ended, because it will: a revocation is never
// refused. Rotations may exceed the bounds of keys, because each replaces a key. They end at twice the sum of both,
// which no normal use reaches.
var bounds = []bound{
	{
		collection: "api_keys", counts: activeKey, most: func(b Bounds) int { return b.Keys },
		records: "active API keys", remedy: "Revoke or delete some", flag: "maxKeys",
	},
	{
		collection: "api_keys", counts: "`id` = ?3 OR NOT (" + activeKey + ")",
		most:    func(Bounds) int { return maxEndedKeys },
		records: "revoked or expired API keys", remedy: "Delete some",
	},
	{
		collection: "api_keys", counts: "true", most: func(b Bounds) int { return 2 * (b.Keys + maxEndedKeys) },
		records: "API keys, including revoked and expired ones", remedy: "Delete some", flag: "maxKeys", rotations: true,
	},
	{
		collection: "webhooks", counts: "true", most: func(b Bounds) int { return b.Webhooks },
		records: "webhooks", remedy: "Delete some", flag: "maxWebhooks", ceiling: MaxWebhooks,
	},
	{
		collection: "inbound_webhooks", counts: "true", most: func(b Bounds) int { return b.Inbound },
		records: "inbound webhooks", remedy: "Delete some", flag: "maxInbound",
	},
	{
		collection: "tenant_members", counts: "`link` = 0", most: func(b Bounds) int { return b.Members },
		records: "members", remedy: "Delete some", flag: "maxMembers",
	},
	{
		collection: "tenant_members", counts: "`link` = 1 AND (`expires` = '' OR `expires` > ?2)",
		most:    func(Bounds) int { return maxLinks },
		records: "portal links", remedy: "Revoke some, or wait until they expire",
	},
}

// Enforce calls write, which writes a record of a tenant in the transaction of tx. It returns a validation.Errors if
// the record then counts in a bound in which it did not count before, and exceeds it: the caller must roll back.
// rotation says that the record replaces another.
func (b Bounds) Enforce(tx core.App, record *core.Record, rotation bool, write func() error) error {
	reader, tenantID, now := sqlite.ReaderOf(tx), record.GetString("tenant"), stamp.Stored(time.Now())
	var entered []bound
	for _, l := range bounds {
		if l.collection != record.Collection().Name || rotation && !l.rotations {
			continue
		}
		counted, err := sqlite.Value[bool](reader, "SELECT EXISTS ("+l.rows("")+" AND `id` = ?3)", tenantID, now, record.Id)
		if err != nil {
			return fmt.Errorf("looking for the record %s: %w", record.Id, err)
		}
		if !counted {
			entered = append(entered, l)
		}
	}
	if err := write(); err != nil {
		return err
	}
	for _, l := range entered {
		const among = "SELECT count(*) FROM (%[1]s LIMIT ?4) WHERE EXISTS (%[1]s AND `id` = ?3)"
		most := l.most(b)
		if l.ceiling > 0 {
			most = min(most, l.ceiling)
		}
		count, err := sqlite.Value[int](reader, fmt.Sprintf(among, l.rows("")), tenantID, now, record.Id, most+1)
		if err != nil {
			return fmt.Errorf("counting %s: %w", l.records, err)
		}
		if count > most {
			return validation.Errors{"tenant": validation.NewError(LimitReached, l.refusal(most))}
		}
	}
	return nil
}

// CheckArchived returns an error if a tenant that arrives in the schema `archive` has more records than a bound which a
// flag raises.
func (b Bounds) CheckArchived(archive sqlite.Reader, tenantID string, now time.Time) error {
	for _, l := range bounds {
		if l.flag == "" {
			continue
		}
		count, err := sqlite.Value[int](archive,
			"SELECT count(*) FROM ("+l.rows("`archive`.")+")", tenantID, stamp.Stored(now))
		if err != nil {
			return fmt.Errorf("counting %s: %w", l.records, err)
		}
		if most := l.most(b); count > most {
			return fmt.Errorf("the tenant has %d %s, and this installation allows %d: raise --%s for the import",
				count, l.records, most, l.flag)
		}
	}
	return nil
}

// rows returns the query for the rows that count, in a schema such as "`archive`.", "" for that of the installation.
func (l *bound) rows(schema string) string {
	return "SELECT 1 FROM " + schema + "`" + l.collection + "` WHERE `tenant` = ?1 AND (" + l.counts + ")"
}

func (l *bound) refusal(most int) string {
	text := fmt.Sprintf("The tenant can have at most %d %s. %s", most, l.records, l.remedy)
	if l.flag != "" && most != l.ceiling {
		text += ", or ask the administrator to raise --" + l.flag
	}
	return text + "."
}
