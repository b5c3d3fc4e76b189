package audit

import (
	"os/user"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/event"
	"contactbase/internal/member"
)

// Kind is what kind of actor does something.
type Kind string

// The kinds of actors.
const (
	Superuser Kind = "superuser"
	Member    Kind = "member"
	Link      Kind = "link"    // someone with a portal link
	Key       Kind = "key"     // a program with an API key
	Command   Kind = "command" // someone at the command line
	System    Kind = "system"  // the program by itself

	// These write contacts, and nothing that the audit log has.
	MCP     Kind = "mcp" // a language model with a key
	Inbound Kind = "inbound"
	Import  Kind = "import"
)

// kinds are those that entries have.
var kinds = []Kind{Superuser, Member, Link, Key, Command, System}

// Actor is who does something.
type Actor struct {
	Kind Kind
	ID   string // of the record of a superuser, a member, a link or a key, "" for none
	Name string // of a person or a key, as it was at that time; "" for none

	merges bool // whether what it does belongs to a merge
}

// Merging returns the actor of a merge.
func (a Actor) Merging() Actor {
	a.merges = true
	return a
}

// Source returns what the events of the actor's changes have as their source.
func (a Actor) Source() event.Source {
	source := event.Source{Type: event.SourceType(a.Kind), Merge: a.merges}
	switch a.Kind {
	case Key, MCP, Inbound, Import:
		source.ID = a.ID
	case Link:
		source.Type, source.Person = event.FromMember, a.Name
	case "":
		source.Type = event.FromSystem
	default:
		source.Person = a.Name
	}
	return source
}

// ActorOf returns the actor that a request authenticates as.
func ActorOf(record *core.Record) Actor {
	switch {
	case record.IsSuperuser():
		return Actor{Kind: Superuser, ID: record.Id, Name: record.Email()}
	case !member.Is(record):
		return Actor{Kind: System} // the rules let nobody else change anything
	case member.IsLink(record):
		return Actor{Kind: Link, ID: record.Id, Name: record.GetString("name")}
	default:
		return Actor{Kind: Member, ID: record.Id, Name: record.Email()}
	}
}

// Operator returns the actor of commands: the user of the operating system.
func Operator() Actor {
	actor := Actor{Kind: Command}
	if current, err := user.Current(); err == nil {
		actor.Name = current.Username
	}
	return actor
}
