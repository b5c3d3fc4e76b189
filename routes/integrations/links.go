package integrations

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"

	"contactbase/internal/audit"
	"contactbase/internal/credential"
	"contactbase/internal/fault"
	"contactbase/internal/member"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
	"contactbase/routes/envelope"
	"contactbase/routes/limit"
)

// maxLinkName is the longest name of a portal link, in characters.
const maxLinkName = 255

// linkRequest says what a portal link allows.
type linkRequest struct {
	Role      string `json:"role"`
	Name      string `json:"name"`
	ExpiresIn *int   `json:"expiresIn"` // seconds
}

func (s *server) createPortalLink(e *core.RequestEvent) error {
	options, err := readLinkOptions(e)
	if err != nil {
		return err
	}
	options.Key = callerOf(e)
	link, err := member.NewLink(e.App, e.Request.PathValue("id"), options, time.Now())
	if err != nil {
		return err
	}
	return envelope.WriteData(e,
		map[string]string{"url": link.URL, "token": link.Token, "expires": stamp.Shown(link.Expires), "id": link.ID})
}

func (s *server) revokePortalLinks(e *core.RequestEvent) error {
	// a client that has gone meanwhile still wants all links to end
	revoked, err := member.RevokeLinks(context.WithoutCancel(e.Request.Context()), e.App, e.Request.PathValue("id"))
	return envelope.WriteResult(e, map[string]int{"count": revoked}, err)
}

// orKey also admits a key that may create portal links, for its own tenant.
type orKey struct {
	scope
	of func(*core.RequestEvent) (*credential.Identity, error)
}

const callerKey = "contactbaseLinkingKey"

// callerOf returns the key that orKey has admitted, nil for a person.
func callerOf(e *core.RequestEvent) *credential.Identity {
	caller, _ := e.Get(callerKey).(*credential.Identity)
	return caller
}

// Admit implements route.Scope. It checks a key in the order of the REST API.
func (o orKey) Admit(limits *limit.Limits) []*hook.Handler[*core.RequestEvent] {
	people := o.scope.Admit(limits)
	admitPeople := people[0].Func
	people[0].Func = func(e *core.RequestEvent) error {
		caller, err := o.of(e)
		if err != nil {
			return err
		}
		if caller == nil {
			return admitPeople(e)
		}
		if err := member.PermitKey(caller, ""); err != nil {
			return err
		}
		if err := limits.Spend(e, caller, 1); err != nil {
			return err
		}
		if e.Request.PathValue("id") != caller.TenantID {
			return errNoRecord
		}
		name, err := sqlite.Value[string](sqlite.Direct(e.App.ConcurrentDB()),
			"SELECT `name` FROM `api_keys` WHERE `id` = ?", caller.KeyID)
		if err != nil {
			return fmt.Errorf("reading the name of a key: %w", err)
		}
		e.App = audit.As(e.App, audit.Actor{Kind: audit.Key, ID: caller.KeyID, Name: name})
		e.Set(callerKey, caller)
		return e.Next()
	}
	return people
}

// readLinkOptions reads the body. It refuses unknown properties: a link that ignored a limit would allow more than
// its creator meant.
func readLinkOptions(e *core.RequestEvent) (options member.LinkOptions, _ error) {
	var properties map[string]json.RawMessage
	if err := readAdmin(e, &properties); err != nil {
		return options, err
	}
	for name := range properties {
		if name != "role" && name != "name" && name != "expiresIn" {
			return options, fault.InvalidField(name, fault.CodeUnknownField, "is not a property of this request")
		}
	}
	var input linkRequest
	if err := readAdmin(e, &input); err != nil {
		return options, err
	}
	options = member.LinkOptions{
		Role: cmp.Or(input.Role, member.RoleViewer), Name: input.Name, Duration: member.DefaultLinkDuration,
	}
	if options.Role != member.RoleViewer && options.Role != member.RoleAdmin {
		return options, fault.InvalidField("role", fault.CodeInvalidValue, "must be viewer or admin")
	}
	if utf8.RuneCountInString(options.Name) > maxLinkName {
		return options, fault.InvalidField("name", fault.CodeTooLong, "must have at most 255 characters")
	}
	if input.ExpiresIn != nil {
		if seconds := *input.ExpiresIn; seconds < int(member.MinLinkDuration.Seconds()) ||
			seconds > int(member.MaxLinkDuration.Seconds()) {
			return options, fault.InvalidField("expiresIn", fault.CodeInvalidValue, "must be between 300 and 86400 seconds")
		}
		options.Duration = time.Duration(*input.ExpiresIn) * time.Second
	}
	return options, nil
}
