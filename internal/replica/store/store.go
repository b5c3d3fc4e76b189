// Package store stores the objects of a replica, in a directory or in a bucket of any S3-compatible service.
package store

import (
	"context"
	"errors"
	"io"
	"net/url"
	"path/filepath"
	"strings"
	"time"
)

// ErrChanged means that an object does not have the tag that the caller expected.
var ErrChanged = errors.New("another machine has changed the object")

// Object describes an object in a store.
type Object struct {
	Name     string // with slashes
	Size     int64
	Modified time.Time
}

// Store stores objects by name. The error for an object that does not exist is fs.ErrNotExist.
type Store interface {
	// Put writes an object atomically, and returns its size.
	Put(ctx context.Context, name string, content io.Reader) (size int64, err error)
	// Get reads size bytes of an object from an offset, or all of the rest if size is 0.
	Get(ctx context.Context, name string, offset, size int64) (io.ReadCloser, error)
	// List returns the objects directly in a folder, ordered by name.
	List(ctx context.Context, folder string) ([]Object, error)
	// Folders returns the names of the folders in a folder; "" is the root.
	Folders(ctx context.Context, folder string) ([]string, error)
	// Delete deletes objects, and ignores those that do not exist.
	Delete(ctx context.Context, names []string) error
	// DeleteFolder deletes a folder with everything below it.
	DeleteFolder(ctx context.Context, folder string) error

	// Read returns a small object and the tag of its content.
	Read(ctx context.Context, name string) (content []byte, tag string, err error)
	// Swap replaces the small object that has the tag, or creates it if the tag is "", and returns the new tag. The
	// error is ErrChanged if the object has another tag.
	Swap(ctx context.Context, name string, content []byte, tag string) (newTag string, err error)
}

// Credentials give access to a bucket.
type Credentials struct{ Key, Secret, Token string }

// CredentialsFrom reads the environment variables that are common for S3.
func CredentialsFrom(environment func(string) string) Credentials {
	return Credentials{
		environment("AWS_ACCESS_KEY_ID"), environment("AWS_SECRET_ACCESS_KEY"), environment("AWS_SESSION_TOKEN"),
	}
}

// IsShared reports whether several machines can coordinate over the store at the address.
func IsShared(address string) bool { return strings.HasPrefix(address, "s3://") }

// Open returns the store at an address: file:///a/folder, or s3://bucket/folder with the parameters endpoint, for
// services other than Amazon's, and region, by default us-east-1. It does not connect.
func Open(address string, credentials Credentials) (Store, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("it is not a valid URL")
	}
	if parsed.User != nil {
		return nil, errors.New("credentials belong in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, not in the URL")
	}
	switch parsed.Scheme {
	case "file":
		if path := filepath.FromSlash(parsed.Path); parsed.Host == "" && filepath.IsAbs(path) {
			return folder(filepath.Clean(path)), nil
		}
		return nil, errors.New("file:// must be followed by an absolute path, as in file:///mnt/replica")
	case "s3":
		return newBucket(parsed, credentials)
	default:
		return nil, errors.New("it must begin with s3:// or file://")
	}
}
