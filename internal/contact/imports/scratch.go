package imports

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/dbutils"
	"github.com/pocketbase/pocketbase/tools/list"

	"contactbase/internal/contact"
	"contactbase/internal/contact/bulk"
	"contactbase/internal/contact/search"
	"contactbase/internal/sqlite"
)

// scratch is a temporary database in which a dry run writes contacts by the import's own code. It has the tables that such a write changes,
// at first without rows. For all other tables SQLite reads data.db, which is attached under the name stored. So a dry run makes no other
// writer wait.
//
// The contacts that a row may meet are copied from data.db before they are needed: those that the row finds by id, external ID, email
// address or relation, by copyFor; and those that have the values of a contact in a unique index, by triggers, just before that contact
// is written. SQLite then refuses what it would refuse in data.db.
type scratch struct {
	app       core.App
	tenant    string
	folder    string
	db        *dbx.DB
	relations []string // the fields that lead to contacts
}

// openScratch returns a scratch database for the contacts of a tenant. The caller closes it.
func openScratch(app core.App, tenantID string) (_ *scratch, err error) {
	s := &scratch{app: app, tenant: tenantID}
	defer func() {
		if err != nil {
			err = fmt.Errorf("opening the database of a dry run: %w", errors.Join(err, s.close()))
		}
	}()
	if s.folder, err = os.MkdirTemp(app.DataDir(), folderPrefix+"*"); err != nil {
		return nil, err
	}
	if s.db, err = sqlite.Connect(sqlite.Normal)(filepath.Join(s.folder, dataFile)); err != nil {
		return nil, err
	}
	s.db.DB().SetMaxOpenConns(1) // a pool for writing, see sqlite.Connect
	if err := s.findRelations(); err != nil {
		return nil, err
	}
	if err := s.makeTables(); err != nil {
		return nil, err
	}
	_ = os.RemoveAll(s.folder) // while its files are open, so that nothing is left after a kill; Windows removes it only in close
	return s, nil
}

const (
	folderPrefix = ".contactbase.dry-run-" // backups leave it out
	dataFile     = "data.db"
)

func (s *scratch) close() error {
	var err error
	if s.db != nil {
		err = s.db.Close()
	}
	if s.folder != "" {
		err = errors.Join(err, os.RemoveAll(s.folder))
	}
	return err
}

// findRelations finds the fields that lead to contacts.
func (s *scratch) findRelations() error {
	collection, err := s.app.FindCachedCollectionByNameOrId(contact.CollectionName)
	if err != nil {
		return err
	}
	for _, field := range collection.Fields {
		if relation, ok := field.(*core.RelationField); ok && relation.CollectionId == collection.Id {
			s.relations = append(s.relations, relation.Name)
		}
	}
	return nil
}

const (
	tablesSQL = "SELECT `sql` FROM stored.`sqlite_schema` WHERE `tbl_name` IN ('contacts', '_contactSearch', 'events') " +
		"AND `type` IN ('table', 'index') AND `sql` IS NOT NULL ORDER BY `type` DESC" // tables first
	uniqueSQL = "SELECT `sql` FROM `sqlite_schema` WHERE `type` = 'index' AND `tbl_name` = 'contacts' AND `sql` LIKE 'CREATE UNIQUE%'"

	// numberSQL makes the search rows of new contacts begin behind those of data.db.
	numberSQL = "INSERT INTO `_contactSearch` (`seq`, `contact`, `tenant`, `email`, `text`) VALUES (1 << 40, '', '', '', '')"

	copySQL = "INSERT OR IGNORE INTO `contacts` SELECT * FROM stored.`contacts` WHERE "

	copySearchTriggerSQL = "CREATE TEMP TRIGGER `copySearch` AFTER INSERT ON main.`contacts` BEGIN " +
		"INSERT OR IGNORE INTO `_contactSearch` SELECT * FROM stored.`_contactSearch` WHERE `contact` = NEW.`id`; END"
)

