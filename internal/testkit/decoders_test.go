package testkit_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// notDecoding has the folders whose functions read nothing that customers, guests or their files send, with the reason.
var notDecoding = map[string]string{
	"internal/testkit": "helps tests", "internal/testenv": "helps tests", "internal/delivery/storetest": "helps tests",
	"internal/replica": "reads what it has written itself", "internal/backup": "reads what it has written itself",
	"internal/demo": "receives from this program", "internal/listen": "a client of this program",
	"internal/safehttp": "is below what reads", "docs": "reads embedded files",
}

// textual are the packages that read texts from outside in all their functions.
var textual = []string{
	"internal/charset", "internal/contact/names", "internal/contact/sheet", "internal/webhook/filter", "internal/inbound/payload",
}

var (
	fromOutside = []string{
		"io.Reader", "io.ReaderAt", "io.ReadCloser", "[]byte", "url.Values", "*http.Request", "http.Header",
	}
	readsText = regexp.MustCompile(`^(Parse|Read|Decode|Compile|Unmarshal|Verify|Match|Is|Custom)`)
)

// decoders has the functions that read what comes from outside, by the test with hostile inputs for them, or by the
// reason why they need none.
var decoders = map[string]string{
	"TestHostileCSV": `
		internal/contact/sheet.NewReader internal/contact/sheet.Known internal/charset.Guess
		internal/charset.mixed.Transform internal/charset.Survey.Result internal/charset.Survey.Read internal/charset.Result.NewReader internal/charset.Result.Text internal/charset.UTF16
		internal/contact/sheet.Cut internal/contact/sheet.Trim internal/contact/sheet.Pad
	`,
	"TestHostileLabels": `
		internal/charset.IsUTF8 internal/charset.Named
	`,
	"TestHostileWorkbooks": `
		internal/xlsx.Open
	`,
	"TestHostileNames": `
		internal/contact/names.IsHalf internal/contact/names.Whole internal/contact/names.Of
		internal/contact/names.Known internal/contact/names.IsID internal/contact/names.IsPerson
		internal/contact/names.IsTotal internal/contact/names.All internal/contact/names.Fold
		internal/contact/names.IsAside internal/contact/names.IsContact internal/contact/names.IsUniversal
		internal/contact/names.Country
	`,
	"TestHostileValues": `
		internal/contact.ParseChanges internal/contact.CustomInput internal/contact.ReadEmail
		internal/contact.ReadPhone internal/contact.IsCountry internal/contact/custom.Read
		internal/contact/custom.ReadJSON internal/contact/custom.IsNoValue internal/contact/written.IsNoValue internal/contact/written.IsOrder internal/contact/sheet.Choices.Parser
		internal/contact/sheet.Parser.Item internal/contact/sheet.Suggest
	`,
	"TestHostileQueries": `
		internal/contact/list.ParseCursor internal/contact/list.ParseDuplicatesQuery internal/contact/list.ParsePage internal/contact/list.ParseFilters
		internal/event.ParseQuery internal/event.ParseCursor internal/wire.Parameters[T].Read internal/stamp.Parse
	`,
	"TestHostileFilters": `
		internal/webhook/filter.Parse internal/webhook/filter.Compile internal/webhook/filter.Names
	`,
	"TestHostileSettings": `
		internal/settings.Read
	`,
	"TestHostilePayloads": `
		internal/inbound/payload.Decode internal/inbound.Read internal/wire.AppendString internal/wire.AppendJSON
		internal/contact.IsOptional internal/inbound/payload.IgnoredWarning
		internal/inbound/payload.MissingWarning
	`,
	"TestHostileStoredBodies": `
		internal/inbound/payload.Keep
	`,
	"TestHostileMappings": `
		internal/inbound/payload.ParseMapping
	`,
	"TestHostileSignatures": `
		internal/inbound.HandshakeOf internal/inbound.Webhook.RepeatOf
		internal/wire.Measure internal/wire.WithoutMark internal/idempotency.Fingerprint internal/secret.HMAC
	`,
	"TestHostileArchives": `
		internal/move.Target.Import
	`,
	"TestHostileRequests": `
		internal/body.Of internal/body.CountFor internal/mcp.Server.Answer internal/mcp.IsTool
		routes/envelope.ReadProperties routes/envelope.DecodeObject
	`,
	"TestHostileStreams": `
		internal/sse.IsPreferred internal/sse.NewStream internal/sse.Stream.Send internal/sse.AppendEvent internal/sse.AppendID
	`,
	"a form of PocketBase's, whose size is limited before": `
		internal/body.Body.ParseForm
	`,
	"a header or the line of a request, of which net/http reads at most 1 MiB": `
		internal/health.ServeLive internal/health.Monitor.ServeReady
		internal/visitor.ReadPorts internal/inbound/payload.Mapping.WithTopic
	`,
	"what this program has written": `
		internal/broker.Broker.Deliver internal/contact.Contact.AppendJSON internal/contact.Tag
		internal/contact/custom.Readable internal/delivery.Sign internal/delivery.SignStandard
		internal/delivery.Inspector.Deliver internal/delivery.IsSending internal/event.ReadPage
		internal/overview.ReadLanding internal/secret.IsSealed internal/sqlite.IsRefused
		internal/sqlite/physical.Parse internal/visitor.IsKnown
		internal/stamp.AppendShown internal/contact/sheet.Export internal/contact/sheet.NewWriter
		internal/contact/sheet.KindOf internal/contact/sheet.KindOfRow
	`,
	"choices of a person, at most one for each of 200 columns": `
		internal/contact/sheet.Suggestion.Choose internal/contact/sheet.Mapping.Remarks
		internal/contact/sheet.Mapping.Value internal/contact/sheet.Mapping.Ignored internal/contact/sheet.FormatOf
		internal/contact/sheet.Format.For internal/contact/sheet.JoinCards
	`,
	"what a function with hostile inputs has read or reads": `
		internal/contact/imports.Open internal/contact/imports.Store internal/contact/search.Advisor.Match
		internal/inbound.Record internal/overview.PreviewFilter
	`,
	"a flag": `
		internal/sqlite.ParseDurability
	`,
}

