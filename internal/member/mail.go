package member

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	htmltemplate "html/template"
	"net/mail"
	"strings"
	"text/template"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/mails/templates"
	"github.com/pocketbase/pocketbase/tools/mailer"
)

var (
	//go:embed invitation.html
	htmlSource string
	//go:embed invitation.txt
	textSource string

	layout   = htmltemplate.Must(htmltemplate.New("invitation").Parse(templates.Layout))
	htmlMail = htmltemplate.Must(layout.Parse(htmlSource))
	textMail = template.Must(template.New("invitation").Parse(textSource))
)

const (
	// mailTimeout is how long an invitation waits for the mail server. PocketBase's mailer has no deadline.
	mailTimeout = 15 * time.Second
	// maxMails is how many invitations may wait for a mail server that does not answer.
	maxMails = 3
)

var errMailTimeout = errors.New("the mail server did not respond in time")

// Mailer sends invitations.
type Mailer struct{ sending chan struct{} }

// NewMailer returns a mailer.
func NewMailer() *Mailer { return &Mailer{make(chan struct{}, maxMails)} }

// Send mails an invitation to its member. It returns an error if the mail server refuses it or takes too long.
func (m *Mailer) Send(ctx context.Context, app core.App, invitation *Invitation) error {
	message, err := invitation.message(app.Settings())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, mailTimeout)
	defer cancel()
	select {
	case m.sending <- struct{}{}:
	case <-ctx.Done():
		return errMailTimeout
	}
	result := make(chan error, 1)
	go func() {
		defer func() { <-m.sending }()
		result <- app.NewMailClient().Send(message)
	}()
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return errMailTimeout
	}
}

// maxMailName is how many characters of a name a mail shows.
const maxMailName = 100

func (i *Invitation) message(settings *core.Settings) (*mailer.Message, error) {
	meta := settings.Meta
	content := struct{ Tenant, Program, Email, Link, Expires string }{
		MailName(i.Tenant), MailName(meta.AppName), i.Email, i.URL, i.Expires.UTC().Format("2 January 2006, 15:04 UTC"),
	}
	var html, text strings.Builder
	if err := htmlMail.Execute(&html, content); err != nil {
		return nil, fmt.Errorf("writing an invitation: %w", err)
	}
	if err := textMail.Execute(&text, content); err != nil {
		return nil, fmt.Errorf("writing an invitation: %w", err)
	}
	return &mailer.Message{
		From:    mail.Address{Name: meta.SenderName, Address: meta.SenderAddress},
		To:      []mail.Address{{Address: i.Email}},
		Subject: "[" + content.Program + "] Your invitation to the portal of " + content.Tenant,
		HTML:    html.String(),
		Text:    text.String(),
	}, nil
}

// MailName returns a name as mails show it: in one line, of limited length.
func MailName(name string) string {
	runes := []rune(strings.Join(strings.Fields(name), " "))
	if len(runes) > maxMailName {
		return string(runes[:maxMailName-1]) + "…"
	}
	return string(runes)
}
