package field_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tests"

	"contactbase/internal/credential"
	"contactbase/internal/inbound"
	"contactbase/internal/testkit"
)

// shapesEnv is the environment variable that names another folder of shapes, such as ones that were just collected.
const shapesEnv = "CONTACTBASE_TEST_SHAPES"

// megabyte is a text of 1 MiB, for bodies with attachments.
var megabyte = strings.Repeat("QUJD", 1<<18)

func TestMain(m *testing.M) {
	code := m.Run()
	testkit.Cleanup()
	os.Exit(code)
}

// Each shape holds, unless its file says why it does not.
func TestShapes(t *testing.T) {
	t.Parallel()
	shapes, err := load(os.DirFS(cmp.Or(os.Getenv(shapesEnv), "shapes")))
	if err != nil {
		t.Fatal(err)
	}
	var held, manual atomic.Int32
	var failing sync.Map
	t.Cleanup(func() {
		t.Logf("%d of %d shapes hold; %d are not run, because they need a person", held.Load(), len(shapes), manual.Load())
		for _, s := range shapes {
			if reason, ok := failing.Load(s.name); ok {
				t.Logf("does not hold: %s: %.300s", s.name, strings.ReplaceAll(reason.(string), "\n", " "))
			}
		}
	})
	servers := &servers{tb: t}
	for _, s := range shapes {
		if s.Manual != nil {
			manual.Add(1)
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			faults, err := s.try(t.Context(), servers.of(s))
			if err != nil {
				faults = append(faults, err.Error())
			}
			if len(faults) == 0 {
				held.Add(1)
			} else {
				failing.Store(s.name, cmp.Or(s.Fails, strings.Join(faults, "; ")))
			}
			if verdict := s.verdict(faults); verdict != "" {
				t.Error(verdict)
			}
		})
	}
}

// verdict is what the test fails with.
func (s *shape) verdict(faults []string) string {
	switch {
	case s.Fails == "":
		return strings.Join(faults, "\n")
	case len(faults) == 0:
		return `the shape holds: remove "fails" from its file`
	}
	return ""
}

// A marked shape that holds is an error, as is one that fails without a mark.
func TestVerdict(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fails  string
		faults []string
		ok     bool
	}{{"", nil, true}, {"", []string{"x"}, false}, {"reason", []string{"x"}, true}, {"reason", nil, false}} {
		if got := (&shape{Fails: c.fails}).verdict(c.faults); (got == "") != c.ok {
			t.Errorf("%q with %q: %q", c.fails, c.faults, got)
		}
	}
}

// servers are apps with the own fields and settings that shapes share.
type servers struct {
	tb   testing.TB
	mu   sync.Mutex
	apps map[string]func() *server
}

type server struct {
	app         core.App
	base, token string
}

func (s *servers) of(wanted *shape) *server {
	s.mu.Lock()
	key := compact([]any{wanted.Setup.Fields, wanted.Setup.AppURL, wanted.Setup.ProxyHeaders, wanted.operates()})
	if s.apps[key] == nil {
		if s.apps == nil {
			s.apps = map[string]func() *server{}
		}
		s.apps[key] = sync.OnceValue(func() *server { return serve(s.tb, wanted) })
	}
	open := s.apps[key]
	s.mu.Unlock()
	return open()
}

// operates reports whether monitors may ask for the background work of the server, which others do without.
func (s *shape) operates() bool { return s.Door == "operate" }

func serve(tb testing.TB, wanted *shape) *server {
	start := func(tb testing.TB) *tests.TestApp { return testkit.NewApp(tb) }
	if wanted.operates() {
		start = testkit.NewDeliveringApp
	}
	app := start(tb)
	if len(wanted.Setup.Fields) > 0 {
		testkit.AddFields(tb, app, wanted.Setup.Fields.fields()...)
	}
	settings := app.Settings()
	settings.TrustedProxy.Headers = wanted.Setup.ProxyHeaders
	if wanted.Setup.AppURL != "" {
		settings.Meta.AppURL = wanted.Setup.AppURL
	}
	if err := app.Save(settings); err != nil {
		tb.Errorf("saving the settings: %v", err)
	}
	return &server{app, testkit.Serve(tb, app), testkit.SuperuserToken(tb, app)}
}

func (f ownFields) fields() (fields []core.Field) {
	for _, field := range f {
		several := 1
		if field.Several {
			several = len(field.Values)
		}
		fields = append(fields, map[string]core.Field{
			"text": &core.TextField{Name: field.Name}, "number": &core.NumberField{Name: field.Name},
			"bool": &core.BoolField{Name: field.Name}, "date": &core.DateField{Name: field.Name},
			"select": &core.SelectField{Name: field.Name, Values: field.Values, MaxSelect: several},
			"url":    &core.URLField{Name: field.Name}, "email": &core.EmailField{Name: field.Name},
			"editor": &core.EditorField{Name: field.Name}, "json": &core.JSONField{Name: field.Name},
		}[field.Type])
	}
	return fields
}

