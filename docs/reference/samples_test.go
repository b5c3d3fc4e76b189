package reference

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"contactbase/internal/testenv"
)

// sent is a request as the server received it.
type sent struct {
	Method, URI, Key, Token, ContentType, Event string
	Body                                        any
}

// Each curl command sends the request that the document describes. It runs in a shell, against a server that
// records the request.
func TestCurl(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"curl", "openssl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("there is no %s here", tool)
		}
	}
	arrived := make(chan sent, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		arrived <- sent{r.Method, r.RequestURI, r.Header.Get("X-API-Key"), r.Header.Get("Authorization"), r.Header.Get("Content-Type"), r.Header.Get("X-Event"), decoded(text)}
	}))
	defer server.Close()
	for _, r := range requests() {
		command := exec.CommandContext(t.Context(), "sh", "-ec", strings.NewReplacer(Base, server.URL, "http://127.0.0.1:3000", server.URL).Replace(r.curl()))
		command.Env = append(os.Environ(), "KEY=the key", "TOKEN=the token", "SECRET=the secret")
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", r.id(), err, out)
		}
		if got, want := <-arrived, r.expected(t); !reflect.DeepEqual(got, want) {
			t.Errorf("%s sends\n%+v, not\n%+v", r.id(), got, want)
		}
	}
}

// expected returns the request that the document describes.
func (r request) expected(t *testing.T) sent {
	t.Helper()
	target, err := url.Parse(r.address())
	if err != nil {
		t.Fatal(err)
	}
	mediaType, example := r.body()
	want := sent{Method: r.method, URI: target.RequestURI(), ContentType: mediaType, Body: decoded([]byte(r.bodyText()))}
	switch r.access() {
	case "API key":
		want.Key = "the key"
	case "superuser's token":
		want.Token = "the token"
	}
	if r.isWebhook {
		want.URI, want.Event, want.Body = "/contactbase", r.path, decoded([]byte(example.json("")))
	}
	return want
}

// decoded returns JSON as a value, and other text as it is.
func decoded(text []byte) (value any) {
	if json.Unmarshal(text, &value) != nil {
		return string(text)
	}
	return value
}

// requests returns all requests of the document.
func requests() (all []request) {
	for _, kind := range []string{"paths", "webhooks"} {
		for path, item := range parse().get(kind).pairs() {
			for method, operation := range item.pairs() {
				if method != "parameters" {
					all = append(all, request{strings.ToUpper(method), path, kind == "webhooks", item, operation})
				}
			}
		}
	}
	return all
}

