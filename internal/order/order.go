// Package order names when the program's handlers run: while it opens the data directory, starts, answers a request,
// backs up and stops. The linter's arrows point from internal/app to the packages that bind handlers, so the names
// are in a package of their own.
//
// In each list, handlers run from top to bottom. A handler "around the rest" also acts, or only acts, after all
// others have ended. PocketBase's own handlers run between the lists. A test prints all phases, with who binds to
// them, and compares them with docs/architecture.md.
package order

import (
	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"
)

// Open: every command opens the data directory first.
const (
	// DirectoryLocked takes the shared lock of the data directory, and stops if a restore was interrupted or a newer
	// version wrote the data.
	DirectoryLocked = -10000 + iota
	// DirectoryBackedUp makes a backup if PocketBase is about to migrate its own tables.
	DirectoryBackedUp

	// Opened is around PocketBase, which opens the databases: the pools get their limits, and leftovers of killed
	// commands are removed.
	Opened = 0
)

// Start: the server starts.
const (
	// SocketInherited takes the socket of systemd. It is around the rest: systemd learns that the server is ready,
	// and its watchdog starts.
	SocketInherited = -10000 + iota
	// StartAwaited is around the rest: a signal to stop waits for the end of the start.
	StartAwaited
	// LogPrinted also prints the log from here on.
	LogPrinted
	// ReplicaStarts begins to replicate, before anything is written.
	ReplicaStarts

	// Serving registers routes and middleware, opens the port, and around PocketBase starts the workers. Handlers
	// without a phase run here.
	Serving = 0

	// PublicFiles serves files at all paths that have no route. PocketBase has started its schedule.
	PublicFiles = 1000
	// DeclarationsEnd ends the declarations of event types by extensions. The server listens next.
	DeclarationsEnd = 1001
)

// Request: two handlers run outside the router: first routes/arrive.go, then internal/body. Middleware then runs from
// the outside to the inside. Checks of a route's scope, limit and text come last. A test counts the layers, and those
// that only concern PocketBase's own routes are not bound to ours.
const (
	// RequestsObserved measures and logs a request with its final status. It is directly inside PocketBase's request log,
	// which a flood of rejected requests must not fill.
	RequestsObserved = apis.DefaultActivityLoggerMiddlewarePriority + 1 + iota
	// RequestsBegun is the beginning and the end of a request. It gives the response a request ID, and an error its
	// envelope. It rejects requests while the program stops, and writes during an upgrade, and holds a response back
	// until the replica has what it reports. PocketBase's recovery from panics comes next.
	RequestsBegun
)

// Identity: PocketBase has read the token of a member or superuser.
const (
	// AccountKnown notes the actor for the audit log. It counts the requests of members, rejects queries and changes that
	// only superusers may send, and lets each tenant's members read in turn.
	AccountKnown = apis.DefaultLoadAuthTokenMiddlewarePriority + 1

	// SignInsCounted is outside PocketBase's rate limit, so that it also counts what that rejects.
	SignInsCounted = apis.DefaultRateLimitMiddlewarePriority - 2
	// AddressesMasked is directly outside PocketBase's rate limit, which then counts an IPv6 network as one address.
	AddressesMasked = apis.DefaultRateLimitMiddlewarePriority - 1
	// AddressesRestored is directly inside it: all others see the client's address.
	AddressesRestored = apis.DefaultRateLimitMiddlewarePriority + 1
	// PocketBaseServed reads the bodies of requests to PocketBase's own routes, directly outside its limit, and adds the
	// version to its health check.
	PocketBaseServed = apis.DefaultBodyLimitMiddlewarePriority - 1
)

// Record: a record is written.
const (
	// PreviewsNoted notes what a preview with hooks of extensions writes, and skips all that runs after such a write.
	PreviewsNoted = -2000
	// WrittenWhole puts all that writes a contact into one transaction, if extensions have hooks before writes.
	WrittenWhole = -1500
	// AppReplaced replaces the app of a transaction that has ended, before any other handler uses it.
	AppReplaced = -1000
	// RulesApplied applies the rules of contacts and of webhooks' event types to what extensions have made of the record,
	// before PocketBase's own.
	RulesApplied = 98
)

// Backup: a backup is made or restored.
const (
	// BackupNoticed is around the rest: the operator gets a notice of a backup that fails.
	BackupNoticed = -10000 + iota
	// BackupCounted is around the rest: metrics count backups.
	BackupCounted

	// BackupReplaced makes or checks the backup, instead of PocketBase.
	BackupReplaced = 10000
)

// Stop: the program stops or restarts.
const (
	// StopAnnounced reports to systemd that the server stops, and ends its watchdog.
	StopAnnounced = -20000 + iota
	// LocksReleased is around the rest: the lock of the data directory ends after everything that uses the directory.
	LocksReleased
	// ReplicaEnds is around the rest: the replica receives the last writes, after the databases were closed.
	ReplicaEnds
	// WaitsEnd ends what waits for others: an upgrade, the watch for a restore, clients that wait for events. The
	// time to stop begins.
	WaitsEnd
	// SocketHandedOver lets connections that were not accepted wait for the next server.
	SocketHandedOver
	// RestoreEnds removes the mark of a restore before a restart.
	RestoreEnds
	// RequestsEnd rejects new requests, and waits for running ones. PocketBase shuts its server down next.
	RequestsEnd
)

// End: no request runs any more, and PocketBase still writes its log.
const (
	// WorkersEnd stops the workers, and writes what was counted. PocketBase writes its log next, then
	// closes the databases.
	WorkersEnd = -5000
)

// OnStop calls do in a phase of the stop. The name identifies the handler: a later one of the same name replaces it.
func OnStop(app core.App, name string, phase int, do func()) {
	stop := func(e *core.TerminateEvent) error {
		do()
		return e.Next()
	}
	app.OnTerminate().Bind(&hook.Handler[*core.TerminateEvent]{Id: name, Priority: phase, Func: stop})
}
