package migrations_test

import (
	"testing"

	"github.com/pocketbase/pocketbase/core"

	_ "contactbase/migrations"
)

// What was stored before it was counted and linked is so afterwards.
func TestStoredRequestsAreTakenOver(t *testing.T) {
	t.Parallel()
	app, migrate := newFolder(t, "1761000001")
	for _, statement := range []string{
		`INSERT INTO contacts (id, tenant, name) VALUES ('ada', 't', 'Ada'), ('eve', 't', 'Eve')`,
		`INSERT INTO inbound_requests (id, tenant, contentType, body, status, result, created) VALUES
			('r1', 't', 'application/json', '{"name":"Ada"}', 200, '{"created":1,"results":[{"index":0,"status":"created","id":"ada"}]}', '2026-01-01 10:00:00.001Z'),
			('r2', 't', 'application/json', '{"name":"Gone"}', 200, '{"created":1,"results":[{"index":0,"status":"created","id":"gone"}]}', '2026-01-01 10:00:01.000Z'),
			('r3', 'u', '', 'x', 400, NULL, '2026-01-01 10:00:02.000Z')`,
		`INSERT INTO _idempotency (key, request, status, location, body, contact, created) VALUES
			('inbound', '', 200, '', '{"data":{"created":1,"results":[{"index":0,"status":"created","id":"ada"}]}}', '', '2026-01-01 10:00:00.000Z'),
			('post', '', 201, '/', '{"data":{"id":"eve"}}', 'eve', '2026-01-01 10:00:00.000Z')`,
	} {
		if _, err := app.NonconcurrentDB().NewQuery(statement).Execute(); err != nil {
			t.Fatal(err)
		}
	}
	migrate()
	for query, want := range map[string]string{
		"SELECT tenant || ' ' || inboundRequest || ' ' || body FROM _idempotency WHERE key = 'inbound'":                       "t r1 ",
		"SELECT tenant || ' ' || inboundRequest || ' ' || body FROM _idempotency WHERE key = 'post'":                          `t  {"data":{"id":"eve"}}`,
		"SELECT group_concat(person || ' ' || request, ', ') FROM _inboundPeople":                                             "ada r1, gone r2",
		"SELECT group_concat(id || ' ' || erased || body, ', ') FROM inbound_requests WHERE tenant = 't'":                     `r1 0{"name":"Ada"}, r2 1`,
		"SELECT json_extract(result, '$.created') || json_extract(result, '$.results') FROM inbound_requests WHERE id = 'r2'": "1[]",
		"SELECT group_concat(tenant || ' ' || bytes, ', ') FROM _stored":                                                      "",
	} {
		var got string
		if err := app.DB().NewQuery(query).Row(&got); err != nil {
			t.Errorf("%s: %v", query, err)
		}
		if want == "" {
			want = stored(t, app)
		}
		if got != want {
			t.Errorf("%s gives %q, not %q", query, got, want)
		}
	}
}

func stored(t *testing.T, app core.App) string {
	t.Helper()
	var counted string
	err := app.DB().NewQuery("SELECT group_concat(tenant || ' ' || bytes, ', ') FROM (SELECT tenant, SUM(bytes) AS bytes FROM (" +
		"SELECT tenant, octet_length(body) + COALESCE(octet_length(result), 0) + 1024 AS bytes FROM inbound_requests UNION ALL " +
		"SELECT tenant, octet_length(body) + 1024 FROM _idempotency) GROUP BY tenant)").Row(&counted)
	if err != nil {
		t.Fatal(err)
	}
	return counted
}
