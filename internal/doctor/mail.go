package doctor

import (
	"encoding/json"
	"strings"

	"github.com/pocketbase/pocketbase/tools/security"

	"contactbase/internal/notice"
	"contactbase/internal/sqlite"
)

// mail looks for settings with which mail servers refuse mails: otherwise this is noticed only when a notice is lost.
func (x *examination) mail() error {
	stored, err := sqlite.Value[string](x.data, "SELECT coalesce((SELECT value FROM _params WHERE id = 'settings'), '')")
	if err != nil {
		return err
	}
	var settings notice.MailSettings
	if json.Unmarshal([]byte(stored), &settings) != nil {
		decrypted, err := security.Decrypt(stored, x.key)
		if err == nil {
			err = json.Unmarshal(decrypted, &settings)
		}
		if err != nil {
			x.add("mail", OK, "the settings are encrypted, and not checked without the key of --encryptionEnv", "")
			return nil //nolint:nilerr // doctor works without the key
		}
	}
	for _, warning := range settings.Warnings() {
		found, advice, _ := strings.Cut(strings.TrimSuffix(warning, "."), ": ")
		x.add("mail", Warning, found, advice)
	}
	if len(settings.Warnings()) == 0 {
		x.add("mail", OK, "mails have a sender", "")
	}
	return nil
}
