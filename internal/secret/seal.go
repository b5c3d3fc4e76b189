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
	sealedPrefix = "enc:"   // what follows is of security.Encrypt
	plainPrefix  = "plain:" // what follows is a secret that begins like one of the prefixes

	// minSealed is the length of an encrypted empty string: a GCM nonce and tag of 28 bytes in base64.
	minSealed = 40
)

// Seal returns the secret as the database keeps it: encrypted with AES-256-GCM where the app has an encryption key,
// otherwise in clear, because signing needs it back.
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

// IsSealed reports whether the secret is kept encrypted.
func IsSealed(stored string) bool { return strings.HasPrefix(stored, sealedPrefix) }

// Open is the inverse of Seal. A secret from before there was a key is still in clear, and opens too.
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
		return "", errors.New("decrypting a secret: it was cut off")
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
