package routes

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"

	"contactbase/internal/audit"
	"contactbase/internal/body"
	"contactbase/internal/credential"
	"contactbase/internal/fault"
	"contactbase/internal/mcp"
	"contactbase/internal/sqlite"
	"contactbase/internal/tenant"
)

const (
	authorizeMiddlewareID    = "contactbaseAuthorize"
	countRequestMiddlewareID = "contactbaseCountRequest"
)

const (
	identityKey = "contactbaseIdentity"
	callerKey   = "contactbaseCaller" // the id of the key in the request, even of an expired or revoked one
)

// identity returns the caller's identity. It is set after authorize.
func identity(e *core.RequestEvent) *credential.Identity {
	return e.Get(identityKey).(*credential.Identity)
}

// authorize checks, in this order, the key, the tenant's API access, and that the key has one of the permissions. The
// limit comes next.
func (s *server) authorize(permissions ...credential.Permission) *hook.Handler[*core.RequestEvent] {
	return &hook.Handler[*core.RequestEvent]{
		Id: authorizeMiddlewareID,
		Func: func(e *core.RequestEvent) error {
			found, err := s.authenticate(e)
			if err != nil {
				return err
			}
			e.Set(identityKey, found)
			actor := audit.Actor{Kind: audit.Key, ID: found.KeyID}
			if mcp.IsTool(e.Request) {
				actor.Kind = audit.MCP
			}
			e.App = audit.As(e.App, actor)
			if err := permit(found, permissions...); err != nil {
				return err
			}
			return e.Next()
		},
	}
}

// countRequest checks the key's limit. countBatch does so for a batch, and serveModel for the requests of an MCP tool.
func (s *server) countRequest() *hook.Handler[*core.RequestEvent] {
	return &hook.Handler[*core.RequestEvent]{
		Id: countRequestMiddlewareID,
		Func: func(e *core.RequestEvent) error {
			if mcp.IsTool(e.Request) {
				return e.Next()
			}
			if err := s.limits.Spend(e, identity(e), 1); err != nil {
				return err
			}
			return e.Next()
		},
	}
}

// permit checks the tenant's API access, and that the key has one of the permissions. The tenant must be readable, or
// writable to do anything else than read.
func permit(caller *credential.Identity, permissions ...credential.Permission) error {
	if !caller.APIEnabled {
		return tenant.ErrNotEnabled
	}
	if !slices.ContainsFunc(permissions, caller.Allows) {
		return lacks(permissions[0])
	}
	if slices.Contains(permissions, credential.ContactsRead) {
		return caller.State.Readable()
	}
	return caller.State.Writable()
}

func lacks(permission credential.Permission) *fault.Error {
	return fault.New(fault.MissingPermission, "This key lacks the permission "+string(permission)+".")
}

// confirm repeats the checks of authorize in a writing transaction: the key or its tenant may have ended while
// the request waited. The key must have all of the permissions.
func confirm(tx sqlite.Reader, caller *credential.Identity, permissions ...credential.Permission) error {
	present, err := caller.Confirm(tx, time.Now())
	for _, permission := range permissions {
		if err == nil {
			err = permit(present, permission)
		}
	}
	return err
}

func (s *server) authenticate(e *core.RequestEvent) (*credential.Identity, error) {
	key := apiKey(e.Request.Header)
	var err error
	if key == "" {
		err = fault.New(fault.MissingKey, "Send the API key as Authorization: Bearer <key> or as X-API-Key: <key>.")
	} else {
		var found *credential.Identity
		if found, err = s.keyring.Look(e.App, key, time.Now()); err == nil {
			e.Set(callerKey, found.KeyID)
			body.CountFor(e.Request, body.Tenant(found.TenantID))
			return found, nil
		}
		if ended := (*credential.EndedKeyError)(nil); errors.As(err, &ended) {
			e.Set(callerKey, ended.KeyID)
		}
		if !errors.Is(err, credential.ErrInvalidKey) {
			return nil, err
		}
	}
	if limited := s.limits.Refuse(e); limited != nil {
		return nil, limited
	}
	return nil, err
}

// keyOf returns the identity of the key in a request that people send, too: nil if it has no key. Like a key, the token
// of somebody who is signed in may be a bearer token.
func (s *server) keyOf(e *core.RequestEvent) (*credential.Identity, error) {
	key := apiKey(e.Request.Header)
	if e.Request.Header.Get("X-API-Key") == "" && !strings.HasPrefix(key, credential.KeyPrefix) {
		return nil, nil
	}
	return s.authenticate(e)
}

// apiKey returns the request's key; X-API-Key takes precedence.
func apiKey(header http.Header) string {
	if key := strings.TrimSpace(header.Get("X-API-Key")); key != "" {
		return key
	}
	scheme, key, _ := strings.Cut(strings.TrimSpace(header.Get("Authorization")), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(key)
}
