package testkit_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"contactbase/internal/charset"
	"contactbase/internal/idempotency"
	"contactbase/internal/inbound"
	"contactbase/internal/inbound/payload"
	"contactbase/internal/move"
	"contactbase/internal/testkit"
	"contactbase/internal/wire"
)

const (
	asJSON = "application/json"
	asForm = "application/x-www-form-urlencoded"
)

// bodies are JSON bodies that could cost more than their share.
var bodies = map[string]generator{
	"a long text": repeat(`{"name":"`, "a", `"}`),
	"escapes":     repeat(`{"name":"`, `\u00e9\n`, `"}`),
	"accents":     repeat(`{"name":"e`, `\u0301`, `"}`),
	"spaces":      repeat("", " ", "{}"),
	"nesting":     repeat(`{"a":`, "[", ""),
	"closed nesting": func(n int) []byte {
		return []byte(`{"a":` + strings.Repeat("[", n) + strings.Repeat("]", n) + "}")
	},
	"nested objects": func(n int) []byte {
		return []byte(strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n))
	},
	"properties":           number(`{"name":"a"`, `,"x%d":"a"`, "}"),
	"equal properties":     repeat(`{"name":"a"`, `,"name":"a"`, "}"),
	"long properties":      repeat(`{"name`, "name ", `":"a"}`),
	"properties of emails": number(`{"name":"a"`, `,"email %d":"a@b.example"`, "}"),
	"properties of phones": number(`{"name":"a"`, `,"phone%d":"1"`, "}"),
	"names and halves":     number(`{"name":"a"`, `,"first name %d":"a","last name %d":"b"`, "}"),
	"a list of addresses":  repeat(`{"emails":["a"`, `,{"email":"a","primary":false}`, "]}"),
	"a list of phones":     repeat(`{"phones":["1"`, `,{"number":"1","type":"x"}`, "]}"),
	"items":                repeat(`[{"email":"a@b.example"}`, `,{"email":"a@b.example"}`, "]"),
	"blank items":          repeat(`[{}`, `,{}`, "]"),
	"values":               repeat(`[1`, `,1`, "]"),
	"questions": number(`{"answers":[{"label":"a","value":"b"}`,
		`,{"label":"email %d","value":"c","type":"email"}`, "]}"),
	"equal questions": repeat(`[{"question":"a","answer":"b"}`, `,{"question":"email","answer":"c"}`, "]"),
	"contacts in a list": number(`{"contacts":[{"email":"a@b.example"}`,
		`,{"email":"a%d@b.example","fields":{"first_name":"a"}}`, "]}"),
	"objects in objects": number(`{"data":{"a":1`, `,"b%d":{"email":{"value":"x"}}`, "}}"),
	"JSON in a text": func(n int) []byte {
		return []byte(`{"rawRequest":"{\"a\":[` + strings.Repeat("1,", n) + `1]}"}`)
	},
	"people in a list":             number(`{"data":{"people":[{"a":1}`, `,{"email":"a%d@b.example","from":"c@b.example"}`, "]}}"),
	"one person often":             repeat(`{"data":{"people":[{"a":1}`, `,{"customer":{"email":"a@b.example"}}`, "]}}"),
	"parts of a person":            number(`{"email":"a@b.example"`, `,"part%d":{"email":"a@b.example","first_name":"a"}`, "}"),
	"addresses":                    number(`{"email":"a@b.example","billing":{"a":1`, `,"phone %d":"1","last name %d":"b"`, "}}"),
	"lists with a primary element": number(`{"primary_email_id":"x"`, `,"emails %[1]d":[{"id":"y"},{"id":"z"}],"primary_email_%[1]d":"1"`, "}"),
	"spellings of from":            number(`{"to":"1"`, `,"from %d":"+4930123456","from":"incoming"`, "}"),
	"envelopes":                    number(`[{}`, `,{"type":"x","data":{"object":{"answers":[{"label":"email","value":"a%d@b.example"}]}}}`, "]"),
	"texts in an object":           number(`{"data":{"a":1`, `,"b%d":"[1]"`, "}}"),
	"people beside":                number(`{"data":{"a":1`, `,"created by %d":{"email":"a@b.example"}`, "}}"),
	"spellings of a text":          number(`{"data":[{"label":"email"`, `,"va%d":"a","v-a-l-u-e":"a@b.example"`, "}]}"),
	"a number":                     repeat(`{"name":1`, "0", "}"),
	"batch items":                  number(`{"items":[{"action":"x"}`, `,{"action":"create","contact":{"name":"%d"}}`, "]}"),
	"batch of blanks":              repeat(`{"items":[{}`, ",{}", "]}"),
	"not JSON":                     repeat("", "a", ""),
	"bytes":                        repeat(`{"name":"`, "\xff", `"}`),
}

