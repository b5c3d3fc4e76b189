// Package order names when the program's handlers run: while it opens the data directory, starts, answers a request, backs up and stops.
// The linter's arrows point from internal/app to the packages that bind handlers, so the names are in a package of their own.
//
// In each list, handlers run from top to bottom. A handler "around the rest" also acts, or only acts, after all others have ended.
// PocketBase's own handlers run between the lists. A test prints all phases, with who binds to them, and compares them with
// docs/architecture.md.
package order

import (
	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"
)

// Open: every command opens the data directory first.
const (
	// DirectoryLocked takes the shared lock of the data directory, and refuses an interrupted restore or a newer version.
	DirectoryLocked = -10000 + iota
	// DirectoryBackedUp makes a backup if PocketBase is about to migrate its own tables.
	DirectoryBackedUp

	// Opened is around PocketBase, which opens the databases: the pools get their limits, and leftovers of killed commands are removed.
	Opened = 0
)

// Start: the server starts.
const (
	// SocketInherited takes the socket of systemd. It is around the rest: systemd learns that the server is ready, and its watchdog starts.
	SocketInherited = -10000 + iota
	// StartAwaited is around the rest: a signal to stop waits for the end of the start.
	StartAwaited
	// LogPrinted also prints the log from here on.
	LogPrinted
	// ReplicaStarts begins to replicate, before anything is written.
	ReplicaStarts

	// Serving registers routes and middleware, opens the port, and around PocketBase starts the workers. Handlers without a phase run here.
	Serving = 0

	// PublicFiles serves files at all paths that have no route. PocketBase has started its schedule.
	PublicFiles = 1000
)

// Request: middleware runs from the outside to the inside. Checks of a route's scope, limit and text come last.
const (
	// RefusalsCounted is directly inside PocketBase's request log: a flood of refused requests must not fill it.
	RefusalsCounted = apis.DefaultActivityLoggerMiddlewarePriority + 1

	// RequestsObserved measures and logs a request with its final status.
	RequestsObserved = apis.DefaultPanicRecoverMiddlewarePriority - 8 + iota
	// ErrorsWritten gives the response a request ID, and an error its envelope.
	ErrorsWritten
	// RequestsDrained counts running requests, and refuses new ones while the program stops.
	RequestsDrained
	// WritesRefused makes the API read-only during an upgrade.
	WritesRefused
	// ResponsesHeld holds a response back until the replica has what it reports. PocketBase's recovery from panics comes next.
	ResponsesHeld
)

// Identity: PocketBase has read the token of a member or superuser.
const (
	// ActorKnown notes the actor for the audit log.
	ActorKnown = apis.DefaultLoadAuthTokenMiddlewarePriority + 1 + iota
	// MembersLimited counts the requests of members.
	MembersLimited
	// MembersRestricted refuses queries and changes that only superusers may send.
	MembersRestricted
	// MembersRead lets each tenant's members read in turn.
	MembersRead

	// SignInsCounted is outside PocketBase's rate limit, to count also what that refuses.
	SignInsCounted = apis.DefaultRateLimitMiddlewarePriority - 2
	// AddressesMasked is directly outside PocketBase's rate limit, which then counts an IPv6 network as one address.
	AddressesMasked = apis.DefaultRateLimitMiddlewarePriority - 1
	// AddressesRestored is directly inside it: all others see the client's address.
	AddressesRestored = apis.DefaultRateLimitMiddlewarePriority + 1
	// BodiesBounded reads the bodies of requests to PocketBase, directly outside its limit.
	BodiesBounded = apis.DefaultBodyLimitMiddlewarePriority - 1
)

// Record: a record was written.
const (
	// AppReplaced replaces the app of a transaction that has ended, before any other handler uses it.
	AppReplaced = -1000
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
	// WaitsEnd ends what waits for others: an upgrade, the watch for a restore, clients that wait for events. The time to stop begins.
	WaitsEnd
	// SocketHandedOver lets connections that were not accepted wait for the next server.
	SocketHandedOver
	// RestoreEnds removes the mark of a restore before a restart.
	RestoreEnds
	// RequestsEnd refuses new requests, and waits for running ones. PocketBase shuts its server down next.
	RequestsEnd
)

// End: no request runs any more, and PocketBase still writes its log.
const (
	// WorkersEnd stops the workers, and writes what was counted. PocketBase writes its log next, then closes the databases.
	WorkersEnd = -5000
)

// OnStop calls do in a phase of the stop. The name identifies the handler: a later one of the same name replaces it.
func OnStop(app core.App, name string, phase int, do func()) {
	app.OnTerminate().Bind(&hook.Handler[*core.TerminateEvent]{Id: name, Priority: phase, Func: func(e *core.TerminateEvent) error {
		do()
		return e.Next()
	}})
}
