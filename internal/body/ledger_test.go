package body

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"contactbase/internal/fault"
)

// tiny has 100 bytes of memory and 400 of files for each owner.
var tiny = Limits{Memory: 400, Files: 1600, Shares: 4, Silence: time.Hour, Grace: time.Hour, Rate: 1, Turn: time.Hour}

// What has arrived counts until the request has ended, for its owner and for all. What is announced does not count.
func TestArrivedBytesCount(t *testing.T) {
	t.Parallel()
	ledger := NewLedger(tiny)
	open := func(owner string) *Body {
		return newBody(ledger, Tenant(owner), strings.NewReader(strings.Repeat("a", 1000)), 1<<40)
	}
	expect := func(b *Body, bytes int, want fault.Code) {
		t.Helper()
		if err := receive(b, bytes); codeOf(err) != want || want == "" && err != nil {
			t.Errorf("%d bytes of %v give %v, want %q", bytes, b.owner, err, want)
		}
	}
	first, second := open("a"), open("a")
	expect(first, 90, "")
	expect(second, 10, "")
	expect(second, 1, fault.RateLimited)
	if second.writer.Header().Get("Connection") != "close" {
		t.Error("the connection stays open")
	}
	expect(first, 10, "") // what was refused is free at once
	second.end()
	first.end()
	var all []*Body
	for _, owner := range []string{"a", "b", "c", "d"} {
		b := open(owner)
		expect(b, 100, "")
		all = append(all, b)
	}
	stranger := open("e")
	expect(stranger, 1, fault.RateLimited)
	for _, b := range append(all, stranger) {
		b.end()
	}
	if ledger.all != (held{}) || len(ledger.owners) != 0 {
		t.Errorf("in the end there are %v of %v", ledger.all, ledger.owners)
	}
}

// Files count apart from memory, and leave space on their disk.
func TestFilesCount(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		minFree uint64
		size    int
		want    fault.Code
	}{
		"fits":      {1, 400, ""},
		"too large": {1, 401, fault.RateLimited},
		"full disk": {1 << 62, 1, fault.RateLimited},
	} {
		limits := tiny
		limits.MinFree = tc.minFree
		b := newBody(NewLedger(limits), Tenant("a"), strings.NewReader(strings.Repeat("a", tc.size)), -1)
		var file bytes.Buffer
		err := b.Save(t.Context(), &file, t.TempDir(), 1000)
		if codeOf(err) != tc.want || tc.want == "" && (err != nil || file.Len() != tc.size) {
			t.Errorf("%s: got %v and %d bytes", name, err, file.Len())
		}
		b.end()
	}
}

// Addresses of one network of IPv6 are one client.
func TestAddress(t *testing.T) {
	t.Parallel()
	if Address("2001:db8::1") != Address("2001:0db8:0000:0000:ffff::2") ||
		Address("2001:db8::1") == Address("2001:db8:0:1::1") {
		t.Error("IPv6")
	}
	if Address("192.0.2.1") == Address("192.0.2.2") || addressOf("192.0.2.1:80") != Address("192.0.2.1") {
		t.Error("IPv4")
	}
}
