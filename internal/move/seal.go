package move

import (
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/chacha20poly1305"
)

// MinPassphrase is the fewest characters that a passphrase for a new archive has.
const MinPassphrase = 12

// ErrPassphrase means that the passphrase is not the one with which the archive was written, or that somebody has changed its manifest.
var ErrPassphrase = errors.New("the passphrase does not open this archive")

// Argon2id as RFC 9106 recommends it where memory is scarce (section 4).
const (
	saltSize    = 16
	keyPasses   = 3
	keyMemory   = 64 << 10 // KiB
	keyParallel = 4
)

// sealer encrypts with a key that is derived from a passphrase.
type sealer struct{ aead cipher.AEAD }

func newSalt() []byte {
	salt := make([]byte, saltSize)
	_, _ = rand.Read(salt) // never fails, it crashes the program instead
	return salt
}

func newSealer(passphrase string, salt []byte) (*sealer, error) {
	aead, err := chacha20poly1305.NewX(argon2.IDKey([]byte(passphrase), salt, keyPasses, keyMemory, keyParallel, chacha20poly1305.KeySize))
	if err != nil {
		return nil, fmt.Errorf("making the key of an archive: %w", err)
	}
	return &sealer{aead}, nil
}

// seal encrypts a text, which opens only for what it is about.
func (s *sealer) seal(plain string, about []byte) string {
	nonce := make([]byte, s.aead.NonceSize(), s.aead.NonceSize()+len(plain)+s.aead.Overhead())
	_, _ = rand.Read(nonce)
	return base64.StdEncoding.EncodeToString(s.aead.Seal(nonce, nonce, []byte(plain), about))
}

// open decrypts what seal has made. The error is ErrPassphrase.
func (s *sealer) open(sealed string, about []byte) (string, error) {
	raw, err := base64.StdEncoding.DecodeString(sealed)
	if err != nil || len(raw) < s.aead.NonceSize() {
		return "", ErrPassphrase
	}
	size := s.aead.NonceSize()
	plain, err := s.aead.Open(nil, raw[:size], raw[size:], about)
	if err != nil {
		return "", ErrPassphrase
	}
	return string(plain), nil
}

// about tells apart what is sealed, so that no secret can be put in the place of another.
func about(table, row, column string) []byte { return []byte(table + "\x00" + row + "\x00" + column) }
