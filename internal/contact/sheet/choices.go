package sheet

import (
	"slices"
	"strings"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/fault"
)

// Choices are how the rows of a sheet become changes of contacts.
type Choices struct {
	Mapping  Mapping `json:"mapping"`
	Match    string  `json:"match"`    // one of Matches
	Existing string  `json:"existing"` // one of Existing; "" for the first one
	New      string  `json:"new"`      // one of New; "" for the first one
	Country  string  `json:"country"`  // whose national numbers are read, "" for none
	// whether a row with a value that does not fit is refused, also if the field is optional
	Strict bool `json:"strict"`
}

// None matches no row with a contact: each row creates one.
const None = "none"

// Skip leaves out the rows of contacts that exist, or that do not exist.
const Skip = "skip"

// fill sets only the fields of existing contacts that have no value.
const fill = "fill"

// The values of choices. A Match of "" is decided row by row: the id in an export, else the external id, else the
// email address, by the first of these that the row has; a row that has none creates a contact.
var (
	Matches  = []string{contact.ID, contact.ExternalID, contact.Email, contact.Phone, None}
	Existing = []string{"update", fill, Skip}
	New      = []string{"create", Skip}
)

// Check checks that the choices are valid for a sheet with that many columns, and writes the country in capitals. The
// error is a *fault.Error.
func (c *Choices) Check(app core.App, columns int) error {
	if err := c.Mapping.check(app, columns); err != nil {
		return err
	}
	for _, choice := range []struct {
		name, value string
		values      []string
	}{{"match", c.Match, Matches}, {"existing", c.Existing, Existing}, {"new", c.New, New}} {
		if choice.value != "" && !slices.Contains(choice.values, choice.value) {
			return fault.InvalidField(choice.name, fault.CodeInvalidValue, "must be one of "+strings.Join(choice.values, ", "))
		}
	}
	switch c.Country = contact.CountryCode(c.Country); {
	case c.Country != "" && !contact.IsCountry(c.Country):
		return fault.InvalidField("country", fault.CodeInvalidValue, "must be a two-letter country code, such as DE")
	case c.Match != "" && c.Match != None && !slices.Contains(c.Mapping, c.Match):
		return fault.InvalidField("match", fault.CodeInvalidValue, "must be a field that a column is mapped to")
	}
	return nil
}
