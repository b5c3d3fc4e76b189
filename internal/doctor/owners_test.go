package doctor

import (
	"os"
	"slices"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
	"contactbase/internal/testkit"
)

func TestMain(m *testing.M) {
	code := m.Run()
	testkit.Cleanup()
	os.Exit(code)
}

// ownerless are columns that are named like an owner, with the reason why their row may outlive it.
var ownerless = map[string]string{
	"events.contact":         "an event is kept after its contact's deletion, without its data",
	"deliveries.contact":     "as its event",
	"_idempotency.contact":   "the answer to a deletion is remembered, too",
	"_idempotency.key":       "its own",
	"_idempotency.request":   "a hash of the request",
	"_imports.person":        "who started it may be gone; the history then shows no name",
	"_sources.person":        "as of imports",
	"_inboundPeople.person":  "a request is searched for a deleted person's data after the deletion",
	"_importNotes.contact":   "empty once the contact is deleted and erased",
	"_importRows.import":     "a deleted import's rows go with the next pruning",
	"_importRefusals.import": "as rows",
	"_importNotes.import":    "as rows",
	"_importContacts.import": "as rows",
	"_importCreated.import":  "as rows",
	"_eventsGone.event":      "names an event that was deleted",
	"_fanOutCursor.event":    "a position, which a trigger moves",
	"_fanOutSince.event":     "a position",
	"_deletions.record":      "names a record that was deleted",
	"audit_log.tenant":       "the log outlives what it is about",
	"audit_log.record":       "the log outlives what it is about",
	"_activity.of":           "counts are kept as long as the log",
}

// owning are the names of columns with an owner's id.
var owning = []string{
	"tenant", "contact", "person", "webhook", "event", "delivery", "inbound", "request", "inboundRequest", "import",
	"notice", "key", "member", "account",
	"record", "recordRef", "of",
}

// Every column that refers to an owner, by its name or as a relation, is in the list, or has its reason.
func TestEveryOwnerIsInTheList(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	listed := map[string]bool{}
	for _, o := range ownerships() {
		listed[o.table+"."+o.column] = true
	}
	db := sqlite.Direct(app.ConcurrentDB())
	columns, err := sqlite.Values[string](db,
		"SELECT s.name || '.' || c.name FROM sqlite_schema s, pragma_table_info(s.name) c "+
			"WHERE s.type = 'table' AND s.name NOT LIKE 'sqlite_%' AND s.sql NOT LIKE 'CREATE VIRTUAL%' "+
			"AND c.name IN (SELECT value FROM json_each(?))", sqlite.List(owning))
	if err != nil || len(columns) < 30 {
		t.Fatalf("the columns are %v (%v)", columns, err)
	}
	collections, err := app.FindAllCollections()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range collections {
		for _, field := range c.Fields {
			if _, isRelation := field.(*core.RelationField); isRelation {
				columns = append(columns, c.Name+"."+field.GetName())
			}
		}
	}
	for _, column := range columns {
		if !listed[column] && ownerless[column] == "" {
			t.Errorf("doctor does not check the owner of %s", column)
		}
	}
	for column, reason := range ownerless {
		if listed[column] || !slices.Contains(columns, column) {
			t.Errorf("%s needs no reason: %s", column, reason)
		}
	}
}