// makeTables attaches data.db, and makes the tables and the triggers.
func (s *scratch) makeTables() error {
	db := sqlite.Direct(s.db)
	stored := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(filepath.Join(s.app.DataDir(), dataFile)), RawQuery: "mode=ro"}
	if _, err := db.Exec("ATTACH DATABASE ? AS stored", stored.String()); err != nil {
		return err
	}
	definitions, err := sqlite.Values[string](db, tablesSQL)
	if err != nil {
		return err
	}
	for _, definition := range append(definitions, numberSQL, copySearchTriggerSQL) {
		if _, err := db.Exec(definition); err != nil {
			return err
		}
	}
	unique, err := sqlite.Values[string](db, uniqueSQL)
	if err != nil {
		return err
	}
	columns, err := sqlite.Values[string](db, "SELECT `name` FROM pragma_table_info('contacts')")
	if err != nil {
		return err
	}
	copies := ""
	for _, definition := range unique {
		copies += copySQL + sameKey(dbutils.ParseIndex(definition), columns) + "; "
	}
	for _, write := range []string{"INSERT", "UPDATE"} {
		_, err := db.Exec("CREATE TEMP TRIGGER `copyBefore" + write + "` BEFORE " + write + " ON main.`contacts` BEGIN " + copies + "END")
		if err != nil {
			return err
		}
	}
	return nil
}

var plainName = regexp.MustCompile(`^\w+$`)

// sameKey returns the condition on a contact to have, in a unique index, the values of the row NEW of a trigger.
func sameKey(index dbutils.Index, columns []string) string {
	var row []string
	for _, column := range columns {
		row = append(row, "NEW.`"+column+"` AS `"+column+"`")
	}
	var conditions []string
	for _, column := range index.Columns {
		held := "(" + column.Name + ")"
		if plainName.MatchString(column.Name) {
			held = "`" + column.Name + "`"
		}
		value := "(SELECT " + held + " FROM (SELECT " + strings.Join(row, ", ") + "))"
		if column.Collate != "" {
			held += " COLLATE " + column.Collate
		}
		conditions = append(conditions, held+" = "+value)
	}
	if index.Where != "" { // a contact that the index leaves out has no key in it
		conditions = append(conditions, "("+index.Where+")")
	}
	return strings.Join(conditions, " AND ")
}

// transact calls write with an app whose contacts are those of the scratch database, among them all that the items may meet.
func (s *scratch) transact(items []bulk.Item, write func(tx core.App) error) error {
	return s.db.Transactional(func(tx *dbx.Tx) error {
		app := scratchApp{s.app, tx}
		if err := s.copyFor(app, items); err != nil {
			return fmt.Errorf("copying contacts for a dry run: %w", err)
		}
		if err := write(app); err != nil {
			return err
		}
		_, err := sqlite.Run(app, []sqlite.Statement{{Text: "DELETE FROM `events`"}})
		return err
	})
}

// copyFor copies the contacts that the items find.
func (s *scratch) copyFor(tx core.App, items []bulk.Item) error {
	var ids, externalIDs, emails []string
	for _, item := range items {
		ids = append(ids, item.ID)
		for _, field := range s.relations {
			ids = append(ids, list.ToUniqueStringSlice(item.Changes[field])...)
		}
		if externalID := item.Key("externalId"); externalID != "" {
			externalIDs = append(externalIDs, externalID)
		}
		if email, _ := item.Changes["email"].(string); item.ByEmail {
			emails = append(emails, search.FoldEmail(email))
		}
	}
	var statements []sqlite.Statement
	for _, found := range []struct {
		by     string
		values []string
	}{
		{"?2 != '' AND `id` IN (SELECT `value` FROM json_each(?1))", ids},
		{"`tenant` = ?2 AND `externalId` IN (SELECT `value` FROM json_each(?1)) AND `externalId` != ''", externalIDs},
		{"`id` IN (SELECT `contact` FROM stored.`_contactSearch` WHERE `tenant` = ?2 AND `email` IN (SELECT `value` FROM json_each(?1)) AND `email` != '')", emails},
	} {
		statements = append(statements, sqlite.Statement{Text: copySQL + found.by, Args: []any{sqlite.List(found.values), s.tenant}})
	}
	_, err := sqlite.Run(tx, statements)
	return err
}

// scratchApp is the app in a transaction of a scratch database, for the functions that write contacts. Nothing runs after its commit.
type scratchApp struct {
	core.App
	tx *dbx.Tx
}

func (a scratchApp) DB() dbx.Builder              { return a.tx }
func (a scratchApp) ConcurrentDB() dbx.Builder    { return a.tx }
func (a scratchApp) NonconcurrentDB() dbx.Builder { return a.tx }
func (a scratchApp) IsTransactional() bool        { return true }
func (a scratchApp) TxInfo() *core.TxAppInfo      { return &core.TxAppInfo{} }
