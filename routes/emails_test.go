package routes_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"testing"

	"contactbase/internal/testkit"
)

// similar are pairs of different email addresses that folding or normalising would make equal.
var similar = [][2]string{
	{"info@weiß.de", "info@weiss.de"},
	{"ſam@example.com", "sam@example.com"},
	{"oﬃce@example.com", "office@example.com"},
	{"\u212Aate@example.com", "kate@example.com"},
	{"\u0130da@example.com", "ida@example.com"},
	{"zo\u00eb@example.com", "zoe\u0308@example.com"},
	{"ς@example.com", "σ@example.com"},
	{"ａda@example.com", "ada@example.com"},
}

// No operation that matches contacts by email address confuses two addresses.
func TestSimilarEmails(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	for i, pair := range similar {
		for which, email := range pair {
			other := pair[1-which]
			if got := upsertByEmail(t, client, email, fmt.Sprint("Name ", i, which)); got != "created" {
				t.Errorf("an upsert of %+q finds %+q", email, other)
			}
			if found := namesByEmail(t, client, other); len(found) != which {
				t.Errorf("a list of %+q has %v", other, found)
			}
		}
	}
	for i, pair := range similar {
		s := newSender(t, f, "full", nil)
		s.expect("updated:1", `{"email":"`+pair[0]+`","name":"Inbound"}`)
		if found := namesByEmail(t, client, pair[1]); !slices.Equal(found, []string{fmt.Sprint("Name ", i, 1)}) {
			t.Errorf("an inbound call for %+q leaves %v at %+q", pair[0], found, pair[1])
		}
		s.expect("deleted:1", `{"email":"`+pair[0]+`","action":"delete"}`)
		s.expect("ignored:1", `{"email":"`+pair[0]+`","action":"delete"}`)
		if found := namesByEmail(t, client, pair[1]); len(found) != 1 {
			t.Errorf("deleting %+q leaves %v at %+q", pair[0], found, pair[1])
		}
	}
}

// Addresses that differ only in case are equal, also outside ASCII.
func TestEmailsIgnoreCase(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	for _, pair := range [][2]string{{"Ada@Example.com", "aDA@eXAMPLE.COM"}, {"jörg@bücher.example", "JÖRG@BÜCHER.example"}, {"Δέλτα@example.gr", "δΈΛΤΑ@example.gr"}} {
		if got := upsertByEmail(t, client, pair[0], "Ada"); got != "created" {
			t.Errorf("an upsert of %q gives %s", pair[0], got)
		}
		if got := upsertByEmail(t, client, pair[1], "Ada"); got != "updated" { // by the address
			t.Errorf("an upsert of %q gives %s", pair[1], got)
		}
		if found := namesByEmail(t, client, pair[0]); len(found) != 1 {
			t.Errorf("a list of %q has %v", pair[0], found)
		}
		newSender(t, f, "full", nil).expect("deleted:1", `{"email":"`+pair[0]+`","action":"delete"}`)
	}
}

// A contact is found by its address after each change: under the new one once the address changes, under the
// same one otherwise.
func TestChangedEmails(t *testing.T) {
	t.Parallel()
	client, _ := newAPI(t)
	id := client.Do("POST", contactsPath, `{"name":"Ada","email":"old@example.com"}`).Data()["id"].(string)
	for _, change := range []struct{ body, found, gone string }{
		{`{"company":"Engines"}`, "old@example.com", "new@example.com"},
		{`{"email":"new@example.com"}`, "new@example.com", "old@example.com"},
		{`{"name":"Ada"}`, "new@example.com", "old@example.com"},
		{`{"email":null}`, "", "new@example.com"},
	} {
		if got := client.Do("PATCH", contactsPath+"/"+id, change.body); got.Status != 200 {
			t.Fatalf("%s gives %d %s", change.body, got.Status, got.Body)
		}
		if found := namesByEmail(t, client, change.gone); len(found) != 0 {
			t.Errorf("after %s, %s has %v", change.body, change.gone, found)
		}
		if change.found == "" {
			continue
		}
		if found := namesByEmail(t, client, change.found); !slices.Equal(found, []string{"Ada"}) {
			t.Errorf("after %s, %s has %v", change.body, change.found, found)
		}
	}
}

// upsertByEmail returns the item's status.
func upsertByEmail(t *testing.T, client *testkit.Client, email, name string) string {
	t.Helper()
	answer := client.Do("POST", contactsPath+"/batch", `{"items":[{"action":"upsert","match":"email","contact":{"email":"`+email+`","name":"`+name+`"}}]}`)
	if answer.Status != 200 {
		t.Fatalf("an upsert of %+q gives %d %s", email, answer.Status, answer.Body)
	}
	return answer.Data()["results"].([]any)[0].(map[string]any)["status"].(string)
}

// namesByEmail returns the names of the contacts with this address.
func namesByEmail(t *testing.T, client *testkit.Client, email string) (names []string) {
	t.Helper()
	answer := client.Do("GET", contactsPath+"?email="+url.QueryEscape(email), "")
	var page struct{ Data []struct{ Name string } }
	if err := json.Unmarshal(answer.Body, &page); err != nil || answer.Status != 200 {
		t.Fatalf("a list of %+q gives %d %s", email, answer.Status, answer.Body)
	}
	for _, c := range page.Data {
		names = append(names, c.Name)
	}
	return names
}
