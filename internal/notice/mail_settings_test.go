package notice_test

import (
	"strings"
	"testing"

	"contactbase/internal/notice"
)

func TestMailWarnings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sender, localName string
		smtp              bool
		want              string // in each warning, separated by |
	}{
		{"support@example.com", "", false, "sender address"},
		{"support@example.com", "", true, "sender address|localhost"},
		{"crm@example.org", "", false, ""},
		{"crm@example.org", "", true, "localhost"},
		{"crm@example.org", "localhost", true, "localhost"},
		{"crm@example.org", "crm.example.org", true, ""},
		{"Support@Example.com", "crm.example.org", true, "sender address"},
	} {
		var settings notice.MailSettings
		settings.Meta.SenderAddress, settings.SMTP.Enabled, settings.SMTP.LocalName = c.sender, c.smtp, c.localName
		got, want := settings.Warnings(), strings.FieldsFunc(c.want, func(r rune) bool { return r == '|' })
		if len(got) != len(want) {
			t.Errorf("%+v: %q", c, got)
			continue
		}
		for i := range want {
			if !strings.Contains(got[i], want[i]) {
				t.Errorf("%+v: %q", c, got)
			}
		}
	}
}
