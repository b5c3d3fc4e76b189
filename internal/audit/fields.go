package audit

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/pocketbase/pocketbase/core"
)

// shownAs are the names of columns that hold what an actor sets under another name. Those shown as "" are the
// program's, or never change.
var shownAs = map[string]string{
	"tokenHash": "token", "sealedHeaders": "headers",
	"id": "", "tenant": "", "created": "", "updated": "", "lastUsed": "", "prefix": "",
	"hash": "", "previousSecret": "", "previousSecretUntil": "", "olderSecrets": "",
	"emailVisibility": "", "memberOwned": "",
	"invitationHash": "invitation", "invitationMailed": "", "invitedUntil": "", "accepted": "", "key": "",
}

// Set returns the names of the fields of a new record that have a value, in alphabetical order, without
// those of the program.
func Set(app core.App, record *core.Record) ([]string, error) {
	return Changed(app, core.NewRecord(record.Collection()), record)
}

// Changed returns the names of the fields in which two versions of a record differ, in alphabetical order, without
// those of the program.
func Changed(app core.App, before, after *core.Record) ([]string, error) {
	old, err := before.DBExport(app)
	if err != nil {
		return nil, err
	}
	present, err := after.DBExport(app)
	if err != nil {
		return nil, err
	}
	var names []string
	for name, value := range present {
		if same, err := equal(old[name], value); err != nil || same {
			if err != nil {
				return nil, err
			}
			continue
		}
		if shown, other := shownAs[name]; other {
			name = shown
		}
		if name != "" {
			names = append(names, name)
		}
	}
	if slices.Contains(names, "password") || slices.Contains(names, "email") { // which end the member's sessions
		names = slices.DeleteFunc(names, func(name string) bool { return name == "tokenKey" })
	}
	slices.Sort(names)
	return names, nil
}

func equal(a, b any) (bool, error) {
	encodedA, err := json.Marshal(a)
	if err != nil {
		return false, err
	}
	encodedB, err := json.Marshal(b)
	return bytes.Equal(encodedA, encodedB), err
}
