package store

import (
	"context"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"
)

// page is a page of a listing. The name of the element is required, because any other document would decode
// as an empty list.
type page struct {
	XMLName               xml.Name `xml:"ListBucketResult"`
	IsTruncated           bool
	NextContinuationToken string
	Contents              []struct {
		Key          string
		Size         int64
		LastModified time.Time
	}
	CommonPrefixes []struct{ Prefix string }
}

// pages calls take with each page of a folder. With a delimiter, pages have folders instead of the objects in them.
func (b *bucket) pages(ctx context.Context, folder, delimiter string, take func(page) error) error {
	prefix := b.key(folder)
	if prefix != "" {
		prefix += "/"
	}
	query := url.Values{"list-type": {"2"}, "prefix": {prefix}}
	if delimiter != "" {
		query.Set("delimiter", delimiter)
	}
	for {
		body, _, err := b.do(ctx, request{method: http.MethodGet, query: query})
		if err != nil {
			return err
		}
		var listed page
		if err := xml.Unmarshal(body, &listed); err != nil {
			return fmt.Errorf("the store's listing of %s cannot be read: %w", prefix, err)
		}
		if err := take(listed); err != nil {
			return err
		}
		if !listed.IsTruncated {
			return nil
		}
		if listed.NextContinuationToken == "" {
			return fmt.Errorf("the store's listing of %s is truncated and has no continuation token", prefix)
		}
		query.Set("continuation-token", listed.NextContinuationToken)
	}
}

// name returns the name of the object that has a key.
func (b *bucket) name(key string) string {
	return strings.TrimPrefix(strings.TrimPrefix(key, b.folder), "/")
}

func (b *bucket) List(ctx context.Context, folder string) (objects []Object, err error) {
	err = b.pages(ctx, folder, "/", func(listed page) error {
		for _, found := range listed.Contents {
			objects = append(objects, Object{b.name(found.Key), found.Size, found.LastModified})
		}
		return nil
	})
	return objects, err
}

func (b *bucket) Folders(ctx context.Context, folder string) (names []string, err error) {
	err = b.pages(ctx, folder, "/", func(listed page) error {
		for _, found := range listed.CommonPrefixes {
			names = append(names, path.Base(found.Prefix))
		}
		return nil
	})
	return names, err
}

func (b *bucket) DeleteFolder(ctx context.Context, folder string) error {
	return b.pages(ctx, folder, "", func(listed page) error {
		var names []string
		for _, found := range listed.Contents {
			names = append(names, b.name(found.Key))
		}
		return b.Delete(ctx, names)
	})
}
