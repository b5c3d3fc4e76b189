package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
)

const (
	superuser         = "bench@example.com"
	superuserPassword = "a long password"
)

// makeMembers makes the tenants that are missing, one more without contacts, and a new key for each.
func (p *population) makeMembers(s *server, db *sql.DB) error {
	if p.plain { // a tenant is no more than a value of a field
		p.members, p.neighbour = []member{{id: "benchbenchbench"}}, member{id: "neighbourneighb"}
		return nil
	}
	admin, err := s.signIn()
	if err != nil {
		return err
	}
	for n := range p.tenants + 1 {
		m, err := admin.member(db, fmt.Sprintf("Tenant %d", n))
		if err != nil {
			return err
		}
		p.members = append(p.members, m)
	}
	p.neighbour, p.members = p.members[p.tenants], p.members[:p.tenants]
	token, err := s.create("token", "inbound", p.members[0].id, "--name", "bench")
	p.inbound = "/api/hooks/" + token
	return err
}

// admin is a superuser of a server, whose requests are faster than commands.
type admin struct {
	*server
	auth string
}

func (s *server) signIn() (admin, error) {
	signedIn, err := admin{server: s}.post("_superusers/auth-with-password",
		map[string]any{"identity": superuser, "password": superuserPassword})
	return admin{s, fmt.Sprint("Authorization: ", signedIn["token"])}, err
}

func (a admin) post(path string, body map[string]any) (got map[string]any, err error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	_, err = a.ask(call{"POST", "/api/collections/" + path, string(encoded), a.auth}, &got)
	return got, err
}

// member returns the tenant with the name, which it makes if need be, and a new key.
func (a admin) member(db *sql.DB, name string) (m member, err error) {
	if db.QueryRow("SELECT id FROM tenants WHERE name = ?", name).Scan(&m.id) != nil {
		tenant, err := a.post("tenants/records", map[string]any{"name": name, "apiEnabled": true, "rateLimit": noRateLimit})
		if err != nil {
			return m, err
		}
		m.id = fmt.Sprint(tenant["id"])
	}
	key, err := a.post("api_keys/records", map[string]any{"name": "bench", "tenant": m.id})
	m.key = fmt.Sprint(key["key"])
	return m, err
}
