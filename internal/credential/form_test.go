package credential_test

import (
	"strings"
	"testing"

	"contactbase/internal/credential"
)

// The form of keys is public: secret scanners compute the CRC-32 of the first 34 characters, as six base62
// characters, themselves.
func TestForm(t *testing.T) {
	t.Parallel()
	const key = "cmk_0123456789ABCDEFGHIJabcdefghij4EPR7Y"
	if !credential.WellFormed(credential.KeyPrefix, key) {
		t.Errorf("%s is rejected", key)
	}
	for i := range key {
		other := "0"
		if key[i] == '0' {
			other = "1"
		}
		if mistyped := key[:i] + other + key[i+1:]; credential.WellFormed(credential.KeyPrefix, mistyped) {
			t.Errorf("%s is accepted", mistyped)
		}
	}
	for _, malformed := range []string{"", "cmk_", key + "0", key[:len(key)-1], strings.Replace(key, "cmk_", "cmi_", 1)} {
		if credential.WellFormed(credential.KeyPrefix, malformed) {
			t.Errorf("%q is accepted", malformed)
		}
	}
	minted := credential.Mint(credential.TokenPrefix)
	if len(minted) != 40 || !credential.WellFormed(credential.TokenPrefix, minted) || credential.WellFormed(credential.KeyPrefix, minted) || minted == credential.Mint(credential.TokenPrefix) {
		t.Errorf("a minted token is %s", minted)
	}
	if credential.Shown(minted) != minted[:12] || credential.Shown("short") != "short" {
		t.Errorf("%s and short are shown as %s and %s", minted, credential.Shown(minted), credential.Shown("short"))
	}
}