// forms are forms that could cost more than their share.
var forms = map[string]generator{
	"a long charset": func(n int) []byte {
		pairs := strings.Repeat("a=1&", min(n/16, 4_000))
		return []byte(pairs + "a=%FF&_charset_=" + strings.Repeat("x", max(0, n-len(pairs))))
	},
	"fields":           number("", "x%d=a&", ""),
	"equal fields":     repeat("", "email=a&", ""),
	"blank fields":     repeat("", "&", ""),
	"a list":           repeat("", "a[]=1&", ""),
	"a numbered list":  number("", "a[%d]=1&", ""),
	"nested fields":    repeat("a", "[b]", "=1"),
	"open brackets":    repeat("a", "[", "=1"),
	"fields in fields": number("", "a[b%d][c]=1&", ""),
	"escapes":          repeat("a=", "%41", ""),
	"wrong escapes":    repeat("a=", "%4", ""),
	"questions":        number("", "q%d_emailAddress=a&", ""),
	"JSON in a field":  repeat("rawRequest={\"a\":[1", ",1", "]}"),
}

// mappings read what they can find anywhere.
var mappings = []string{
	"", `{"fields":{"email":"*.e*l","name":{"join":["*.first*","*.last?name"]}}}`,
	`{"items":"@this|@flatten","fields":{"email":["a.#.b","email"]}}`,
	`{"items":"contacts.#(email%\"*a*\")#","fields":{"email":"@values|@reverse|0"}}`,
	`{"fields":{"email":"@answer:email","name":"@keys|@reverse|0"},"action":"event","deleteWhen":["gone"]}`,
	`{"items":"a.#(b==1)#|@flatten","fields":{"email":"[email,a,@this]|@flatten|@flatten|0","phone":"rawRequest.@fromstr.a.#"}}`,
}