// The Go examples compile with the client that is shipped.
func TestGoSamples(t *testing.T) {
	t.Parallel()
	client, err := filepath.Abs("../../clients/go")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for _, r := range requests() {
		if r.goSample() == "" {
			continue
		}
		name := strings.ToLower(r.id())
		write(t, filepath.Join(folder, name, "sample.go"), "package "+name+"\n\n"+goImports(r.goSample())+"\nfunc run(ctx context.Context) error {\n"+goStatements(r)+"}\n")
	}
	sums, err := os.ReadFile(filepath.Join(client, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	module, err := os.ReadFile(filepath.Join(client, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	// behind the line with its name: the version of Go, and what it requires
	_, needed, _ := strings.Cut(string(module), "\n")
	write(t, filepath.Join(folder, "go.mod"), "module samples\n"+needed+"\nrequire contactbase/clients/go v0.0.0\nreplace contactbase/clients/go => "+client+"\n")
	write(t, filepath.Join(folder, "go.sum"), string(sums))
	vet := exec.CommandContext(t.Context(), "go", "vet", "-mod=mod", "./...")
	vet.Dir, vet.Env = folder, append(os.Environ(), "GOWORK=off", "GOTOOLCHAIN=local")
	if out, err := vet.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

var goImportLine = regexp.MustCompile(`(?m)^import .*\n+`)

// goImports returns the imports of a sample, with those of the standard library that it takes for granted.
func goImports(code string) string {
	imports := strings.Join(goImportLine.FindAllString(code, -1), "") + "import \"context\"\n"
	for _, name := range []string{"fmt", "io", "net/http", "os", "time"} {
		if strings.Contains(code, name[strings.LastIndex(name, "/")+1:]+".") {
			imports += "import \"" + name + "\"\n"
		}
	}
	return imports
}

// goStatements returns the sample as the body of a function.
func goStatements(r request) string {
	statements := goImportLine.ReplaceAllString(r.goSample(), "")
	if r.isWebhook {
		return statements // they end with a return
	}
	return statements + "\nreturn nil\n"
}

// The TypeScript examples fit the types of the client that is shipped.
func TestTypeScriptSamples(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "runs the TypeScript compiler, which needs Node.js; TestGoSamples compiles the others")
	client, err := filepath.Abs("../../clients/typescript")
	if err != nil {
		t.Fatal(err)
	}
	compiler := filepath.Join(client, "node_modules", ".bin", "tsc")
	if _, err := os.Stat(compiler); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("the samples are not checked, which needs `npm ci` in clients/typescript")
	}
	folder := t.TempDir()
	for _, r := range requests() {
		if r.typeScript() == "" {
			continue
		}
		write(t, filepath.Join(folder, r.id()+".ts"), r.typeScript()+"\nexport {};\n")
	}
	write(t, filepath.Join(folder, "package.json"), `{"type":"module"}`)
	write(t, filepath.Join(folder, "tsconfig.json"), `{"extends":"`+client+`/tsconfig.json","include":["*.ts"],"compilerOptions":{"noEmit":true,"rootDir":"/",`+
		`"typeRoots":["`+client+`/node_modules/@types"],"paths":{"contactbase":["`+client+`/src/index.ts"],"contactbase/*":["`+client+`/src/*.ts"]}}}`)
	if out, err := exec.CommandContext(t.Context(), compiler, "--project", folder).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// Each Python example sends the request that the document describes. Those of receivers are only compiled.
func TestPythonSamples(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3 here")
	}
	client, err := filepath.Abs("../../clients/python")
	if err != nil {
		t.Fatal(err)
	}
	arrived := make(chan sent, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		arrived <- sent{Method: r.Method, URI: r.URL.EscapedPath() + "?" + r.URL.Query().Encode(), Key: token, ContentType: r.Header.Get("Content-Type"), Body: decoded(text)}
		body := `{"data":[],"hasMore":false,"cursor":"c"}`
		if r.Method != http.MethodGet || strings.HasPrefix(r.URL.Path, "/api/ext/v1/contacts/") {
			body = `{"data":{"id":"a","name":"b","count":1,"results":[],"url":"c"}}`
		}
		_, _ = io.WriteString(w, body)
	}))
	defer server.Close()
	for _, r := range requests() {
		code := r.python()
		if code == "" {
			continue
		}
		if r.isWebhook {
			code = "compile(" + strconv.Quote(code) + ", 'receiver', 'exec')"
		}
		command := exec.CommandContext(t.Context(), python, "-c", strings.ReplaceAll(code, Base, server.URL))
		command.Env = append(os.Environ(), "CONTACTBASE_KEY=the key", "PYTHONPATH="+client, "PYTHONDONTWRITEBYTECODE=1")
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s\n%s", r.id(), err, out, code)
		}
		if r.isWebhook {
			continue
		}
		got, want := <-arrived, r.expected(t)
		target, err := url.Parse(want.URI)
		if err != nil {
			t.Fatal(err)
		}
		if want.URI = target.EscapedPath() + "?" + target.Query().Encode(); r.id() == "listEvents" {
			want.URI = strings.Replace(want.URI, "&types", "&limit=1000&types", 1) // its pages are as large as possible
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s sends\n%+v, not\n%+v", r.id(), got, want)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The examples use the shipped clients for each operation that an API key can call and each event, and only for these.
func TestClientsAreShown(t *testing.T) {
	t.Parallel()
	for _, r := range requests() {
		isTheirs := r.isWebhook || r.access() == "API key"
		for language, sample := range map[string]string{"Go": r.goSample(), "TypeScript": r.typeScript(), "Python": r.python()} {
			if uses := sample != ""; uses != isTheirs {
				t.Errorf("%s: the client is used in %s (%v), and an API key calls it (%v)", r.id(), language, uses, isTheirs)
			}
		}
		if text := r.goSample() + r.typeScript() + r.python(); regexp.MustCompile(`[({, ]\{[\w-]+\}[),}]`).MatchString(strings.ReplaceAll(text, "import {", "")) {
			t.Errorf("%s has a place without a value:\n%s", r.id(), text)
		}
	}
}

func TestShell(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"plain-1", "", "it's", "a b", "$HOME `x` \\ \" \n!", "ü"} {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", "printf %s "+shell(word)).Output()
		if err != nil || string(out) != word {
			t.Errorf("%q comes back as %q (%v)", word, out, err)
		}
	}
}

// A property has its type, its limits and the properties below it.
func TestProperty(t *testing.T) {
	t.Parallel()
	groups := Groups()
	find := func(id string) Operation {
		for _, group := range groups {
			if i := slices.IndexFunc(group.Operations, func(o Operation) bool { return o.ID == id }); i >= 0 {
				return group.Operations[i]
			}
		}
		t.Fatalf("there is no %s", id)
		return Operation{}
	}
	batch := find("writeContacts").Bodies[0].Schema.Properties[0]
	if batch.Name != "items" || batch.Type != "array of object" || !batch.Required || !slices.Equal(batch.Limits, []string{"1 to 1000 items"}) {
		t.Errorf("the items of a batch are %+v", batch)
	}
	action := batch.Properties[0]
	if action.Name != "action" || !action.Required || !slices.Equal(action.Values, []string{"create", "update", "upsert", "delete"}) {
		t.Errorf("the action of an item is %+v", action)
	}
	if fields := batch.Properties[3]; fields.Name != "contact" || len(fields.Properties) < 5 || fields.Properties[1].Type != "email or null" {
		t.Errorf("the contact of an item is %+v", fields)
	}
	if operation := find("getContact"); len(operation.Parameters) != 3 || len(operation.Answers) < 5 || operation.Access != "API key" {
		t.Errorf("the operation is %+v", operation)
	}
}
