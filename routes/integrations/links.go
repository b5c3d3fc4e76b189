package integrations

import (
	"cmp"
	"context"
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/fault"
	"contactbase/internal/member"
	"contactbase/internal/stamp"
	"contactbase/routes/envelope"
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
