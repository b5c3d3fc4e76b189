package routes

import (
	"errors"
	"net/http"
	"strings"

	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"

	"contactbase/internal/body"
	"contactbase/internal/fault"
	"contactbase/internal/member"
	"contactbase/internal/order"
	"contactbase/internal/version"
	"contactbase/routes/envelope"
)

// maxGuestBody is the largest body of guests outside our prefixes, in bytes. Superusers have PocketBase's limit.
const maxGuestBody = 64 << 10

// sentBody returns the body of a request, nil if it has none.
func sentBody(e *core.RequestEvent) *body.Body {
	if e.Request.ContentLength == 0 {
		return nil
	}
	return body.Of(e.Request)
}

// pocketBase is what PocketBase's own routes need. It reads bodies before PocketBase does, which would keep a copy in
// memory, and decode any size before it looks at its rules: that takes up to fifty times the size. Routes below our
// prefixes read their own bodies.
func (s *server) pocketBase() *hook.Handler[*core.RequestEvent] {
	return &hook.Handler[*core.RequestEvent]{
		Id:       pocketBaseMiddlewareID,
		Priority: order.PocketBaseServed,
		Func: func(e *core.RequestEvent) error {
			if ours(e.Request.URL.Path) { // a method that no group of routes has
				return e.Next()
			}
			if sent := sentBody(e); sent != nil {
				if err := boundBody(e, sent); err != nil {
					return err
				}
			}
			if e.Request.URL.Path == version.Path {
				return version.Answer(e, s.Version)
			}
			return e.Next()
		},
	}
}

// boundBody reads the body of a request to PocketBase, unless a superuser sends it.
func boundBody(e *core.RequestEvent, sent *body.Body) error {
	isForm := strings.HasPrefix(e.Request.Header.Get("Content-Type"), "multipart/form-data")
	limit := int64(envelope.MaxUserBody)
	switch {
	case e.HasSuperuserAuth() && isForm:
		sent.Exempt()
		return nil
	case e.HasSuperuserAuth():
		sent.Uncounted()
		return nil
	case member.Is(e.Auth):
		body.CountFor(e.Request, body.Tenant(member.TenantOf(e.Auth)))
	case e.Auth == nil:
		limit = maxGuestBody
		fallthrough
	default: // anybody may sign up for a collection of the admin's own
		body.CountFor(e.Request, body.Address(e.RealIP()))
	}
	if files := filesLimit(e); isForm && files > 0 {
		return unreadableForm(sent.ParseForm(e.Request, limit, files))
	}
	_, err := sent.Bytes(e.Request.Context(), limit)
	e.Request.Body = sent // in place of PocketBase's copy
	return unreadableBody(err)
}

// unreadableForm returns PocketBase's error for a form that could not be read, nil without a cause.
func unreadableForm(cause error) error {
	if errors.Is(cause, http.ErrMissingBoundary) {
		return apis.NewBadRequestError("The form must name its boundary in Content-Type.", nil)
	}
	return unreadableBody(cause)
}

// unreadableBody returns PocketBase's error for a body that could not be read, nil without a cause.
func unreadableBody(cause error) error {
	if known := (*fault.Error)(nil); cause == nil || errors.As(cause, &known) {
		return cause
	}
	return apis.NewBadRequestError("The request body could not be read.", cause)
}

// filesLimit returns PocketBase's limit of a form that writes a record of a collection with files, 0 for any other
// request.
func filesLimit(e *core.RequestEvent) int64 {
	method, path, _ := strings.Cut(e.Request.Pattern, " ")
	if method != http.MethodPost && method != http.MethodPatch ||
		!strings.HasPrefix(path, "/api/collections/{collection}/records") {
		return 0
	}
	collection, err := e.App.FindCachedCollectionByNameOrId(e.Request.PathValue("collection"))
	if err != nil {
		return 0
	}
	hasFiles, limit := false, apis.DefaultMaxBodySize
	for _, field := range collection.Fields {
		hasFiles = hasFiles || field.Type() == core.FieldTypeFile
		if sized, ok := field.(core.MaxBodySizeCalculator); ok {
			limit += sized.CalculateMaxBodySize()
		}
	}
	if !hasFiles {
		return 0
	}
	return limit
}
