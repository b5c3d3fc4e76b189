package routes_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/security"
	"github.com/pocketbase/pocketbase/tools/types"

	"contactbase/internal/member"
	"contactbase/internal/testkit"
)

// post sends a body, with its length or in chunks.
func post(t *testing.T, method, address, token, contentType string, body []byte, chunked bool) *testkit.Answer {
	t.Helper()
	var reader io.Reader = bytes.NewReader(body)
	if chunked {
		reader = io.MultiReader(reader)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, address, reader)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", contentType)
	request.Header.Set("Authorization", token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatalf("%s %s: %v", method, address, err)
	}
	defer response.Body.Close()
	return testkit.ReadAnswer(t, response)
}

// form returns a multipart form with a field @jsonPayload of this size, and a file.
func form(t *testing.T, payload, file int) (contentType string, body []byte) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	part, err := w.CreateFormFile("file", "a.txt")
	if err == nil {
		_, err = part.Write(bytes.Repeat([]byte("a"), file))
	}
	if err == nil {
		err = w.WriteField("@jsonPayload", string(sized(payload)))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return w.FormDataContentType(), b.Bytes()
}

// sized returns a JSON object of this many bytes.
func sized(n int) []byte {
	const start, end = `{"x":"`, `"}`
	return []byte(start + strings.Repeat("a", n-len(start)-len(end)) + end)
}

// newMember returns the auth token of an admin of the tenant.
func newMember(t *testing.T, f *fixture) string {
	t.Helper()
	record := testkit.Record(t, f.App, member.CollectionName, map[string]any{
		"tenant": f.tenant, "role": member.RoleAdmin, "email": security.RandomString(10) + "@example.com", "password": "a long password",
	})
	token, err := record.NewAuthToken()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// A body is refused by its size before it is decoded, on every path of PocketBase, with its length or in chunks, and
// whatever its type: these bodies would get another error if anything looked at them.
func TestBodiesAreBoundedBeforeTheyAreDecoded(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	f.App.Settings().RateLimits.Enabled = false // its 429 comes before the body is read
	tokens := map[string]string{"guest": "", "superuser": testkit.SuperuserToken(t, f.App)}
	limits := map[string]int{"guest": 64 << 10, "member": 1 << 20}
	for _, tc := range []struct{ method, path string }{
		{"POST", "/api/collections/api_keys/records"},
		{"PATCH", "/api/collections/webhooks/records/x"},
		{"GET", "/api/collections/webhooks/records"}, // PocketBase reads the body of any request
		{"DELETE", "/api/collections/webhooks/records/x"},
		{"POST", "/api/collections/tenant_members/auth-with-password"},
		{"POST", "/api/collections/_superusers/auth-with-password"},
		{"POST", "/api/collections/tenant_members/request-password-reset"},
		{"POST", "/api/collections/tenant_members/auth-refresh"},
		{"POST", "/api/realtime"},
		{"POST", "/api/batch"},
		{"POST", "/api/files/token"},
		{"POST", "/api/collections"},
		{"POST", "/api/sql"},
		{"POST", "/api/nothing"},
	} {
		tokens["member"] = newMember(t, f) // each has a limit of requests
		for who, limit := range limits {
			for _, contentType := range []string{"application/json", "application/x-www-form-urlencoded", "multipart/form-data", "multipart/form-data; boundary=x", "text/xml", "text/plain"} {
				for _, chunked := range []bool{false, true} {
					if got := post(t, tc.method, f.base+tc.path, tokens[who], contentType, sized(limit+1), chunked); got.Status != 413 {
						t.Errorf("a %s's %s %s of %d bytes as %q (chunked: %t) gives %d %s", who, tc.method, tc.path, limit+1, contentType, chunked, got.Status, got.Body)
					}
				}
			}
		}
	}
	const path = "/api/collections/api_keys/records"
	for _, chunked := range []bool{false, true} {
		for who, limit := range map[string]int{"guest": 64 << 10, "member": 1 << 20, "superuser": 2 << 20} {
			if got := post(t, "POST", f.base+path, tokens[who], "application/json", sized(limit), chunked); got.Status != 400 && got.Status != 403 {
				t.Errorf("a %s's body of %d bytes gives %d %s", who, limit, got.Status, got.Body)
			}
		}
	}
}

// A chunked body that is small enough is read again from its start.
func TestMeasuredBodiesAreComplete(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	token := newMember(t, f)
	body := []byte(`{"tenant":"` + f.tenant + `","name":"Chunks"}`)
	if got := post(t, "POST", f.base+"/api/collections/api_keys/records", token, "application/json", body, true); got.Status != 200 || got.JSON()["name"] != "Chunks" {
		t.Errorf("got %d %s", got.Status, got.Body)
	}
}

// A form keeps PocketBase's limit for the files of a collection that has some. Its other fields are bounded.
func TestFormsWithFiles(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	for name, fields := range map[string][]core.Field{
		"uploads": {&core.FileField{Name: "file", MaxSize: 8 << 20}, &core.TextField{Name: "x", Max: 4 << 20}},
		"notes":   {&core.TextField{Name: "x", Max: 4 << 20}},
	} {
		collection := core.NewBaseCollection(name)
		collection.CreateRule = types.Pointer("")
		collection.Fields.Add(fields...)
		if err := f.App.Save(collection); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		collection    string
		payload, file int
		status        int
	}{
		{"uploads", 60 << 10, 4 << 20, 200},
		{"uploads", 64<<10 + 1, 10, 413},
		{"notes", 60 << 10, 10, 200},
		{"notes", 60 << 10, 64 << 10, 413},
	} {
		contentType, body := form(t, tc.payload, tc.file)
		for _, chunked := range []bool{false, true} {
			got := post(t, "POST", f.base+"/api/collections/"+tc.collection+"/records", "", contentType, body, chunked)
			if got.Status != tc.status {
				t.Errorf("%d bytes and a file of %d to %s (chunked: %t) give %d %.300s", tc.payload, tc.file, tc.collection, chunked, got.Status, got.Body)
			}
			if file, _ := got.JSON()["file"].(string); tc.status == 200 && tc.collection == "uploads" && file == "" {
				t.Errorf("the file is missing: %.300s", got.Body)
			}
		}
	}
	var many bytes.Buffer
	w := multipart.NewWriter(&many)
	for range 1_001 {
		if err := w.WriteField("x", ""); err != nil {
			t.Fatal(err)
		}
	}
	if got := post(t, "POST", f.base+"/api/collections/uploads/records", "", w.FormDataContentType(), many.Bytes(), false); got.Status == 200 {
		t.Errorf("a form of many parts gives %d", got.Status)
	}
}

// A key without a request left is refused before its batch is read: the body never comes.
func TestBatchesOverTheLimitAreNotRead(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	testkit.Execute(t, f.App, "UPDATE tenants SET rateLimit = 1", nil)
	client.Do("GET", contactsPath, "")
	connection, err := net.Dial("tcp", strings.TrimPrefix(f.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	_, err = fmt.Fprintf(connection, "POST %s/batch HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\nContent-Type: application/json\r\nContent-Length: 4000000\r\n\r\n",
		contactsPath, client.Header.Get("X-API-Key"))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusTooManyRequests || response.Header.Get("Retry-After") == "" {
		t.Errorf("got %d %v", response.StatusCode, response.Header)
	}
}
