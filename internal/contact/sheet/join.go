package sheet

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"contactbase/internal/tempfile"
)

// JoinCards returns the vCards of several files as one temporary file in the folder, in UTF-8. encoding is that of all
// files, "" to find out that of each, also by the country that they come from. The error names the file. The caller
// closes what it returns.
func JoinCards(ctx context.Context, names []string, folder, encoding, country string) (io.ReadCloser, error) {
	joined, err := tempfile.New(folder)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := appendCards(ctx, joined, name, folder, Choice{Encoding: encoding, Country: country}); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", name, err), joined.Close())
		}
	}
	if _, err := joined.Seek(0, io.SeekStart); err != nil {
		return nil, errors.Join(err, joined.Close())
	}
	return joined, nil
}

func appendCards(ctx context.Context, to io.Writer, name, folder string, choice Choice) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	from, err := newSource(ctx, file, folder)
	if err != nil {
		return err
	}
	r := &Reader{from: from}
	defer func() { _ = r.Close() }()
	head, err := bufio.NewReaderSize(from, firstLine).Peek(firstLine)
	if err = ignoreEOF(err); err != nil {
		return err
	}
	if !isVCard(head) {
		return errors.New("it has no vCards: import several files one by one")
	}
	if err := r.findEncoding(head, choice); err != nil {
		return err
	}
	if len(r.Undecided) > 0 {
		return fmt.Errorf("its encoding is not certain: import it by itself, or choose one such as --encoding %s",
			r.Undecided[0].Encoding)
	}
	text, err := r.text()
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, text); err != nil {
		return err
	}
	_, err = io.WriteString(to, "\n")
	return err
}
