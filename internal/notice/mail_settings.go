package notice

import "strings"

// exampleSender is PocketBase's default sender address, in a domain that receives and sends no mail.
const exampleSender = "support@example.com"

// MailSettings are the settings of mails, in the form in which PocketBase stores them.
type MailSettings struct {
	Meta struct {
		SenderAddress string `json:"senderAddress"`
	} `json:"meta"`
	SMTP struct {
		Enabled   bool   `json:"enabled"`
		LocalName string `json:"localName"`
	} `json:"smtp"`
}

// Warnings says for what mail servers will refuse mails, nothing if nothing is known.
func (s *MailSettings) Warnings() (warnings []string) {
	if strings.EqualFold(s.Meta.SenderAddress, exampleSender) {
		warnings = append(warnings, "The sender address of emails is still PocketBase's example, "+exampleSender+
			", which mail servers reject: change it in Settings → Mail settings.")
	}
	if s.SMTP.Enabled && (s.SMTP.LocalName == "" || strings.EqualFold(s.SMTP.LocalName, "localhost")) {
		warnings = append(warnings, "The program introduces itself to the mail server as localhost, which many reject: "+
			"enter its host name as EHLO/HELO domain in Settings → Mail settings.")
	}
	return warnings
}