// try sends the input of a shape and returns what is not as expected. The error is one of the shape's own setup or
// input.
func (s *shape) try(ctx context.Context, on *server) (faults []string, err error) {
	c := &client{base: on.base, values: map[string]string{"superuser": on.token}}
	tenant, err := c.prepare(on.app, s)
	if err != nil {
		return nil, err
	}
	r := &result{}
	if err := c.createContacts(ctx, s); err != nil {
		return nil, err
	}
	if r.before, err = contacts(ctx, c); err != nil {
		return nil, err
	}
	switch s.Door {
	case "import":
		faults, err = c.importFile(ctx, on.app, tenant, &s.file, r)
	case "export":
		reader := &client{base: on.base, values: map[string]string{}}
		var other string
		if other, err = reader.tenant(on.app, s.Setup.Country); err == nil {
			faults, err = c.exportFile(ctx, on.app, tenant, other, &s.export, r)
			if s.export.Reimport {
				c.values["owner"] = reader.values["owner"]
			}
		}
	default:
		faults, err = c.run(ctx, s, r)
	}
	if err != nil {
		return faults, err
	}
	if r.contacts, err = contacts(ctx, c); err != nil {
		return faults, err
	}
	return append(faults, s.Expect.faults(r)...), nil
}

// faults are the differences from the nearest of the answers.
func (a answers) faults(r *result) (nearest []string) {
	for i, answer := range a {
		if faults := answer.faults(r); i == 0 || len(faults) < len(nearest) {
			nearest = faults
		}
	}
	return nearest
}

// tenant makes a tenant with a key that reads and writes.
func (c *client) tenant(app core.App, country string) (id string, err error) {
	tenant, err := save(app, "tenants", map[string]any{"name": "Acme", "apiEnabled": true, "country": country})
	if err != nil {
		return "", err
	}
	c.values["owner"], err = mint(app, credential.CollectionName, map[string]any{
		"tenant": tenant.Id, "name": "owner", "permissions": []credential.Permission{credential.ContactsRead, credential.ContactsWrite},
	})
	return tenant.Id, err
}

// prepare makes the tenant of a shape, its key and its inbound webhook.
func (c *client) prepare(app core.App, s *shape) (tenant string, err error) {
	if tenant, err = c.tenant(app, s.Setup.Country); err != nil {
		return "", err
	}
	now := time.Now()
	maps.Copy(c.values, map[string]string{
		"tenant": tenant, "key": c.values["owner"],
		"timestamp": strconv.FormatInt(now.Unix(), 10), "timestampMs": strconv.FormatInt(now.UnixMilli(), 10),
		"megabyte": megabyte,
	})
	if len(s.Setup.Permissions) > 0 {
		if c.values["key"], err = mint(app, credential.CollectionName, map[string]any{
			"tenant": tenant, "name": "key", "permissions": s.Setup.Permissions,
		}); err != nil {
			return "", err
		}
	}
	if s.Door == "inbound" || s.Setup.Webhook != nil {
		webhook := map[string]any{"access": "upsert"}
		maps.Copy(webhook, s.Setup.Webhook)
		maps.Copy(webhook, map[string]any{"tenant": tenant, "name": "sender"})
		c.secret, _ = webhook["verifySecret"].(string)
		c.values["token"], err = mint(app, inbound.CollectionName, webhook)
	}
	return tenant, err
}

// mint saves a record and returns its secret text.
func mint(app core.App, collection string, values map[string]any) (string, error) {
	record, err := save(app, collection, values)
	if err != nil {
		return "", err
	}
	return credential.Minted(record), nil
}

func save(app core.App, collection string, values map[string]any) (*core.Record, error) {
	found, err := app.FindCachedCollectionByNameOrId(collection)
	if err != nil {
		return nil, err
	}
	for name := range values {
		if found.Fields.GetByName(name) == nil {
			return nil, fmt.Errorf("setup: %s have no field %q", collection, name)
		}
	}
	record := core.NewRecord(found)
	record.Load(values)
	if err := app.Save(record); err != nil {
		return nil, fmt.Errorf("setup: %s: %w", collection, err)
	}
	return record, nil
}

func (c *client) createContacts(ctx context.Context, s *shape) error {
	for i, values := range s.Setup.Contacts {
		created, got, err := c.call(ctx, "owner", "POST", "/api/ext/v1/contacts", values)
		if err != nil {
			return err
		}
		data, ok := created["data"].(map[string]any)
		if !ok {
			return errors.New("setup: creating a contact: " + got.body)
		}
		c.values[fmt.Sprintf("contacts.%d.id", i)], _ = data["id"].(string)
	}
	return nil
}

// contacts returns all contacts of the tenant.
func contacts(ctx context.Context, c *client) (all []any, err error) {
	for path := "/api/ext/v1/contacts?limit=200"; ; {
		page, got, err := c.call(ctx, "owner", "GET", path, nil)
		if err != nil {
			return nil, err
		}
		data, ok := page["data"].([]any)
		if !ok {
			return nil, errors.New("listing contacts: " + got.body)
		}
		if all = slices.Concat(all, data); len(data) < 200 {
			return all, nil
		}
		path = "/api/ext/v1/contacts?limit=200&offset=" + strconv.Itoa(len(all))
	}
}
