package listen

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// CursorFile stores a listener's cursor between runs, in the user's cache directory.
type CursorFile string

// FindCursorFile returns the file for an installation, key and receiver.
func FindCursorFile(installation, key, address string) (CursorFile, error) {
	folder, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding the cache directory: %w", err)
	}
	digest := sha256.Sum256([]byte(strings.Join([]string{installation, key, address}, "\n")))
	return CursorFile(filepath.Join(folder, "contactbase", "listen-"+hex.EncodeToString(digest[:8]))), nil
}

// Read returns the stored cursor, "" for none.
func (f CursorFile) Read() (cursor string, err error) {
	text, err := os.ReadFile(string(f))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("reading where the last run ended: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// Write stores the cursor. A run that is killed meanwhile leaves this cursor or the previous one.
func (f CursorFile) Write(cursor string) error {
	err := os.MkdirAll(filepath.Dir(string(f)), 0o700)
	if err == nil {
		err = os.WriteFile(string(f)+".new", []byte(cursor+"\n"), 0o600)
	}
	if err == nil {
		err = os.Rename(string(f)+".new", string(f))
	}
	if err != nil {
		return fmt.Errorf("storing the cursor of this run: %w", err)
	}
	return nil
}
