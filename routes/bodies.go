package routes

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"

	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"
	"github.com/pocketbase/pocketbase/tools/router"

	"contactbase/internal/fault"
	"contactbase/internal/order"
	"contactbase/routes/envelope"
)

// maxGuestBody is the largest body of guests outside our prefixes, in bytes. Superusers have PocketBase's limit.
const maxGuestBody = 64 << 10

// maxFormParts is how many parts of a form net/http accepts.
const maxFormParts = 1000

// boundBodies refuses large bodies before PocketBase decodes them, which takes up to fifty times their size in memory and comes before
// its rules. Routes below our prefixes have limits of their own.
func boundBodies() *hook.Handler[*core.RequestEvent] {
	return &hook.Handler[*core.RequestEvent]{
		Id:       "contactbaseBoundBodies",
		Priority: order.BodiesBounded,
		Func: func(e *core.RequestEvent) error {
			if limit := bodyLimit(e); limit > 0 && !takesFiles(e) {
				if err := measureBody(e.Request, limit); err != nil {
					return err
				}
			}
			return e.Next()
		},
	}
}

// boundForms does so for the fields of forms with files. PocketBase's limit, which comes before, bounds what it reads.
func boundForms() *hook.Handler[*core.RequestEvent] {
	return &hook.Handler[*core.RequestEvent]{
		Id:       "contactbaseBoundForms",
		Priority: order.FormsBounded,
		Func: func(e *core.RequestEvent) error {
			if limit := bodyLimit(e); limit > 0 && takesFiles(e) {
				if err := measureForm(e.Request, limit); err != nil {
					return err
				}
			}
			return e.Next()
		},
	}
}

// bodyLimit returns the limit of the request's body, in bytes; 0 for that of PocketBase or of our own routes.
func bodyLimit(e *core.RequestEvent) int64 {
	switch {
	case e.HasSuperuserAuth() || ours(e.Request.URL.Path):
		return 0
	case e.Auth == nil:
		return maxGuestBody
	default:
		return envelope.MaxUserBody
	}
}

// measureBody returns an error if the body is larger than limit. PocketBase lets handlers read it again.
func measureBody(r *http.Request, limit int64) error {
	if r.ContentLength >= 0 && r.ContentLength <= limit { // net/http reads no more than that
		return nil
	}
	if r.ContentLength < 0 {
		read, err := io.Copy(io.Discard, io.LimitReader(r.Body, limit+1))
		if err != nil {
			return unreadableBody(err)
		}
		if read <= limit {
			return nil
		}
	}
	discardBody(r)
	return fault.New(fault.PayloadTooLarge, fmt.Sprintf("The request body must have at most %d bytes.", limit))
}

// discardBody receives the rest of the body, without PocketBase's copy of it. A client that waits for 100 Continue sends none.
func discardBody(r *http.Request) {
	if body, ok := r.Body.(*router.RereadableReadCloser); ok && r.Header.Get("Expect") == "" {
		_, _ = io.CopyN(io.Discard, body.ReadCloser, envelope.MaxUnread) // an error means that nobody waits for the response
	}
}

// measureForm returns an error if the parts of the form that are not files are larger than limit.
func measureForm(r *http.Request, limit int64) error {
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || params["boundary"] == "" {
		return errNoForm
	}
	form := multipart.NewReader(r.Body, params["boundary"])
	left := limit
	for range maxFormParts + 1 {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			_, err = io.Copy(io.Discard, r.Body) // to the end, from where it can be read again
			return unreadableBody(err)
		}
		if err != nil {
			return unreadableBody(err)
		}
		if part.FileName() != "" {
			continue
		}
		read, err := io.Copy(io.Discard, io.LimitReader(part, left+1))
		if err != nil {
			return unreadableBody(err)
		}
		if left -= read; left < 0 {
			return fault.New(fault.PayloadTooLarge, fmt.Sprintf("The fields of the form must have at most %d bytes, without its files.", limit))
		}
	}
	return fault.New(fault.PayloadTooLarge, fmt.Sprintf("The form must have at most %d parts.", maxFormParts))
}

var errNoForm = apis.NewBadRequestError("The form must name its boundary in Content-Type.", nil)

// unreadableBody returns PocketBase's error for a body that could not be read, nil without a cause.
func unreadableBody(cause error) error {
	if cause == nil || errors.Is(cause, apis.ErrRequestEntityTooLarge) {
		return cause
	}
	return apis.NewBadRequestError("The request body could not be read.", cause)
}

// takesFiles reports whether the request is a form that writes a record of a collection with files.
func takesFiles(e *core.RequestEvent) bool {
	if !strings.HasPrefix(e.Request.Header.Get("Content-Type"), "multipart/form-data") {
		return false
	}
	method, path, _ := strings.Cut(e.Request.Pattern, " ")
	if method != http.MethodPost && method != http.MethodPatch || !strings.HasPrefix(path, "/api/collections/{collection}/records") {
		return false
	}
	collection, err := e.App.FindCachedCollectionByNameOrId(e.Request.PathValue("collection"))
	if err != nil {
		return false
	}
	for _, field := range collection.Fields {
		if field.Type() == core.FieldTypeFile {
			return true
		}
	}
	return false
}
