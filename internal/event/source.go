package event

import (
	"contactbase/internal/sqlite"
	"contactbase/internal/wire"
)

// SourceType is the kind of what changes contacts.
type SourceType string

// The types of sources.
const (
	FromKey       SourceType = "key"       // the API
	FromInbound   SourceType = "inbound"   // an inbound webhook, also a replayed request of it
	FromImport    SourceType = "import"    // a file, whoever imports it
	FromSuperuser SourceType = "superuser" // the dashboard, or PocketBase's API
	FromMember    SourceType = "member"    // the portal, also with a portal link
	FromCommand   SourceType = "command"   // the command line
	FromMCP       SourceType = "mcp"       // a language model with a key
	FromExtension SourceType = "extension" // code that the operator adds
	FromSystem    SourceType = "system"    // the program itself
)

// Source is what has made a change. Payloads have no name, file or person of it.
type Source struct {
	Type   SourceType // "" for notices and pings
	ID     string     // of the key, the inbound webhook or the import; "" for others
	Merge  bool       // whether the change belongs to a merge
	Person string     // who has made it directly, as admins know them; "" for nobody
}

// append appends the property of a payload to b.
func (s Source) append(b []byte) []byte {
	if s.Type == "" {
		return b
	}
	b = append(append(append(b, `,"source":{"type":"`...), s.Type...), '"')
	if s.ID != "" {
		b = wire.AppendString(append(b, `,"id":`...), s.ID)
	}
	if s.Merge {
		b = append(b, `,"merge":true`...)
	}
	return append(b, '}')
}

// PersonOf returns the statement that keeps who has made the change of an event, which Insert has given its id.
func PersonOf(e *Event) sqlite.Statement {
	return sqlite.Statement{
		Text: "INSERT INTO `_sources` (`event`, `person`) VALUES (?, ?)", Args: []any{e.ID, e.Source.Person},
	}
}
