package payload

import (
	"fmt"
	"regexp"
	"strings"

	"contactbase/internal/contact/names"
)

// owners are the properties in which senders name the customer whose event it is: themselves.
var owners = []string{"account", "workspace", "team", "project", "app", "organization", "organisation"}

const longestOwner = len("organization") + 2 // with separators

// ownerOf returns which of the owners a property is, whatever its case and separators, "" for none.
func ownerOf(name string) string {
	if len(name) > longestOwner {
		return ""
	}
	folded := names.Fold(name)
	for _, owner := range owners {
		if folded == owner {
			return owner
		}
	}
	return ""
}

// isSenders reports whether a property is about the sender's customer, not about the contact.
func (r *plainReading) isSenders(name string) bool {
	owner := ownerOf(name)
	if owner == "" {
		return r.ofEvent && len(name) < longestOwner && names.Fold(name) == "accountname" && r.hasCustomer()
	}
	v, isObject := r.obj[name].(map[string]any)
	switch {
	case !isObject:
		text, _ := r.obj[name].(string)
		return owner == "account" && isAccountNumber(strings.TrimSpace(text))
	case owner == "account" && v["id"] != nil && v["name"] != nil:
		return true
	case strings.HasPrefix(owner, "organi"):
		return r.ofEvent && isOrganization(v)
	}
	return r.ofEvent
}

// hasCustomer reports whether an object has properties such as "customer_email", beside which "account_name" is the
// sender's.
func (r *plainReading) hasCustomer() bool {
	if r.customer == nil {
		found := false
		for name := range r.obj {
			found = found || len(name) > len("customer") && strings.EqualFold(name[:len("customer")], "customer")
		}
		r.customer = &found
	}
	return *r.customer
}

var (
	digitsOnly    = regexp.MustCompile(`^[0-9 ./#_-]*[0-9][0-9 ./#_-]*$`)
	capitalCode   = regexp.MustCompile(`^[A-Z0-9]+(-[A-Z0-9]+)*-[A-Z]*[0-9][A-Z0-9]*$|^[A-Z]*[0-9][A-Z0-9]+(-[A-Z0-9]+)+$`)
	prefixedID    = regexp.MustCompile(`^[a-z]+_[A-Za-z0-9]+$`)
	namedEvent    = regexp.MustCompile(`(?i)^[a-z]\w*[._:/][\w._:/]+$|(creat|updat|delet|add|chang|remov|submitt)ed$`)
	eventNames    = []string{"event", "event_type", "eventType", "event_name", "eventName", "topic", "trigger"}
	eventVerbs    = []string{"type", "action"} // may be the contact's own
	organizations = []string{"slug", "plan", "members_count"}
)

// isAccountNumber reports whether a text is the number of an account, such as ACC-00123, and not a company, such as 3M.
func isAccountNumber(text string) bool {
	return digitsOnly.MatchString(text) || capitalCode.MatchString(text)
}

// isEvent reports whether an object says what has happened.
func isEvent(obj map[string]any) bool {
	for _, name := range eventNames {
		if text, _ := obj[name].(string); text != "" {
			return true
		}
	}
	for _, name := range eventVerbs {
		if text, _ := obj[name].(string); namedEvent.MatchString(text) {
			return true
		}
	}
	return false
}

// isOrganization reports whether an object is a customer of the sender, which knows more than its name.
func isOrganization(obj map[string]any) bool {
	for _, name := range organizations {
		if obj[name] != nil {
			return true
		}
	}
	id, _ := obj["id"].(string)
	return prefixedID.MatchString(id)
}

// leaveToSender ignores a property about the sender's customer, and says how to read it nevertheless.
func (r *plainReading) leaveToSender(name string) {
	path, ok := leaf(names.Company, r.obj[name])
	if _, isObject := r.obj[name].(map[string]any); !isObject || !ok {
		return // as an unknown property
	}
	r.used[name] = true
	at := strings.Join(below([]string{escaped(name)}, path...), ".")
	r.Warnings = append(r.Warnings, fmt.Sprintf("ignored: %s, which is the sender's own; "+
		"to read it as the company, map company to %s", some([]string{name}), cut(at, 128)))
}
