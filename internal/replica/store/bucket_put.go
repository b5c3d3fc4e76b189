package store

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
)

// partSize is the size of the parts of a large object, in bytes. One part is in memory at a time. S3 accepts
// 10,000 parts: 160 GB.
const partSize = 16 << 20

// Put implements Store. It sends a large object in parts.
func (b *bucket) Put(ctx context.Context, name string, content io.Reader) (size int64, err error) {
	first, more, err := nextPart(content)
	if err != nil {
		return 0, err
	}
	key := b.key(name)
	if !more {
		_, err := b.putObject(ctx, request{key: key, body: first})
		return int64(len(first)), err
	}
	body, _, err := b.do(ctx, request{method: http.MethodPost, key: key, query: url.Values{"uploads": {""}}})
	if err != nil {
		return 0, err
	}
	var upload struct{ UploadId string } //nolint:revive // the name in S3
	if err := xml.Unmarshal(body, &upload); err != nil {
		return 0, fmt.Errorf("the store's response to the beginning of an upload cannot be read: %w", err)
	}
	size, err = b.putParts(ctx, key, upload.UploadId, first, content)
	if err != nil {
		abort := request{method: http.MethodDelete, key: key, query: url.Values{"uploadId": {upload.UploadId}}}
		_, _, abortErr := b.do(context.WithoutCancel(ctx), abort)
		return 0, errors.Join(err, abortErr)
	}
	return size, nil
}

// putObject sends an object or a part of one, and returns its entity tag. S3 always sends a tag, so a success without
// one comes from something else, such as a proxy.
func (b *bucket) putObject(ctx context.Context, r request) (tag string, err error) {
	r.method = http.MethodPut
	_, header, err := b.do(ctx, r)
	if err != nil {
		return "", err
	}
	if tag = header.Get("ETag"); tag == "" {
		return "", fmt.Errorf("the store responds to PUT %s without an entity tag", r.key)
	}
	return tag, nil
}

func (b *bucket) putParts(
	ctx context.Context, key, upload string, part []byte, rest io.Reader,
) (size int64, err error) {
	type sent struct {
		PartNumber int
		ETag       string
	}
	complete := struct {
		XMLName xml.Name `xml:"CompleteMultipartUpload"`
		Part    []sent
	}{}
	for more := true; len(part) > 0; {
		number := len(complete.Part) + 1
		query := url.Values{"partNumber": {strconv.Itoa(number)}, "uploadId": {upload}}
		tag, err := b.putObject(ctx, request{key: key, query: query, body: part})
		if err != nil {
			return 0, err
		}
		complete.Part = append(complete.Part, sent{number, tag})
		size += int64(len(part))
		if !more {
			break
		}
		if part, more, err = nextPart(rest); err != nil {
			return 0, err
		}
	}
	body, err := xml.Marshal(complete)
	if err != nil {
		return 0, err
	}
	response, _, err := b.do(ctx,
		request{method: http.MethodPost, key: key, query: url.Values{"uploadId": {upload}}, body: body})
	if err != nil {
		return 0, err
	}
	var completed struct { // S3 may send the status 200 before it fails
		XMLName xml.Name
		Code    string
	}
	if err := xml.Unmarshal(response, &completed); err != nil ||
		completed.XMLName.Local != "CompleteMultipartUploadResult" {
		return 0, fmt.Errorf("the store did not complete the upload of %s: %s", key, completed.Code)
	}
	return size, nil
}

// nextPart reads a part, and reports whether another one may follow.
func nextPart(content io.Reader) (part []byte, more bool, err error) {
	part, err = io.ReadAll(io.LimitReader(content, partSize))
	return part, len(part) == partSize, err
}
