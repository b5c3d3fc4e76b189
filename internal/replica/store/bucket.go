package store

import (
	"bytes"
	"cmp"
	"context"
	"crypto/md5" //nolint:gosec // S3 requires it
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

const (
	// requestTimeout limits a request, in addition to a second for each MiB that it sends.
	requestTimeout = 10 * time.Second
	// idleTimeout limits the time without data while an object is read.
	idleTimeout = 30 * time.Second
	// maxErrorBody limits how much of an error response is read, in bytes.
	maxErrorBody = 64 << 10
	// maxDeletions is how many objects S3 deletes in one request.
	maxDeletions = 1000
)

// bucket is a store in an S3 bucket.
type bucket struct {
	base        url.URL // of the bucket, without a slash at the end
	folder      string  // of the store in it, "" for all of it
	region      string
	credentials aws.Credentials
	signer      *v4.Signer
	client      *http.Client
}

func newBucket(address *url.URL, given Credentials) (*bucket, error) {
	if address.Host == "" {
		return nil, errors.New("s3:// must be followed by a bucket, as in s3://bucket/folder")
	}
	if given.Key == "" || given.Secret == "" {
		return nil, errors.New("s3:// requires the environment variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	}
	for name := range address.Query() {
		if name != "endpoint" && name != "region" {
			return nil, fmt.Errorf("s3:// has the parameters endpoint and region, but not %s", name)
		}
	}
	region := cmp.Or(address.Query().Get("region"), "us-east-1")
	base := url.URL{Scheme: "https", Host: address.Host + ".s3." + region + ".amazonaws.com"}
	if endpoint := address.Query().Get("endpoint"); endpoint != "" {
		parsed, err := url.Parse(endpoint)
		if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" {
			return nil, errors.New("endpoint must be a URL such as https://s3.example.com")
		}
		base = url.URL{
			Scheme: parsed.Scheme, Host: parsed.Host, Path: strings.TrimSuffix(parsed.Path, "/") + "/" + address.Host,
		}
	}
	return &bucket{
		base:        base,
		folder:      strings.Trim(address.Path, "/"),
		region:      region,
		credentials: aws.Credentials{AccessKeyID: given.Key, SecretAccessKey: given.Secret, SessionToken: given.Token},
		signer:      v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }),
		client: &http.Client{Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
			TLSHandshakeTimeout:   10 * time.Second,
			ResponseHeaderTimeout: 2 * idleTimeout,
			MaxIdleConnsPerHost:   64,
			IdleConnTimeout:       90 * time.Second,
			ForceAttemptHTTP2:     true,
		}},
	}, nil
}

// request is a request to S3.
type request struct {
	method string
	key    string // of the object, "" for the bucket
	query  url.Values
	header http.Header
	body   []byte
}

// send signs and sends a request. The caller closes the body of the response. A response other than a
// success is an error.
func (b *bucket) send(ctx context.Context, r request) (*http.Response, error) {
	address := b.base
	address.Path += "/" + r.key
	address.RawQuery = r.query.Encode()
	made, err := http.NewRequestWithContext(ctx, r.method, address.String(), bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	for name, values := range r.header {
		made.Header[name] = values
	}
	sum := sha256.Sum256(r.body)
	hash := hex.EncodeToString(sum[:])
	made.Header.Set("X-Amz-Content-Sha256", hash)
	if err := b.signer.SignHTTP(ctx, b.credentials, made, hash, "s3", b.region, time.Now()); err != nil {
		return nil, err
	}
	response, err := b.client.Do(made)
	if err != nil {
		return nil, fmt.Errorf("the store does not respond: %w", err)
	}
	if response.StatusCode < 300 {
		return response, nil
	}
	defer response.Body.Close()
	return nil, refusal(r, response)
}

// refusal returns the error of a failed request, without the parts of the credentials that stores repeat.
//
// An object is absent only if the store says so with the code NoSuchKey. A 404 by itself proves nothing:
// proxies, gateways and stores that are starting send it for objects that exist, and a listing of a bucket that
// exists is never 404.
func refusal(r request, response *http.Response) error {
	var failure struct{ Code, Message string }
	_ = xml.NewDecoder(io.LimitReader(response.Body, maxErrorBody)).Decode(&failure) // proxies send no XML, or a page
	err := fmt.Errorf("the store responds to %s %s with %d %s: %s",
		r.method, r.key, response.StatusCode, failure.Code, failure.Message)
	switch {
	case r.key != "" && response.StatusCode == http.StatusNotFound && failure.Code == "NoSuchKey":
		return errors.Join(fs.ErrNotExist, err)
	case response.StatusCode == http.StatusPreconditionFailed, response.StatusCode == http.StatusConflict:
		return errors.Join(ErrChanged, err)
	default:
		return err
	}
}

// do sends a request with a small response, and returns its body and header.
func (b *bucket) do(ctx context.Context, r request) ([]byte, http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout+time.Duration(len(r.body)>>20)*time.Second)
	defer cancel()
	response, err := b.send(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, nil, fmt.Errorf("the store's response is incomplete: %w", err)
	}
	return body, response.Header, nil
}

