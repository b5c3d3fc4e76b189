package integrations

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"

	"contactbase/internal/body"
	"contactbase/internal/event"
	"contactbase/internal/fault"
	"contactbase/internal/member"
	"contactbase/internal/sqlite"
	"contactbase/internal/tenant"
	"contactbase/routes/envelope"
	"contactbase/routes/limit"
)

// scope says which members may call a route below the prefix, and what they may name. With the zero scope, only
// superusers may call it.
type scope struct {
	role    string      // that a member needs; admins may do what viewers may
	names   []reference // what a request names; none if the handler answers for the tenant of tenantOf
	streams bool        // whether the handler reads the body as it arrives
	costly  string      // the kind of a costly request, which has a limit of its own; "" for any other
	noLinks bool        // whether members must have signed in themselves
	most    int64       // bytes of a body; 0 for envelope.MaxUserBody
}

// reference is a place where a request names a record, by its id. If a member calls, the record must belong to
// the member's tenant.
type reference struct {
	in    place
	name  string // of the parameter or property; "ids" is a list
	table string // of the record; for the table of tenants, the member's own tenant
}

// place is a part of a request.
type place string

const (
	inPath  place = "path"
	inQuery place = "query"
	inBody  place = "body"
)

func viewers(names ...reference) scope { return scope{role: member.RoleViewer, names: names} }
func admins(names ...reference) scope  { return scope{role: member.RoleAdmin, names: names} }

func streaming(s scope) scope {
	s.streams = true
	return s
}

// limited gives costly requests of members a limit of their own. Superusers have none.
func limited(kind string, s scope) scope {
	s.costly = kind
	return s
}

// upTo sets the largest body of members, in bytes.
func upTo(most int64, s scope) scope {
	s.most = most
	return s
}

// signedIn refuses portal links, whatever their role.
func signedIn(s scope) scope {
	s.noLinks = true
	return s
}

func fromPath(table string) reference        { return reference{inPath, "id", table} }
func fromQuery(name, table string) reference { return reference{inQuery, name, table} }
func fromBody(name, table string) reference  { return reference{inBody, name, table} }

var (
	errNoRecord    = fault.New(fault.NotFound, "No record has this ID.")
	errNotSignedIn = fault.New(fault.Unauthorized,
		"Sign in as a superuser or as a member of the tenant, and send the token in the Authorization header.")
	errNotSuperuser = fault.New(fault.Forbidden, "Only a superuser may do this.")
	errNotAdmin     = fault.New(fault.MissingPermission, "Only members with the role admin may do this.")
	errLink         = fault.New(fault.MissingPermission, "A portal link may not do this. Sign in with a password.")
)

// tenantOf returns the tenant of the member who calls, or "" for a superuser.
func tenantOf(e *core.RequestEvent) string {
	if !member.Is(e.Auth) {
		return ""
	}
	return member.TenantOf(e.Auth)
}

// turns returns what waits for the turns of a request that reads for long, instead of the one turn that it has. It is
// nil for superusers, who wait for nobody.
func (s *server) turns(e *core.RequestEvent) func(context.Context) (release func(), err error) {
	owner := tenantOf(e)
	if owner == "" {
		return nil
	}
	limit.Release(e.Response)
	return func(ctx context.Context) (func(), error) { return s.Readers.Acquire(ctx, owner) }
}

// Admit implements route.Scope. It lets superusers pass, and those members whom the scope allows. It checks the role
// before it looks up any id, so that viewers cannot tell which ids exist, and the limit before it reads the body.
func (s scope) Admit(limits *limit.Limits) []*hook.Handler[*core.RequestEvent] {
	return []*hook.Handler[*core.RequestEvent]{{
		Id: "contactbaseAdmit",
		Func: func(e *core.RequestEvent) error {
			if e.HasSuperuserAuth() {
				body.CountFor(e.Request, s.actsFor(e))
				return e.Next()
			}
			if err := s.admitMember(e, limits); err != nil {
				return err
			}
			return e.Next()
		},
	}, recordNotFound()}
}

func (s scope) admitMember(e *core.RequestEvent, limits *limit.Limits) error {
	switch {
	case e.Auth == nil:
		return errNotSignedIn
	case s.role == "" || !member.Is(e.Auth):
		return errNotSuperuser
	case s.role == member.RoleAdmin && !member.IsAdmin(e.Auth):
		return errNotAdmin
	case s.noLinks && member.IsLink(e.Auth):
		return errLink
	}
	if s.costly != "" {
		if err := limits.Try(e.Request.Context(), e.Auth, s.costly); err != nil {
			return err
		}
	}
	if !reads(e) {
		body.CountFor(e.Request, body.Tenant(tenantOf(e)))
		if err := s.reloadMember(e); err != nil {
			return err
		}
	}
	if err := s.permit(e); err != nil {
		return err
	}
	return s.checkNames(e)
}

