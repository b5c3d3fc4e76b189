package integrations

// Scope is what the table of routes says about members. Role is "" for a route of superusers.
type Scope struct {
	Method, Path, Role string
	Names              []Name
}

// Name is a place where a request names a record.
type Name struct{ In, Name, Table string }

// Scopes returns the scopes of all routes below /api/integrations, without those for guests.
func Scopes() (all []Scope) {
	for _, r := range (&server{}).routes() {
		of, ok := r.Scope.(scope)
		if keyed, isKeyed := r.Scope.(orKey); isKeyed {
			of, ok = keyed.scope, true
		}
		if !ok { // for guests
			continue
		}
		s := Scope{Method: r.Method, Path: r.Path, Role: of.role}
		for _, n := range of.names {
			s.Names = append(s.Names, Name{string(n.in), n.name, n.table})
		}
		all = append(all, s)
	}
	return all
}
