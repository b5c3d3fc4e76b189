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

// acceptInvitation sets the password that an invited member has chosen. What fails counts as a failed authentication of
// the client's address: each attempt with a valid token hashes a password, which takes a while.
func (s *server) acceptInvitation(e *core.RequestEvent) error {
	var token, password string
	_, object, err := envelope.ReadJSON(e, maxAcceptBody)
	if err != nil {
		return err
	}
	faults := envelope.ReadProperties(object,
		envelope.Property{Name: "token", Required: true, Rule: "must be a string", Read: envelope.As(&token)},
		envelope.Property{Name: "password", Required: true, Rule: "must be a string", Read: envelope.As(&password)})
	if len(faults) > 0 {
		return fault.InvalidRequest(faults)
	}
	if err := s.Limits.MayTry(e); err != nil {
		return err
	}
	if err := accept(e.App, token, password); err != nil {
		if limited := s.Limits.Refuse(e); limited != nil {
			return limited
		}
		return err
	}
	return e.NoContent(http.StatusNoContent)
}

func accept(app core.App, token, password string) error {
	now := time.Now()
	invited, err := member.FindInvited(app, token, now)
	if err != nil {
		return err
	}
	return member.Accept(audit.As(app, audit.ActorOf(invited)), invited, password, now)
}