// Reading what senders post is linear, with and without a mapping or a preset.
func TestHostilePayloads(t *testing.T) {
	app := testkit.NewApp(t)
	webhook := &inbound.Webhook{TenantID: testkit.Tenant(t, app, "Acme")}
	var read []*payload.Mapping
	for _, text := range mappings {
		mapping, err := payload.ParseMapping([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		read = append(read, mapping)
	}
	for _, preset := range payload.Presets() {
		mapping, err := payload.ParseMapping([]byte(`{"preset":"` + preset.Name + `"}`))
		if err != nil {
			t.Fatalf("%s: %v", preset.Name, err)
		}
		read = append(read, mapping)
	}
	for contentType, inputs := range map[string]map[string]generator{asJSON: bodies, asForm: forms, "multipart/form-data; boundary=x": {
		"parts": number("", "--x\r\nContent-Disposition: form-data; name=\"a%d\"\r\n\r\n1\r\n", "--x--\r\n"),
		"files": repeat("", "--x\r\nContent-Disposition: form-data; name=\"a\"; filename=\"b\"\r\n\r\n1\r\n",
			"--x--\r\n"),
		"a long part":   repeat("--x\r\nContent-Disposition: form-data; name=\"email\"\r\n\r\n", "\r\n--", "\r\n--x--\r\n"),
		"headers":       repeat("--x\r\n", "A: b\r\n", "\r\n\r\n--x--\r\n"),
		"a long header": repeat("--x\r\nContent-Disposition: form-data", "; a=b", "\r\n\r\n1\r\n--x--\r\n"),
		"boundaries":    repeat("", "--x\r\n", "--x--\r\n"),
	}} {
		linear(t, inputs, func(_ *testing.T, input []byte) {
			for _, mapping := range read {
				_, _ = payload.Decode(contentType, input, mapping, payload.Own{Name: "score"})
			}
			_, _ = inbound.Read(app, webhook, contentType, input)
		})
	}
}

// Reading the name of an encoding is linear.
func TestHostileLabels(t *testing.T) {
	linear(t, map[string]generator{
		"a word": repeat("", "x", ""), "dashes": repeat("utf", "-", "8"), "spaces": repeat("", " ", "utf8"),
		"capitals": repeat("", "\u0130", ""),
	}, func(_ *testing.T, input []byte) {
		charset.IsUTF8(string(input))
		charset.Named(string(input))
	})
}

// What is stored of a body is found in linear time, and shown in a time that its text limits.
func TestHostileStoredBodies(t *testing.T) {
	linear(t, bodies, func(_ *testing.T, input []byte) { payload.Keep(asJSON, input) })
	linear(t, forms, func(_ *testing.T, input []byte) { payload.Keep(asForm, input) })
	zipped := func(content generator) generator {
		return func(n int) []byte {
			var file bytes.Buffer
			w := gzip.NewWriter(&file)
			_, _ = w.Write(content(n))
			_ = w.Close()
			return file.Bytes()
		}
	}
	linear(t, map[string]generator{
		"plain":      repeat("", "a", ""),
		"zeros":      zipped(repeat("", "\x00", "")),
		"bytes":      zipped(repeat("", "\xff", "")),
		"no stream":  repeat("\x1f\x8b", "\x00", ""),
		"a name":     repeat("\x1f\x8b\x08\x08\x00\x00\x00\x00\x00\x00", "a", ""),
		"streams":    repeat("", string(zipped(repeat("", "a", ""))(1)), ""),
		"no body":    repeat("\xff", "a", ""),
		"many zeros": zipped(repeat("", strings.Repeat("\x00", 100), "")),
	}, func(_ *testing.T, input []byte) { inbound.BodyText(string(input), payload.MaxBody) })
}

// Reading a mapping is linear.
func TestHostileMappings(t *testing.T) {
	linear(t, map[string]generator{
		"a long path":     repeat(`{"fields":{"email":"a`, ".a", `"}}`),
		"queries":         repeat(`{"fields":{"email":"a`, ".#(b==1)#", `"}}`),
		"modifiers":       repeat(`{"fields":{"email":"a`, "|@flatten", `"}}`),
		"selections":      repeat(`{"fields":{"email":"`, "[a,", `"}}`),
		"a selection":     repeat(`{"fields":{"email":"[a`, ",a", `]"}}`),
		"escapes":         repeat(`{"fields":{"email":"`, `\\.`, `"}}`),
		"stars":           repeat(`{"fields":{"email":"`, `*?`, `"}}`),
		"paths":           repeat(`{"fields":{"email":["a"`, `,"a"`, `]}}`),
		"paths of a name": repeat(`{"fields":{"name":{"join":["a"`, `,"a"`, `]}}}`),
		"fields":          number(`{"fields":{"a":"a"`, `,"x%d":"a"`, `}}`),
		"values":          number(`{"deleteWhen":["a"`, `,"%d"`, `]}`),
		"nesting":         repeat(`{"fields":`, `{"a":`, ""),
	}, func(_ *testing.T, input []byte) { _, _ = payload.ParseMapping(input) })
}

// Checking signatures and handshakes is linear in the header and in the body.
func TestHostileSignatures(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	secret := "whsec_" + base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdef"))
	verify := func(_ *testing.T, input []byte) {
		header := http.Header{}
		for _, name := range []string{
			"Webhook-Signature", "Svix-Signature", "X-Signature", "X-Shopify-Hmac-Sha256", "X-Wc-Webhook-Signature",
			"Typeform-Signature",
			"Tally-Signature", "Calendly-Webhook-Signature", "Stripe-Signature", "X-Hub-Signature-256", "X-Hubspot-Signature-V3",
			"Webhook-Timestamp", "Webhook-Id", "X-Hubspot-Request-Timestamp", "X-Hook-Secret",
			"X-Zm-Signature", "X-Zm-Request-Timestamp", "X-Hub-Signature", "Framer-Signature", "X-Gitlab-Token",
		} {
			header.Set(name, string(input))
		}
		sent := &inbound.Signed{Method: http.MethodPost, URL: "https://example.com/" + string(input), Header: header,
			Body: input}
		for _, scheme := range append(inbound.Schemes(), "") {
			_, _ = inbound.VerifySignature(&inbound.Verification{
				Secret: secret, Scheme: scheme, Header: "X-Signature", Timestamp: "Webhook-Timestamp",
			}, sent, now)
		}
	}
	linear(t, map[string]generator{
		"signatures":         repeat("", "v1,YQ== ", ""),
		"signatures by time": repeat("t=1700000000", ",v1=61", ""),
		"times":              repeat("", "t=1700000000,", ""),
		"commas":             repeat("", ",", ""),
		"spaces":             repeat("", " ", ""),
		"digits":             repeat("", "1", ""),
		"escapes":            repeat("", "%3A", ""),
	}, verify)
	linear(t, bodies, func(_ *testing.T, input []byte) {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			request := httptest.NewRequest(method, "/", nil)
			request.URL.RawQuery = string(input)
			_, _ = inbound.HandshakeOf(request, &inbound.Webhook{
				Verify: inbound.Verification{Scheme: "zoom", Secret: secret},
			}, input)
		}
		(&inbound.Webhook{}).RepeatOf(http.Header{}, input, nil)
		wire.Measure(input)
		wire.WithoutMark(input)
		idempotency.Fingerprint(input)
		idempotency.ID(string(input))
	})
}

// Reading the archive of a tenant is linear.
func TestHostileArchives(t *testing.T) {
	app := testkit.NewApp(t)
	const passphrase = "correct horse battery staple"
	sealed := func(content generator) generator {
		return func(n int) []byte {
			recipient, err := age.NewScryptRecipient(passphrase)
			if err != nil {
				panic(err)
			}
			recipient.SetWorkFactor(1)
			var file bytes.Buffer
			encrypted, err := age.Encrypt(&file, recipient)
			if err != nil {
				panic(err)
			}
			compressed := gzip.NewWriter(encrypted)
			_, _ = compressed.Write(content(n))
			_ = compressed.Close()
			_ = encrypted.Close()
			return file.Bytes()
		}
	}
	linear(t, map[string]generator{
		"recipients":        repeat("age-encryption.org/v1\n", "-> a b\n\n", "---"),
		"a long recipient":  repeat("age-encryption.org/v1\n-> a", " b", "\n"),
		"a long body":       repeat("age-encryption.org/v1\n-> a\n", strings.Repeat("A", 64)+"\n", ""),
		"zeros":             sealed(repeat("", "\x00", "")),
		"a database":        sealed(repeat("SQLite format 3\x00", "\x10\x00\x02", "")),
		"an empty database": sealed(repeat("SQLite format 3\x00\x10\x00\x01\x01\x00\x40\x20\x20", "\x00", "")),
	}, func(t *testing.T, input []byte) {
		target := &move.Target{App: app, Passphrase: passphrase, Room: math.MaxInt64, Progress: func(int, int) {}}
		if _, err := target.Import(t.Context(), bytes.NewReader(input)); err == nil {
			t.Error("it is imported")
		}
	})
}

// The API, the tools for language models and inbound webhooks read bodies in linear time.
func TestHostileRequests(t *testing.T) {
	app := testkit.NewApp(t)
	tenant := testkit.Record(t, app, "tenants",
		map[string]any{"name": "Acme", "apiEnabled": true, "rateLimit": 100_000_000}).Id
	base, key := testkit.Serve(t, app), testkit.Key(t, app, tenant)
	linear(t, bodies, func(t *testing.T, input []byte) {
		for _, path := range []string{"/api/ext/v1/contacts", "/api/ext/v1/contacts/batch", "/api/ext/v1/contacts/x/merge",
			"/mcp"} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+path, bytes.NewReader(input))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Authorization", "Bearer "+key)
			request.Header.Set("Content-Type", asJSON)
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, response.Body)
			response.Body.Close()
			if response.StatusCode >= 500 || response.StatusCode == http.StatusTooManyRequests {
				t.Errorf("%s answers %s", path, response.Status)
			}
		}
	})
}
