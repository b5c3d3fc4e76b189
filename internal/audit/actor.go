package audit

import (
	"os/user"

	"github.com/pocketbase/pocketbase/core"

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
)

// Actor is who does something.
type Actor struct {
	Kind Kind
	ID   string // of the record of a superuser, a member, a link or a key, "" for none
	Name string // of a person or a key, as it was at that time; "" for none
}

// ActorOf returns the actor that a request authenticates as.
func ActorOf(record *core.Record) Actor {
	switch {
	case record.IsSuperuser():
		return Actor{Superuser, record.Id, record.Email()}
	case !member.Is(record):
		return Actor{Kind: System} // the rules let nobody else change anything
	case member.IsLink(record):
		return Actor{Link, record.Id, record.GetString("name")}
	default:
		return Actor{Member, record.Id, record.Email()}
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
