package secret

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/security"
)

const (
	sealedPrefix = "enc:"   // before the result of security.Encrypt
	plainPrefix  = "plain:" // before a secret that begins with one of the prefixes

	// minSealed is the length of an encrypted empty string: a GCM nonce and tag of 28 bytes in base64.
	minSealed = 40
)

// Seal returns the secret as it is stored: encrypted with AES-256-GCM if the app has an encryption key, and in
// plaintext otherwise. A hash is not enough, because signing needs the secret.
func Seal(app core.App, plain string) (string, error) {
	key := encryptionKey(app)
	if key == "" {
		if strings.HasPrefix(plain, sealedPrefix) || strings.HasPrefix(plain, plainPrefix) {
			return plainPrefix + plain, nil
		}
		return plain, nil
	}
	sealed, err := security.Encrypt([]byte(plain), key)
	if err != nil {
		return "", fmt.Errorf("encrypting a secret with the key in %s: %w", app.EncryptionEnv(), err)
	}
	return sealedPrefix + sealed, nil
}

// IsSealed reports whether a stored secret is encrypted.
func IsSealed(stored string) bool { return strings.HasPrefix(stored, sealedPrefix) }

// Open is the inverse of Seal. It also opens secrets that were stored in plaintext before the app had a key.
func Open(app core.App, stored string) (string, error) {
	if plain, ok := strings.CutPrefix(stored, plainPrefix); ok {
		return plain, nil
	}
	sealed, ok := strings.CutPrefix(stored, sealedPrefix)
	if !ok {
		return stored, nil
	}
	key := encryptionKey(app)
	if key == "" {
		return "", errors.New("a secret is encrypted, but the program has no encryption key")
	}
	if len(sealed) < minSealed {
		return "", errors.New("decrypting a secret: it is too short")
	}
	plain, err := security.Decrypt(sealed, key)
	if err != nil {
		return "", fmt.Errorf("decrypting a secret with the key in %s: %w", app.EncryptionEnv(), err)
	}
	return string(plain), nil
}

func encryptionKey(app core.App) string {
	if name := app.EncryptionEnv(); name != "" {
		return os.Getenv(name)
	}
	return ""
}
