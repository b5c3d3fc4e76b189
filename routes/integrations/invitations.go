package integrations

import (
	"database/sql"
	"net/http"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/audit"
	"contactbase/internal/fault"
	"contactbase/internal/member"
	"contactbase/internal/stamp"
	"contactbase/routes/envelope"
)

// invitationResponse says whether an invitation was mailed. Without a mail server, it has the address to pass on.
type invitationResponse struct {
	Sent    bool   `json:"sent"`
	URL     string `json:"url,omitempty"`
	Expires string `json:"expires"`
}

func (s *server) inviteMember(e *core.RequestEvent) error {
	record, err := e.App.FindRecordById(member.CollectionName, e.Request.PathValue("id"))
	if err != nil {
		return err
	}
	if member.IsLink(record) {
		return sql.ErrNoRows
	}
	if err := s.Limits.Invite(e.Request.Context(), member.TenantOf(record)); err != nil {
		return err
	}
	mails := e.App.Settings().SMTP.Enabled
	invitation, err := member.Invite(e.App, record.Id, mails, time.Now())
	if err != nil {
		return err
	}
	response := invitationResponse{Expires: stamp.Shown(invitation.Expires)}
	if !mails {
		response.URL = invitation.URL
		return envelope.WriteData(e, response)
	}
	if err := s.mailer.Send(e.Request.Context(), e.App, invitation); err != nil {
		e.App.Logger().Error("cannot send an invitation", "member", record.Id, "error", err)
	} else {
		response.Sent = true
	}
	return envelope.WriteData(e, response)
}

// maxAcceptBody is the largest body with a token and a password, in bytes.
const maxAcceptBody = 4 << 10

// openInvitation says whom an invitation invites, without using it up.
func (s *server) openInvitation(e *core.RequestEvent) error {
	var token string
	var opened *member.Invitation
	err := s.tryToken(e, []envelope.Property{required("token", &token)}, func() error {
		invited, err := member.FindInvited(e.App, token, time.Now())
		if err != nil {
			return err
		}
		if err := s.Limits.Try(e.Request.Context(), invited, "invitation"); err != nil {
			return err
		}
		opened, err = member.Open(e.App, invited)
		return err
	})
	if err != nil {
		return err
	}
	return envelope.WriteData(e, openedInvitation{opened.Email, opened.Tenant, stamp.Shown(opened.Expires)})
}

// openedInvitation says whom an invitation invites, and to which tenant.
type openedInvitation struct {
	Email   string `json:"email"`
	Tenant  string `json:"tenant"`
	Expires string `json:"expires"`
}

// acceptInvitation sets the password that an invited member has chosen.
func (s *server) acceptInvitation(e *core.RequestEvent) error {
	var token, password string
	properties := []envelope.Property{required("token", &token), required("password", &password)}
	if err := s.tryToken(e, properties, func() error { return accept(e.App, token, password) }); err != nil {
		return err
	}
	return e.NoContent(http.StatusNoContent)
}

func required(name string, text *string) envelope.Property {
	return envelope.Property{Name: name, Required: true, Rule: "must be a string", Read: envelope.As(text)}
}

// tryToken reads a body with a token, and tries it. What fails counts as a failed authentication of the client's
// address: an attempt to accept with a valid token hashes a password, which takes a while.
func (s *server) tryToken(e *core.RequestEvent, properties []envelope.Property, try func() error) error {
	_, object, err := envelope.ReadJSON(e, maxAcceptBody)
	if err != nil {
		return err
	}
	if faults := envelope.ReadProperties(object, properties...); len(faults) > 0 {
		return fault.InvalidRequest(faults)
	}
	if err := s.Limits.MayTry(e); err != nil {
		return err
	}
	if err := try(); err != nil {
		if limited := s.Limits.Refuse(e); limited != nil {
			return limited
		}
		return err
	}
	return nil
}

func accept(app core.App, token, password string) error {
	now := time.Now()
	invited, err := member.FindInvited(app, token, now)
	if err != nil {
		return err
	}
	return member.Accept(audit.As(app, audit.ActorOf(invited)), invited, password, now)
}
