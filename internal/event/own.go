package event

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"

	"contactbase/internal/order"
)

// Limits of the kinds that extensions declare.
const (
	MaxDeclared = 100 // also the most that a webhook may list

	maxSentence = 200 // characters
)

// Declared is a kind of event that an extension has declared.
type Declared struct {
	Type     string `json:"type"`
	Sentence string `json:"sentence"` // what has happened, for the people who choose it
}

// ownPattern matches the kinds that extensions may declare, together with taken.
var ownPattern = regexp.MustCompile(`^[a-z0-9_]{1,40}\.[a-z0-9_]{1,40}$`)

// taken are the first words of kinds that belong to the program, now or in later versions.
var taken = []string{
	"contact", "webhook", "key", "replica", "backup", "disk", "tenant", "member", "import", "inbound", "portal",
	"contactbase",
}

// CheckOwn returns an error if an extension cannot declare a kind of that name.
func CheckOwn(kind string) error {
	if !ownPattern.MatchString(kind) {
		return fmt.Errorf("the event type %.100q must be two words of 1 to 40 lowercase letters, digits or "+
			"underscores, with a dot between them, such as order.paid", kind)
	}
	if word, _, _ := strings.Cut(kind, "."); slices.Contains(taken, word) {
		return fmt.Errorf("the event type %q must begin with another word, because Contactbase reserves types "+
			"that begin with %s", kind, word)
	}
	return nil
}

// own is what an app knows about the events of its extensions.
type own struct {
	mu       sync.RWMutex
	declared []Declared
	ended    bool   // no more kinds can be declared
	wake     func() // is called after an event was committed
}

func ownOf(app core.App) *own {
	found, _ := app.Store().GetOrSet("contactbaseOwnEvents", func() any { return &own{wake: func() {}} }).(*own)
	return found
}

// BindOwn ends the declarations of kinds when the server listens. wake is called after each commit of an extension's
// event; it must not block.
func BindOwn(app core.App, wake func()) {
	o := ownOf(app)
	o.wake = wake
	end := func(e *core.ServeEvent) error {
		o.mu.Lock()
		o.ended = true
		o.mu.Unlock()
		return e.Next()
	}
	app.OnServe().Bind(&hook.Handler[*core.ServeEvent]{Func: end, Priority: order.DeclarationsEnd})
}

// Declare declares a kind of event that an extension emits, with a sentence that says what happened. The same
// declaration may be repeated.
func Declare(app core.App, kind, sentence string) error {
	if err := CheckOwn(kind); err != nil {
		return err
	}
	sentence = strings.TrimSpace(sentence)
	if n := utf8.RuneCountInString(sentence); n == 0 || n > maxSentence ||
		!utf8.ValidString(sentence) || strings.ContainsFunc(sentence, unicode.IsControl) {
		return fmt.Errorf("the event type %s needs a sentence of 1 to %d characters in one line, such as: An order was paid",
			kind, maxSentence)
	}
	o := ownOf(app)
	o.mu.Lock()
	defer o.mu.Unlock()
	if i := slices.IndexFunc(o.declared, func(d Declared) bool { return d.Type == kind }); i >= 0 {
		if o.declared[i].Sentence == sentence {
			return nil
		}
		return fmt.Errorf("the event type %s is already declared with another sentence: declare it once", kind)
	}
	if o.ended {
		return fmt.Errorf("the event type %s must be declared before the server listens: at the top of a file in pb_hooks, "+
			"or before Execute in Go", kind)
	}
	if len(o.declared) == MaxDeclared {
		return fmt.Errorf("the event type %s exceeds the limit: extensions can declare %d types; distinguish similar "+
			"events by their data", kind, MaxDeclared)
	}
	o.declared = append(o.declared, Declared{kind, sentence})
	return nil
}

// DeclaredBy returns the kinds that the extensions of the app have declared, in this order.
func DeclaredBy(app core.App) []Declared {
	o := ownOf(app)
	o.mu.RLock()
	defer o.mu.RUnlock()
	return append([]Declared{}, o.declared...)
}

// AllKinds returns the names of the kinds of the program, and then those that extensions have declared.
func AllKinds(app core.App) []string {
	all := slices.Clone(Kinds)
	for _, d := range DeclaredBy(app) {
		all = append(all, d.Type)
	}
	return all
}

// Undeclared returns those of some kinds that no extension declares any more.
func Undeclared(app core.App, kinds []string) []string {
	all := AllKinds(app)
	return slices.DeleteFunc(append([]string{}, kinds...), func(kind string) bool { return slices.Contains(all, kind) })
}