// Every function that reads what comes from outside has hostile inputs.
func TestDecodersHaveHostileInputs(t *testing.T) {
	t.Parallel()
	tests, found := hostileTests(t), decodersIn(t, filepath.Join("..", ".."))
	for why, names := range decoders {
		if strings.HasPrefix(why, "Test") && !slices.Contains(tests, why) {
			t.Errorf("there is no test %s", why)
		}
		for _, name := range strings.Fields(names) {
			at := slices.Index(found, name)
			if at < 0 {
				t.Errorf("%s does not exist, or is listed twice: remove it from decoders", name)
				continue
			}
			found = slices.Delete(found, at, at+1)
		}
	}
	for _, name := range found {
		t.Errorf("%s reads what comes from outside: add hostile inputs for it, and its name to decoders", name)
	}
}

// hostileTests returns the names of the tests in this folder.
func hostileTests(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		for _, function := range functionsIn(t, file) {
			names = append(names, function.Name.Name)
		}
	}
	return names
}

// decodersIn returns the exported functions and methods that read what comes from outside, such as
// "internal/xlsx.Open".
func decodersIn(t *testing.T, root string) (names []string) {
	t.Helper()
	for _, top := range []string{"internal", "routes", "hooks", "docs"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			folder, err := filepath.Rel(root, path)
			folder = filepath.ToSlash(folder)
			if entry.IsDir() && (notDecoding[folder] != "" || entry.Name() == "testdata") {
				return fs.SkipDir
			}
			if entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			folder = filepath.ToSlash(filepath.Dir(folder))
			for _, function := range functionsIn(t, path) {
				name := folder + "." + nameOf(function)
				if ast.IsExported(function.Name.Name) && decodes(folder, function) && !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return names
}

func functionsIn(t *testing.T, path string) (functions []*ast.FuncDecl) {
	t.Helper()
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, declaration := range file.Decls {
		if function, ok := declaration.(*ast.FuncDecl); ok {
			functions = append(functions, function)
		}
	}
	return functions
}

// nameOf returns the name of a function, with the type of its receiver if it is a method.
func nameOf(function *ast.FuncDecl) string {
	if function.Recv == nil {
		return function.Name.Name
	}
	return strings.TrimPrefix(types.ExprString(function.Recv.List[0].Type), "*") + "." + function.Name.Name
}

// decodes reports whether a function takes bytes, a reader or a request, or a text that it reads. What a method Read or
// Write takes is a buffer.
func decodes(folder string, function *ast.FuncDecl) bool {
	isBuffered := function.Recv != nil && slices.Contains([]string{"Read", "ReadAt", "Write"}, function.Name.Name)
	isTextual := !isBuffered && (slices.Contains(textual, folder) || readsText.MatchString(function.Name.Name))
	for _, parameter := range function.Type.Params.List {
		kind := strings.TrimPrefix(types.ExprString(parameter.Type), "...")
		isText := slices.Contains([]string{"string", "map[string]any", "any"}, strings.TrimLeft(kind, "[]"))
		if slices.Contains(fromOutside, kind) && (!isBuffered || kind != "[]byte") || isTextual && isText {
			return true
		}
	}
	return false
}
