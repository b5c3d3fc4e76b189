package move

import (
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"

	"filippo.io/age"
)

// MinPassphrase is the minimum length of a new archive's passphrase, in characters.
const MinPassphrase = 12

// WorkFactor is scrypt's work factor for new archives, and the largest that an import accepts: 256 MiB of memory
// and about a second.
const WorkFactor = 18

// ErrPassphrase means that the passphrase is wrong or the archive was changed.
var ErrPassphrase = errors.New("the passphrase does not open this archive: it is wrong, or the archive was changed")

// seal writes the archive of a database: compressed with gzip, then encrypted and authenticated by age with a key
// that scrypt derives from the passphrase. It returns the archive's SHA-256.
func seal(
	ctx context.Context, to io.Writer, database io.Reader, passphrase string, workFactor int,
) (checksum string, err error) {
	recipient, err := age.NewScryptRecipient(passphrase)
	if err != nil {
		return "", err
	}
	recipient.SetWorkFactor(workFactor)
	sum := sha256.New()
	encrypted, err := age.Encrypt(io.MultiWriter(to, sum), recipient)
	if err != nil {
		return "", err
	}
	compressed, err := gzip.NewWriterLevel(encrypted, gzip.BestSpeed)
	if err != nil {
		return "", err
	}
	if _, err = io.Copy(&limited{ctx, compressed, math.MaxInt64}, database); err == nil {
		err = errors.Join(compressed.Close(), encrypted.Close())
	}
	return hex.EncodeToString(sum.Sum(nil)), err
}

// unseal writes the database of an archive, at most room bytes, and returns the archive's SHA-256. Do not use the
// output if it returns an error: the archive may be truncated or extended.
func unseal(
	ctx context.Context, to io.Writer, archive io.Reader, passphrase string, room int64,
) (checksum string, err error) {
	identity, err := age.NewScryptIdentity(passphrase)
	if err != nil {
		return "", err
	}
	identity.SetMaxWorkFactor(WorkFactor)
	sum := sha256.New()
	decrypted, err := age.Decrypt(io.TeeReader(archive, sum), identity)
	var other *age.NoIdentityMatchError
	if errors.As(err, &other) {
		return "", ErrPassphrase
	}
	if err != nil {
		return "", fmt.Errorf("the file is not a tenant archive, or it is damaged: %w", err)
	}
	if err := decompress(&limited{ctx, to, room}, decrypted); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// decompress writes the content of one gzip stream, and returns an error if anything follows it.
func decompress(to *limited, from io.Reader) error {
	buffered := bufio.NewReaderSize(from, 64<<10) // gzip then reads no byte beyond its stream
	compressed, err := gzip.NewReader(buffered)
	if err != nil {
		return fmt.Errorf("the archive is damaged: %w", err)
	}
	compressed.Multistream(false)
	if _, err := io.Copy(to, compressed); errors.Is(err, errWriting) {
		return err
	} else if err != nil {
		return fmt.Errorf("the archive is damaged: %w", err)
	}
	if _, err := buffered.ReadByte(); errors.Is(err, io.EOF) {
		return nil
	} else if err != nil {
		return fmt.Errorf("the archive is damaged: %w", err)
	}
	return errors.New("the archive is damaged: unexpected data after its end")
}

// errWriting means that writing the output of a copy failed.
var errWriting = errors.New("writing the database of the archive")

// limited is a writer that accepts up to room bytes until ctx ends.
type limited struct {
	ctx  context.Context // nolint:containedctx // it lives for one copy
	to   io.Writer
	room int64
}

func (l *limited) Write(p []byte) (int, error) {
	if err := l.ctx.Err(); err != nil {
		return 0, errors.Join(errWriting, err)
	}
	if int64(len(p)) > l.room {
		return 0, fmt.Errorf("%w: not enough disk space for the data directory: free some space and try again", errWriting)
	}
	n, err := l.to.Write(p)
	l.room -= int64(n)
	if err != nil {
		err = fmt.Errorf("%w: %w", errWriting, err)
	}
	return n, err
}
