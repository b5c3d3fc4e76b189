// Package store keeps the objects of a replica: in a folder, or in a bucket of any service that speaks S3.
package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"
	"time"
)

// ErrChanged means that an object is not the one that was to be replaced.
var ErrChanged = errors.New("somebody else has changed the object")

// Object is what a store tells of an object.
type Object struct {
	Name     string // with slashes
	Size     int64
	Modified time.Time
}

// Store keeps objects by their names. What does not exist is fs.ErrNotExist.
type Store interface {
	// Put writes an object, all of it or nothing, and returns its size.
	Put(ctx context.Context, name string, content io.Reader) (size int64, err error)
	// Get reads an object from an offset on: so many bytes, or with 0 all there are.
	Get(ctx context.Context, name string, offset, size int64) (io.ReadCloser, error)
	// List returns the objects in a folder, without its folders, in the order of their names.
	List(ctx context.Context, folder string) ([]Object, error)
	// Folders returns the names of the folders in a folder, "" for the uppermost.
	Folders(ctx context.Context, folder string) ([]string, error)
	// Delete deletes objects; those that are not there are none of its business.
	Delete(ctx context.Context, names []string) error
	// DeleteFolder deletes all that is in a folder and below it.
	DeleteFolder(ctx context.Context, folder string) error

	// Read returns a small object and the tag of its content.
	Read(ctx context.Context, name string) (content []byte, tag string, err error)
	// Swap replaces the small object that has the tag, "" for none, and returns the tag of what it wrote. Where another one is
	// there it is ErrChanged.
	Swap(ctx context.Context, name string, content []byte, tag string) (newTag string, err error)
}

// Credentials open a bucket.
type Credentials struct{ Key, Secret, Token string }

// CredentialsFrom reads the variables that all programs for S3 read.
func CredentialsFrom(environment func(string) string) Credentials {
	return Credentials{environment("AWS_ACCESS_KEY_ID"), environment("AWS_SECRET_ACCESS_KEY"), environment("AWS_SESSION_TOKEN")}
}

// IsShared tells whether several machines can agree on who serves by what is at the address.
func IsShared(address string) bool { return strings.HasPrefix(address, "s3://") }

// Open returns the store at an address: file:///a/folder, or s3://bucket/folder with the parameters endpoint, which is the
// address of a service other than Amazon's, and region, which is us-east-1 where it is not given. It connects to nothing.
func Open(address string, credentials Credentials) (Store, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("it is no URL")
	}
	if parsed.User != nil {
		return nil, errors.New("credentials belong in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, not in the URL")
	}
	switch parsed.Scheme {
	case "file":
		if path := filepath.FromSlash(parsed.Path); parsed.Host == "" && filepath.IsAbs(path) {
			return folder(filepath.Clean(path)), nil
		}
		return nil, errors.New("file:// is followed by an absolute path, as in file:///mnt/replica")
	case "s3":
		return newBucket(parsed, credentials)
	default:
		return nil, fmt.Errorf("it begins with neither s3:// nor file://")
	}
}
