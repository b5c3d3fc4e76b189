package contact

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core/validators"
	"github.com/pocketbase/pocketbase/tools/dbutils"

	"contactbase/internal/fault"
	"contactbase/internal/sqlite"
)

// refused returns the error of a unique index, which an admin may have added, as a fault.Fields.
func (s *schema) refused(err error) error {
	names := s.notUnique(err)
	if len(names) == 0 {
		return fmt.Errorf("saving a contact: %w", err)
	}
	fields := fault.Fields{}
	for _, name := range names {
		if name == externalIDField {
			return errExternalIDTaken
		}
		fields[name] = fault.Field{Code: fault.CodeInvalidType, Message: "belongs to another contact already"}
	}
	return fields
}

// notUnique returns the fields that a unique index refuses, without the tenant, which is a part of the index.
func (s *schema) notUnique(err error) (names []string) {
	var faults validation.Errors
	errors.As(validators.NormalizeUniqueIndexError(err, CollectionName, s.collection.Fields.FieldNames()), &faults)
	for _, name := range s.collection.Fields.FieldNames() {
		if _, found := faults[name]; name != "tenant" && (found || s.hasExpression(err, name)) {
			names = append(names, name)
		}
	}
	return names
}

// hasExpression reports whether the error names an index with an expression of the field. SQLite names the columns or the index only in the
// text of the error, which PocketBase reads as well.
func (s *schema) hasExpression(err error, name string) bool {
	word := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`)
	for _, definition := range s.collection.Indexes {
		index := dbutils.ParseIndex(definition)
		if strings.Contains(err.Error(), "UNIQUE constraint failed: index '"+index.IndexName+"'") {
			return slices.ContainsFunc(index.Columns, func(c dbutils.IndexColumn) bool { return word.MatchString(c.Name) })
		}
	}
	return false
}

var errExternalIDTaken = fault.Fields{externalIDField: {Code: fault.CodeDuplicateExternalID, Message: "belongs to another contact already"}}

// externalIDField is the field by which callers know their contacts.
const externalIDField = "externalId"

const externalIDTakenSQL = "SELECT EXISTS (SELECT 1 FROM `contacts` WHERE `tenant` = ? AND `externalId` = ? AND `externalId` != '')"

// checkExternalID checks inside the write transaction that no other contact has an external id, so that none can take it before the write.
// The error is a fault.Fields if another contact has it.
func checkExternalID(tx sqlite.Reader, tenantID, externalID string) error {
	if externalID == "" {
		return nil
	}
	taken, err := sqlite.Value[bool](tx, externalIDTakenSQL, tenantID, externalID)
	switch {
	case err != nil:
		return fmt.Errorf("looking for the external ID: %w", err)
	case taken:
		return errExternalIDTaken
	default:
		return nil
	}
}
