package routes

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/ganigeorgiev/fexpr"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/subscriptions"

	"contactbase/internal/credential"
	"contactbase/internal/inbound"
	"contactbase/internal/member"
	"contactbase/internal/tenant"
	"contactbase/internal/webhook"
)

// membersCollections are the collections whose rules admit members.
var membersCollections = []string{
	member.CollectionName, tenant.CollectionName, credential.CollectionName,
	webhook.CollectionName, inbound.CollectionName,
}

// bindQueries restricts queries in batches and of subscribers as mayQuery does.
func bindQueries(app core.App) {
	app.OnBatchRequest().BindFunc(func(e *core.BatchRequestEvent) error {
		for _, request := range e.Batch {
			target, err := url.Parse(request.URL)
			if err != nil || !mayQuery(e.RequestEvent, target) {
				return refuseQuery(e.RequestEvent)
			}
			if name, found := collectionIn(target.Path); found &&
				!e.HasSuperuserAuth() && isAmong(e.App, name, member.CollectionName) {
				// all writers wait while a password is hashed
				return e.ForbiddenError("Only superusers may change members in a batch.", nil)
			}
		}
		return e.Next()
	})
	app.OnRealtimeSubscribeRequest().BindFunc(func(e *core.RealtimeSubscribeRequestEvent) error {
		wanted := subscriptions.NewDefaultClient() // reads the options of topics as PocketBase does
		wanted.Subscribe(e.Subscriptions...)
		for topic, options := range wanted.Subscriptions() {
			name, _, hasOptions := strings.Cut(topic, "?")
			name, _, _ = strings.Cut(name, "/")
			if hasOptions && !e.HasSuperuserAuth() && (isMembers(e.App, name) ||
				reachesMembers(e.App, options.Query["filter"]+" "+options.Query["expand"])) {
				return refuseQuery(e.RequestEvent)
			}
		}
		return e.Next()
	})
}

func refuseQuery(e *core.RequestEvent) error {
	return e.BadRequestError("Filter and sort by the collection's own fields, "+
		"and expand only tenant. Superusers may follow other relations.", nil)
}

// mayQuery reports whether a request of the records API may have the parameters of its URL: only superusers may follow
// relations. PocketBase applies a filter to all rows before the rule, so that its duration would tell about other
// tenants, and a chain of relations can take minutes.
func mayQuery(e *core.RequestEvent, target *url.URL) bool {
	name, found := collectionIn(target.Path)
	if !found || e.HasSuperuserAuth() || target.RawQuery == "" {
		return true
	}
	query := target.Query()
	filters, sorts, expands := query["filter"], query["sort"], query["expand"]
	if !isMembers(e.App, name) {
		return !slices.ContainsFunc(slices.Concat(filters, sorts, expands), func(text string) bool {
			return reachesMembers(e.App, text)
		})
	}
	return !slices.ContainsFunc(filters, followsRelation) &&
		!slices.ContainsFunc(sorts, func(sort string) bool { return strings.ContainsAny(sort, ".:") }) &&
		!slices.ContainsFunc(expands, func(expand string) bool { return expand != "" && expand != "tenant" })
}

// collectionIn returns the name or id of the collection in a path of the records API.
func collectionIn(path string) (nameOrID string, found bool) {
	rest, found := strings.CutPrefix(path, "/api/collections/")
	nameOrID, _, _ = strings.Cut(rest, "/")
	return nameOrID, found
}

func isMembers(app core.App, nameOrID string) bool {
	return isAmong(app, nameOrID, membersCollections...)
}

func isAmong(app core.App, nameOrID string, names ...string) bool {
	collection, err := app.FindCachedCollectionByNameOrId(nameOrID)
	return err == nil && slices.Contains(names, collection.Name)
}

// backRelation matches a path to the records that refer to one, in both forms that PocketBase knows: its collection
// is a name or an id.
var backRelation = regexp.MustCompile(`(\w+)(?:_via_|\()`)

// reachesMembers reports whether a parameter of another collection has a path back into those of members.
func reachesMembers(app core.App, text string) bool {
	return slices.ContainsFunc(backRelation.FindAllStringSubmatch(text, -1), func(path []string) bool {
		return isMembers(app, path[1])
	})
}

// followsRelation reports whether a filter has a path or a macro, or is invalid.
func followsRelation(filter string) bool {
	if filter == "" {
		return false
	}
	groups, err := fexpr.Parse(filter)
	return err != nil || slices.ContainsFunc(groups, inGroup)
}

func inGroup(group fexpr.ExprGroup) bool {
	switch item := group.Item.(type) {
	case fexpr.Expr:
		return inToken(item.Left) || inToken(item.Right)
	case fexpr.ExprGroup:
		return inGroup(item)
	case []fexpr.ExprGroup:
		return slices.ContainsFunc(item, inGroup)
	default:
		return true
	}
}

func inToken(token fexpr.Token) bool {
	switch token.Type {
	case fexpr.TokenText, fexpr.TokenNumber:
		return false
	case fexpr.TokenIdentifier:
		return strings.ContainsAny(token.Literal, ".:@")
	default:
		return true
	}
}
