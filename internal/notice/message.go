package notice

import (
	"embed"
	"fmt"
	htmltemplate "html/template"
	"net/mail"
	"net/url"
	"strings"
	"text/template"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/mailer"

	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/member"
)

//go:embed mail.html mail.txt
var sources embed.FS

var (
	html = htmltemplate.Must(htmltemplate.ParseFS(sources, "mail.html"))
	text = template.Must(template.ParseFS(sources, "mail.txt"))
)

// content is what the templates show.
type content struct {
	Program string // name of the installation
	Tenant  string // "" for the operator
	Link    string // to the page where the recipient can act
	Items   []item
	More    int // notices that are not listed
}

// item is a notice in a mail.
type item struct{ Title, Detail, Time string }

const (
	maxItems = 50
	timeForm = "2 January 2006, 15:04 UTC"
)

// write returns the message of a mail. Its id is stable, so that mail clients recognize a repetition.
func write(settings *core.Settings, id, address, tenantName string, lines []line) (*mailer.Message, error) {
	meta := settings.Meta
	c := content{
		Program: member.MailName(meta.AppName), Tenant: member.MailName(tenantName),
		Link: strings.TrimSuffix(meta.AppURL, "/") + "/portal/",
	}
	if tenantName == "" {
		c.Link = strings.TrimSuffix(meta.AppURL, "/") + "/_/"
	}
	for _, l := range lines[:min(len(lines), maxItems)] {
		title, detail := describe(l)
		c.Items = append(c.Items, item{title, detail, l.Created.UTC().Format(timeForm)})
	}
	c.More = len(lines) - len(c.Items)
	subject := c.Items[0].Title
	if len(lines) > 1 {
		subject = fmt.Sprintf("%s, and %d more", subject, len(lines)-1)
	}
	var htmlBody, textBody strings.Builder
	if err := html.Execute(&htmlBody, c); err != nil {
		return nil, fmt.Errorf("writing a mail: %w", err)
	}
	if err := text.Execute(&textBody, c); err != nil {
		return nil, fmt.Errorf("writing a mail: %w", err)
	}
	_, domain, _ := strings.Cut(meta.SenderAddress, "@")
	return &mailer.Message{
		From:    mail.Address{Name: meta.SenderName, Address: meta.SenderAddress},
		To:      []mail.Address{{Address: address}},
		Subject: "[" + c.Program + "] " + subject,
		HTML:    htmlBody.String(),
		Text:    textBody.String(),
		Headers: map[string]string{"Message-ID": "<notice." + id + "@" + domain + ">", "Auto-Submitted": "auto-generated"},
	}, nil
}

// describe returns the title of a notice, and what the recipient can do.
func describe(l line) (title, detail string) {
	d := l.Data
	switch l.Kind {
	case event.WebhookFailing:
		return d.Webhook.title() + " is failing", fmt.Sprintf(
			"No attempt has succeeded for an hour. Check the endpoint: "+
				"the server keeps trying, and disables a webhook that fails for %d days.",
			delivery.DefaultPolicy().DeadDays())
	case event.WebhookRecovered:
		return d.Webhook.title() + " works again", "No action is needed: the server delivers the pending events."
	case event.WebhookDisabled:
		return d.Webhook.title() + " was disabled", d.Reason +
			" It receives no events until you enable it. Then recover the events that it missed."
	case event.KeyExpiring:
		expires := d.Expires
		if at, err := time.Parse(time.RFC3339, expires); err == nil {
			expires = at.UTC().Format(timeForm)
		}
		return fmt.Sprintf("API key %s (%s…) expires soon", member.MailName(d.Key.Name), d.Key.Prefix),
			"It expires on " + expires + ". Rotate it before then, and choose when the new key expires."
	case ReplicaBehind:
		return "The replica needs attention", d.Reason
	case BackupFailed:
		return "A backup failed", d.Reason
	case DiskLow:
		return "The disk is filling up", d.Reason
	}
	return string(l.Kind), d.Reason
}

// title names a webhook by its name and host. The rest of its URL may be secret.
func (w *Webhook) title() string {
	where := ""
	if parsed, err := url.Parse(w.URL); err == nil {
		where = parsed.Host
	}
	switch {
	case w.Name == "":
		return "Webhook to " + member.MailName(where)
	case where == "":
		return "Webhook " + member.MailName(w.Name)
	}
	return "Webhook " + member.MailName(w.Name) + " to " + member.MailName(where)
}
