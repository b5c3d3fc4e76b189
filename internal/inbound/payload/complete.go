package payload

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"contactbase/internal/contact/names"
)

// completed are the fields that may be in another part of an item than the rest, in the order in which warnings name
// them.
var completed = []string{fieldName, FieldPhone, fieldCompany}

// details are the properties in which senders put the rest of a contact, folded.
var details = []string{
	"fields", "customfields", "attributes", "customattributes", "merges",
	"mergefields", "properties", "traits", "profile", "billing", "billingaddress",
}

// addresses are the properties in which a contact's own address is, folded. Its "name" may be that of the address.
var addresses = []string{
	"address", "billing", "billingaddress", "billingdetails", "defaultaddress", "invoiceaddress", "mailingaddress",
	"primaryaddress",
}

// complete fills in the name, the phone number and the company from parts that are about the same person: details,
// addresses, the answers of a form, and objects with the same email address.
func (r *plainReading) complete() {
	var missing []string
	for _, field := range completed {
		text, _ := r.Fields[field].(string)
		if text == "" || field == fieldName && isNumbered(text) {
			missing = append(missing, field)
		}
	}
	if email, sent := r.Fields[FieldEmail]; !sent || email == nil {
		missing = append(missing, FieldEmail)
	}
	if len(missing) == 0 || len(r.Fields) == 0 {
		return
	}
	for _, key := range r.ownParts() {
		if len(missing) == 0 {
			break
		}
		found, read := r.partOf(key), []string(nil)
		for _, field := range missing {
			if text := found[field]; text != "" && !isNoValue(text) && !isOrder(text) {
				r.Fields[field], read = text, append(read, field)
			}
		}
		if len(read) > 0 {
			r.used[key] = true
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s: read from %s", strings.Join(read, ", "), some([]string{key})))
			missing = slices.DeleteFunc(missing, func(field string) bool { return slices.Contains(read, field) })
		}
	}
}

// isNumbered reports whether a name may be that of an order, such as "1001": it has no letter, or is a code.
func isNumbered(name string) bool {
	return !strings.ContainsFunc(name, unicode.IsLetter) || isAccountNumber(name)
}

// ownParts returns the names of the parts that are about the same person: first those with the same email address, last
// addresses, each in order.
func (r *plainReading) ownParts() []string {
	var groups [3][]string
	for key, v := range r.obj {
		if !hasParts(v) || r.used[key] || r.isOwn(key) || names.IsAside(key) || names.Of(key).Field == names.Company {
			continue
		}
		obj, _ := v.(map[string]any)
		email, _ := obj[FieldEmail].(string)
		switch {
		case obj == nil && isForm(asList(v)):
			groups[1] = append(groups[1], key)
		case obj == nil:
		case r.isSame(obj):
			groups[0] = append(groups[0], key)
		case email != "":
		case isAddress(key):
			groups[2] = append(groups[2], key)
		case r.isDetail(key):
			groups[1] = append(groups[1], key)
		}
	}
	for _, group := range groups {
		slices.Sort(group)
	}
	return slices.Concat(groups[:]...)
}

// isSame reports whether an object has the email address of the item.
func (r *plainReading) isSame(obj map[string]any) bool {
	email, _ := r.Fields[FieldEmail].(string)
	text, _ := obj[FieldEmail].(string)
	return email != "" && strings.EqualFold(text, email)
}

func isAddress(key string) bool { return slices.Contains(addresses, names.Fold(key)) }

// isDetail reports whether a property has the rest of a contact. The properties of an event are its own.
func (r *plainReading) isDetail(key string) bool {
	folded := names.Fold(key)
	return slices.Contains(details, folded) && (folded != "properties" || !r.ofEvent)
}

// partOf returns the texts of a part by their fields. It returns none of an address that names another person.
func (r *plainReading) partOf(key string) map[string]string {
	found, obj := map[string]string{}, objectIn(r.obj[key])
	if r.isSame(obj) {
		it := plainItem(obj, r.own, r.ofEvent)
		for _, field := range completed {
			found[field], _ = it.Fields[field].(string)
		}
		return found
	}
	var f filledForm
	if !f.read(newWork(), r.obj[key]) {
		return found
	}
	for _, field := range completed {
		found[field], _ = f.answerTo(field)
	}
	if strings.Contains(names.Fold(key), "custom") { // the fields of a contact that are a list
		found[FieldEmail], _ = f.answerTo(FieldEmail)
	}
	name, hasParts := nameIn(obj)
	if isAddress(key) {
		if found[fieldName] = ""; hasParts {
			found[fieldName] = name
		}
	}
	known, _ := r.Fields[fieldName].(string)
	if hasParts && name != "" && known != "" && !isNumbered(known) && names.Fold(name) != names.Fold(known) {
		clear(found)
	}
	return found
}
