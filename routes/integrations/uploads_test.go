package integrations_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/pocketbase/dbx"

	"contactbase/internal/contact/imports"
	"contactbase/internal/testkit"
)

// The token, the tenant and its quota are checked before the first byte of an upload is read: it never comes.
func TestUploadsAreCheckedBeforeTheyCome(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	full := testkit.Tenant(t, f.App, "Full")
	testkit.Execute(t, f.App,
		"INSERT INTO _imports (id, tenant, name, status, bytes, created, updated, columns, mapping) "+
			"VALUES ('full', {:tenant}, '', 'new', {:bytes}, '', '', '[]', '{}')",
		dbx.Params{"tenant": full, "bytes": imports.Quota})
	superuser := testkit.SuperuserToken(t, f.App)
	for _, tc := range []struct {
		tenant, token string
		status        int
	}{
		{f.tenant, "", http.StatusUnauthorized},
		{"unknown", superuser, http.StatusNotFound},
		{full, superuser, http.StatusRequestEntityTooLarge},
	} {
		connection, err := net.Dial("tcp", strings.TrimPrefix(f.base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		_, err = fmt.Fprintf(connection,
			"POST %s?tenant=%s HTTP/1.1\r\nHost: x\r\nAuthorization: %s\r\nContent-Length: 1000000\r\n\r\n",
			importsPath, tc.tenant, tc.token)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(bufio.NewReader(connection), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if response.StatusCode != tc.status {
			t.Errorf("an upload for %s gives %d, want %d", tc.tenant, response.StatusCode, tc.status)
		}
	}
}
