package list_test

import (
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/list"
	"contactbase/internal/fault"
	"contactbase/internal/testkit"
)

// at returns the time of a number, in RFC 3339.
func at(number int) string { return fmt.Sprintf("2026-01-01T00:00:00.%03dZ", number) }

// timed adds six contacts. Contact i was created at i and changed at 15-i.
func (b *book) timed(input map[string]any) (ids []string) {
	b.TB.Helper()
	for i := range 6 {
		input["name"], input["email"] = fmt.Sprintf("Ada%d", i), fmt.Sprintf("ada%d@example.com", i)
		ids = append(ids, b.Add(input).ID)
		_, err := b.App.NonconcurrentDB().Update("contacts", dbx.Params{
			"created": strings.Replace(at(i), "T", " ", 1), "updated": strings.Replace(at(15-i), "T", " ", 1),
		}, dbx.HashExp{"id": ids[i]}).Execute()
		if err != nil {
			b.TB.Fatal(err)
		}
	}
	return ids
}

// expectWalks expects the pages of a query, in each order and with each limit, to have the contacts at these
// positions in ids.
func (b *book) expectWalks(t *testing.T, query string, ids []string, want string) {
	t.Helper()
	for _, sort := range list.Sorts() {
		expected := strings.Split(want, "")
		if strings.HasPrefix(sort, "-") != strings.HasSuffix(sort, "updatedAt") {
			slices.Reverse(expected)
		}
		for _, limit := range []string{"1", "2", "9"} {
			values, err := url.ParseQuery(query)
			if err != nil {
				t.Fatal(err)
			}
			values.Set("sort", sort)
			values.Set("limit", limit)
			var got []string
			for _, id := range walk(t, b.App, b.Tenant, values) {
				got = append(got, fmt.Sprint(slices.Index(ids, id)))
			}
			if strings.Join(got, "") != strings.Join(expected, "") {
				t.Errorf("walking %q by %s in pages of %s gives %v, not %v", query, sort, limit, got, expected)
			}
			for _, name := range []string{"sort", "limit", "cursor"} {
				values.Del(name)
			}
			if count, more := counted(t, b.App, b.Tenant, values); count != len(want) || more {
				t.Errorf("%q counts %d (%v), not %d", query, count, more, len(want))
			}
		}
	}
}

// The time filters include and exclude the time itself as their names say: in each order, with words, and with cursors.
func TestTimeFilters(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	ids := b.timed(map[string]any{})
	(&book{*b.Other()}).timed(map[string]any{})
	for query, want := range map[string]string{
		"createdSince=" + at(2):                                         "2345",
		"createdSince=2026-01-01T01:00:00.0020001%2B01:00":              "345",
		"createdSince=2026-01-01T01:00:00.002+01:00":                    "2345",
		"createdBefore=" + at(2):                                        "01",
		"createdBefore=2026-01-01T00:00:00.0020001Z":                    "012",
		"createdSince=" + at(1) + "&createdBefore=" + at(4):             "123",
		"createdSince=" + at(4) + "&createdBefore=" + at(1):             "",
		"updatedSince=" + at(13):                                        "012",
		"updatedBefore=" + at(13):                                       "345",
		"updatedSince=" + at(11) + "&updatedBefore=" + at(14):           "234",
		"createdSince=" + at(1) + "&updatedSince=" + at(12):             "123",
		"createdBefore=" + at(4) + "&updatedBefore=" + at(14):           "23",
		"createdSince=2000-01-01T00:00:00Z":                             "012345",
		"createdBefore=2000-01-01T00:00:00Z":                            "",
		"createdSince=2999-01-01T00:00:00Z":                             "",
		"createdBefore=9999-12-31T23:59:59Z":                            "012345",
		"createdSince=" + at(2) + "&email=ada3@example.com":             "3",
		"createdSince=" + at(4) + "&email=ada3@example.com":             "",
		"createdSince=" + at(1) + "&createdBefore=" + at(4) + "&q=ada3": "3",
	} {
		b.expectWalks(t, query, ids, want)
		if !strings.Contains(query, "q=") {
			b.expectWalks(t, query+"&q=ada+example", ids, want)
		}
	}
}

// A page of a list that is filtered by creation begins where the cursor is, even if the cursor comes from another list.
func TestTimeFiltersWithAStrangeCursor(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	ids := b.timed(map[string]any{})
	for _, words := range []string{"", "ada"} {
		q := list.Query{Limit: 9, Sort: "createdAt"}
		q.Words, q.Times = strings.Fields(words), map[string]string{"createdSince": "2026-01-01 00:00:00.003Z"}
		q.Cursor = &list.Cursor{Sort: q.Sort, Value: "2026-01-01 00:00:00.001Z", ID: ids[1]}
		if got := b.page(q); !slices.Equal(got, ids[3:]) {
			t.Errorf("with the words %q a page has %d contacts", words, len(got))
		}
	}
}

// Fields with an index filter in each order, together with the other filters.
func TestIndexedFilters(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	testkit.AddFields(t, b.App, &core.BoolField{Name: "vip"}, &core.TextField{Name: "order"})
	for _, field := range []string{"company", "vip", "order"} {
		if err := list.AddIndex(b.App, field); err != nil {
			t.Fatal(err)
		}
	}
	ids := b.timed(map[string]any{"company": "Engines", "vip": true, "order": "first"})
	(&book{*b.Other()}).timed(map[string]any{"company": "Engines", "vip": true, "order": "first"})
	b.Add(map[string]any{"name": "Ada6", "company": "Engine", "order": "second"})
	for _, filter := range []string{"company=Engines", "vip=true", "order=first", "vip=true&company=Engines&order=first"} {
		for query, want := range map[string]string{
			"":                             "012345",
			"&q=ada":                       "012345",
			"&q=ada3":                      "3",
			"&createdSince=" + at(2):       "2345",
			"&createdBefore=" + at(2):      "01",
			"&updatedBefore=" + at(13):     "345",
			"&email=ada1@example.com":      "1",
			"&q=ada&createdSince=" + at(4): "45",
		} {
			b.expectWalks(t, filter+query, ids, want)
		}
	}
}

// Filters are read without an order and pages, which are parameters of lists alone. A list names the errors in both.
func TestFiltersAreApartFromPages(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	given := url.Values{"q": {"ada lovelace"}, "email": {"Ada@example.com"}, "updatedSince": {at(7)}}
	filter, err := list.ParseFilters(app, given)
	if err != nil || len(filter.Words) != 2 || filter.Equal["email"] == "" || filter.Times["updatedSince"] == "" {
		t.Errorf("the filter is %+v (%v)", filter, err)
	}
	given.Set("limit", "9")
	if page, err := list.ParsePage(app, given); err != nil || page.Limit != 9 || !reflect.DeepEqual(page.Filter, filter) {
		t.Errorf("the page is %+v (%v), and its filter %+v", page, err, filter)
	}
	for _, name := range []string{"limit", "offset", "sort", "cursor"} {
		var wrong *fault.Error
		if _, err := list.ParseFilters(app, url.Values{name: {"1"}}); !errors.As(err, &wrong) ||
			wrong.Fields[name].Code != fault.CodeUnknownParameter {
			t.Errorf("the filter %s: %v", name, err)
		}
		_, err := list.ParsePage(app, url.Values{name: {"-"}, "createdBefore": {"-"}, "other": {"-"}})
		if !errors.As(err, &wrong) || len(wrong.Fields) != 3 {
			t.Errorf("the parameter %s: %v", name, err)
		}
	}
}
