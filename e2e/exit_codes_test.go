package e2e

import (
	"net"
	"strings"
	"testing"

	"contactbase/internal/testenv"
)

// A command that fails prints the reason in one line and exits with a code other than 0. A command that succeeds
// prints no error.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	i := newInstallation(t).superuser()
	tenantID := str(t, i.one("tenant", "create", "Acme"), "id")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, args := range [][]string{
		{"--help"}, {"serve", "--help"}, {"tenant", "--help"}, {"key", "create", "--help"}, {"demo", "--help"}, {"--version"},
		{"tenant", "list"}, {"key", "list"}, {"key", "list", "--tenant", "Acme"}, {"webhook", "list"}, {"inbound", "list"}, {"member", "list"},
	} {
		if got := i.run(args...); got.code != 0 || got.stderr != "" || got.stdout == "" {
			t.Errorf("%v exits with %d: %q %q", args, got.code, got.stdout, got.stderr)
		}
	}
	every := testenv.Count(6, 1) // each is a process
	for n, tc := range []struct {
		says string // a part of the error
		args []string
	}{
		{"see --help", []string{"nonsense"}},
		{"nonsense", []string{"--nonsense"}},
		{"unknown command \"import\"; did you mean contactbase contact import or contactbase tenant import?", []string{"import", "--help"}},
		{"did you mean contactbase tenant?", []string{"tenat", "list"}},
		{"put an IPv6 address in square brackets: --http [::1]:8090", []string{"serve", "--http", "::1:8090"}},
		{"see contactbase tenant --help", []string{"tenant", "nonsense"}},
		{"webhook has no command \"modify\"; see", []string{"webhook", "modify", "ID", "--url", "x"}},
		{"no webhook has the ID \"unknown\"; look it up with the list command\n", []string{"webhook", "update", "unknown", "--url", "https://example.com"}},
		{"nonsense", []string{"tenant", "create", "A", "--nonsense"}},
		{"nonsense", []string{"serve", "--nonsense"}},
		{"tenant", []string{"tenant"}},
		{"NAME is missing; usage: contactbase tenant create NAME", []string{"tenant", "create"}},
		{"unknown argument \"B\"; usage:", []string{"tenant", "create", "A", "B"}},
		{"unknown", []string{"tenant", "list", "surplus"}},
		{"--rateLimit must be a whole number, not \"many\"", []string{"tenant", "create", "A", "--rateLimit", "many"}},
		{"--yes", []string{"tenant", "delete", tenantID}},
		{"nobody", []string{"tenant", "delete", "nobody", "--yes"}},
		{"nobody", []string{"key", "create", "nobody"}},
		{"nobody", []string{"key", "list", "--tenant", "nobody"}},
		{"--expires", []string{"key", "create", "Acme", "--expires", "tomorrow"}},
		{"--permission must be contacts:read, contacts:write, contacts:delete, ", []string{"key", "create", "Acme", "--permission", "contacts:explode"}},
		{"future", []string{"key", "create", "Acme", "--expires", "2020-01-31T00:00:00Z"}},
		{"no key has the ID \"unknown\"; look it up with the list command\n", []string{"key", "revoke", "unknown"}},
		{"no key has the ID \"unknown\"; look it up with the list command\n", []string{"key", "rotate", "unknown"}},
		{"--expires must be in the future", []string{"key", "rotate", "unknown", "--expires", "2020-01-31T00:00:00Z"}},
		{"turn on OTP", []string{"superuser", "otp", superuserEmail}},
		{"creating the webhook: the URL ", []string{"webhook", "create", "Acme", "no address"}},
		{"creating the webhook: the URL ", []string{"webhook", "create", "Acme", "ftp://example.com"}},
		{"--event must be contact.created, ", []string{"webhook", "create", "Acme", "https://example.com", "--event", "contact.exploded"}},
		{"secret", []string{"webhook", "create", "Acme", "https://example.com", "--secret", "short"}},
		{"no webhook has the ID \"unknown\"; look it up with the list command\n", []string{"webhook", "delete", "unknown"}},
		{"no webhook has the ID \"unknown\"; look it up with the list command\n", []string{"webhook", "rotate", "unknown"}},
		{"no webhook has the ID \"unknown\"; look it up with the list command\n", []string{"webhook", "ping", "unknown"}},
		{"no webhook has the ID \"unknown\"; look it up with the list command\n", []string{"webhook", "recover", "unknown", "--since", "2026-01-31T00:00:00Z"}},
		{"no webhook has the ID \"unknown\"; look it up with the list command\n", []string{"delivery", "list", "unknown"}},
		{"--status must be pending, delivered or failed", []string{"delivery", "list", "unknown", "--status", "lost"}},
		{"--limit", []string{"delivery", "list", "unknown", "--limit", "0"}},
		{"no delivery has the ID \"unknown\"; look it up with the list command\n", []string{"delivery", "redeliver", "unknown"}},
		{"--access must be upsert or full", []string{"inbound", "create", "Acme", "--access", "everything"}},
		{"--verifyScheme must be standard, x-signature, shopify", []string{"inbound", "create", "Acme", "--verifyScheme", "jotform"}},
		{"creating the inbound webhook: the scheme needs the secret", []string{"inbound", "create", "Acme", "--verifyScheme", "tally"}},
		{"mapping", []string{"inbound", "create", "Acme", "--mapping", `{"preset":"nonsense"}`}},
		{"mapping", []string{"inbound", "create", "Acme", "--mapping", `{`}},
		{"no inbound webhook has the ID \"unknown\"; look it up with the list command\n", []string{"inbound", "delete", "unknown"}},
		{"no inbound webhook has the ID \"unknown\"; look it up with the list command\n", []string{"inbound", "rotate", "unknown"}},
		{"must not be a path", []string{"backup", "a/b"}},
		{"durability", []string{"serve", "--durability", "half"}},
		{"--replicaMode: sync requires --durability to be full", []string{"serve", "--replica", "file://" + t.TempDir(), "--replicaMode", "sync", "--durability", "normal"}},
		{"unknown flag: --retentionDays", []string{"tenant", "list", "--retentionDays", "7"}},
		{"retentionDays", []string{"serve", "--retentionDays", "0"}},
		{"--retentionDays must be a whole number, not \"abc\"", []string{"serve", "--retentionDays", "abc"}},
		{"deliveriesInFlight must be from 1 to 65536", []string{"serve", "--deliveriesInFlight", "0"}},
		{"deliveriesPerEndpoint must be from 1 to 1000", []string{"serve", "--deliveriesPerEndpoint", "1001"}},
		{"--metricsAddr", []string{"serve", "--metricsAddr", taken.Addr().String()}},
		{"--debugAddr", []string{"serve", "--debugAddr", taken.Addr().String()}},
		{taken.Addr().String() + ": bind: address already in use; choose another address with --http", []string{"serve", "--http", taken.Addr().String()}},
	} {
		if n%every != 0 {
			continue
		}
		got := i.run(tc.args...)
		if got.code == 0 || !strings.Contains(got.stderr, tc.says) || !oneLine(got.stderr) ||
			strings.Contains(got.stderr, "..") || tc.args[0] == "serve" && got.stdout != "" {
			t.Errorf("%v exits with %d and prints %q (%q)", tc.args, got.code, got.stderr, got.stdout)
		}
	}
	if tenants := i.many("tenant", "list"); len(tenants) != 1 || tenants[0]["rateLimit"] != 0.0 ||
		!strings.Contains(i.must("tenant", "list"), "  600 (default)  ") {
		t.Errorf("a failing command has left something behind, or the rate limit is wrong: %v", tenants)
	}
	i.env = []string{"CONTACTBASE_WEBHOOK_ALLOW=everything"}
	if got := i.run("tenant", "list"); got.code == 0 || !strings.Contains(got.stderr, "CONTACTBASE_WEBHOOK_ALLOW") ||
		!oneLine(got.stderr) {
		t.Errorf("an invalid environment exits with %d and prints %q", got.code, got.stderr)
	}
}

// oneLine reports whether the text is an error in the format of this program.
func oneLine(text string) bool {
	return strings.HasPrefix(text, "contactbase: ") && strings.HasSuffix(text, "\n") && strings.Count(text, "\n") == 1
}