func (b *bucket) key(name string) string { return path.Join(b.folder, name) }

func (b *bucket) Get(ctx context.Context, name string, offset, size int64) (io.ReadCloser, error) {
	header := http.Header{}
	if offset > 0 || size > 0 {
		end := ""
		if size > 0 {
			end = strconv.FormatInt(offset+size-1, 10)
		}
		header.Set("Range", fmt.Sprintf("bytes=%d-%s", offset, end))
	}
	ctx, cancel := context.WithCancel(ctx)
	response, err := b.send(ctx, request{method: http.MethodGet, key: b.key(name), header: header})
	if err == nil && offset > 0 && response.StatusCode != http.StatusPartialContent {
		err = errors.Join(fmt.Errorf("the store ignores the range of a request for %s", name), response.Body.Close())
	}
	if err != nil {
		cancel()
		return nil, err
	}
	return &watched{ReadCloser: response.Body, cancel: cancel, silence: time.AfterFunc(idleTimeout, cancel)}, nil
}

// watched is a body that fails after idleTimeout without data.
type watched struct {
	io.ReadCloser
	cancel  context.CancelFunc
	silence *time.Timer
}

func (w *watched) Read(p []byte) (int, error) {
	w.silence.Reset(idleTimeout)
	return w.ReadCloser.Read(p)
}

func (w *watched) Close() error {
	w.silence.Stop()
	defer w.cancel()
	return w.ReadCloser.Close()
}

func (b *bucket) Delete(ctx context.Context, names []string) error {
	for len(names) > 0 {
		some := names[:min(maxDeletions, len(names))]
		names = names[len(some):]
		type object struct{ Key string }
		list := struct {
			XMLName xml.Name `xml:"Delete"`
			Quiet   bool
			Object  []object
		}{Quiet: true}
		for _, name := range some {
			list.Object = append(list.Object, object{b.key(name)})
		}
		body, err := xml.Marshal(list)
		if err != nil {
			return err
		}
		sum := md5.Sum(body) //nolint:gosec // S3 requires it
		header := http.Header{"Content-Md5": {base64.StdEncoding.EncodeToString(sum[:])}, "Content-Type": {"application/xml"}}
		response, _, err := b.do(ctx,
			request{method: http.MethodPost, query: url.Values{"delete": {""}}, header: header, body: body})
		if err != nil {
			return err
		}
		if err := undeleted(response); err != nil {
			return err
		}
	}
	return nil
}

// undeleted returns an error if the response, which has the status 200, says that S3 has not deleted an object.
func undeleted(response []byte) error {
	var failure struct {
		Error []struct{ Key, Code, Message string }
	}
	_ = xml.Unmarshal(response, &failure) // some stores send no body if all objects are deleted
	for _, object := range failure.Error {
		if object.Code != "NoSuchKey" {
			return fmt.Errorf("the store did not delete %s: %s: %s", object.Key, object.Code, object.Message)
		}
	}
	return nil
}

func (b *bucket) Read(ctx context.Context, name string) (content []byte, tag string, err error) {
	content, header, err := b.do(ctx, request{method: http.MethodGet, key: b.key(name)})
	return content, header.Get("ETag"), err
}

func (b *bucket) Swap(ctx context.Context, name string, content []byte, tag string) (newTag string, err error) {
	header := http.Header{"If-None-Match": {"*"}}
	if tag != "" {
		header = http.Header{"If-Match": {tag}}
	}
	header.Set("Content-Type", "application/json")
	return b.putObject(ctx, request{key: b.key(name), header: header, body: content})
}