// actsFor returns the tenant that a superuser's request names in its address, or the superuser.
func (s scope) actsFor(e *core.RequestEvent) body.Owner {
	for _, r := range s.names {
		id := e.Request.PathValue("id")
		if r.in == inQuery {
			id = e.Request.URL.Query().Get(r.name)
		}
		if r.table == tenantsTable && r.in != inBody && id != "" {
			return body.Tenant(id)
		}
	}
	return body.Superuser(e.Auth.Id)
}

// reloadMember reads the member once more when the body has arrived, which may take minutes: access that was revoked
// meanwhile changes nothing. It leaves a body that streams to the handler.
func (s scope) reloadMember(e *core.RequestEvent) error {
	if !s.streams {
		if _, err := envelope.ReadBody(e, cmp.Or(s.most, envelope.MaxUserBody)); err != nil { // handlers read it again
			return err
		}
	}
	present, err := e.App.FindRecordById(member.CollectionName, e.Auth.Id)
	if errors.Is(err, sql.ErrNoRows) ||
		err == nil && (present.TokenKey() != e.Auth.TokenKey() || member.HasEnded(present, time.Now())) {
		return errNotSignedIn
	}
	if err != nil {
		return fmt.Errorf("reading a member: %w", err)
	}
	e.Auth = present
	return nil
}

func reads(e *core.RequestEvent) bool {
	return e.Request.Method == http.MethodGet || e.Request.Method == http.MethodHead
}

var stateSQL = "SELECT t.`apiEnabled`, " + tenant.StateSQL("t.`id`") + " FROM `tenants` t WHERE t.`id` = ?"

// permit checks the member's role and the state of the tenant. Without API access, members only read.
func (s scope) permit(e *core.RequestEvent) error {
	if s.role == member.RoleAdmin && !member.IsAdmin(e.Auth) {
		return errNotAdmin
	}
	var found, enabled bool
	var state tenant.State
	err := sqlite.Each(sqlite.Direct(e.App.ConcurrentDB()), stateSQL, func(rows *sql.Rows) error {
		found = true
		return rows.Scan(&enabled, &state)
	}, tenantOf(e))
	switch {
	case err != nil:
		return fmt.Errorf("reading the tenant of a member: %w", err)
	case !found:
		return errNotSignedIn // the tenant has been deleted
	case reads(e):
		return state.Readable()
	case !enabled:
		return tenant.ErrNotEnabled
	}
	return state.Writable()
}

// checkNames checks that the request names something, and only what belongs to the member's tenant.
func (s scope) checkNames(e *core.RequestEvent) error {
	names := len(s.names) == 0
	for _, r := range s.names {
		ids, err := r.ids(e)
		if err != nil {
			return err
		}
		if ids == nil {
			continue
		}
		names = true
		own, err := r.own(e.App, tenantOf(e), ids)
		if err != nil {
			return err
		}
		if !own {
			return errNoRecord
		}
	}
	if !names {
		return errNoRecord
	}
	return nil
}

// ids returns the ids that the request has in this place, or nil if it names none.
func (r reference) ids(e *core.RequestEvent) ([]string, error) {
	var id string
	switch {
	case r.in == inQuery && r.name == "ids":
		ids, err := overviewIDs(e.Request.URL.Query())
		return append([]string{}, ids...), err
	case r.in == inQuery:
		id = e.Request.URL.Query().Get(r.name)
	case r.in == inPath:
		id = e.Request.PathValue(r.name)
		if r.table == eventsTable {
			id = strings.TrimPrefix(id, event.IDPrefix)
		}
	default:
		// decoded as the handlers decode it, so that both read the same id from a body with repeated properties
		var named struct {
			Tenant  string `json:"tenant"`
			Webhook string `json:"webhook"`
		}
		if err := readAdmin(e, &named); err != nil {
			return nil, err
		}
		id = map[string]string{"tenant": named.Tenant, "webhook": named.Webhook}[r.name]
	}
	if id == "" {
		return nil, nil
	}
	return []string{id}, nil
}

// own reports whether all ids belong to the tenant.
func (r reference) own(app core.App, owner string, ids []string) (bool, error) {
	if r.table == tenantsTable {
		return !slices.ContainsFunc(ids, func(id string) bool { return id != owner }), nil
	}
	alias := ""
	if r.table == contactsTable { // the old ids of merged contacts lead to those that remain
		alias = "AND NOT EXISTS (SELECT 1 FROM `_mergedContacts` WHERE `tenant` = ?2 AND `oldId` = j.`value`) "
	}
	strange, err := sqlite.Value[bool](sqlite.Direct(app.ConcurrentDB()), "SELECT EXISTS (SELECT 1 FROM json_each(?1) j "+
		"WHERE NOT EXISTS (SELECT 1 FROM `"+r.table+"` WHERE `id` = j.`value` AND `tenant` = ?2) "+alias+")",
		sqlite.List(ids), owner)
	if err != nil {
		return false, fmt.Errorf("looking up records of the tenant %q in %s: %w", owner, r.table, err)
	}
	return !strange, nil
}
