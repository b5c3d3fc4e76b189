package payload

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"contactbase/internal/contact"
	"contactbase/internal/contact/names"
)

// What says who has written, and to whom, folded.
var (
	speakers = []string{
		"from", "fromnumber", "fromphone", "fromemail", "sender", "sendernumber", "senderphone", "senderemail", "caller",
		"callernumber",
	}
	addressees = []string{"to", "tonumber", "tophone", "toemail", "recipient", "recipients", "receiver", "called"}
	writers    = []string{"fromname", "sendername", "callername", "pushname"}
	profiles   = []string{"profile", "profilename", "pushname"}
	incoming   = []string{"received", "inbound", "incoming"}
)

// chatAddress is the address of a person in a messenger, which has the international number.
var chatAddress = regexp.MustCompile(`^([0-9]{7,15})(?::[0-9]+)?@(?:c\.us|s\.whatsapp\.net)$`)

const (
	longestSpeaker = 2 * len("sendernumber") // with separators
	longestKind    = 40                      // of a text such as "message.received"
)

// message is what an object says about the direction of a message.
type message struct{ isIncoming, isAddressed, hasProfile bool }

// messageIn reads it once: an object may have any number of names that fold to "from".
func (r *plainReading) messageIn() message {
	if r.message != nil {
		return *r.message
	}
	r.message = &message{}
	for name, value := range r.obj {
		if text, _ := value.(string); len(text) < longestKind {
			words := strings.FieldsFunc(strings.ToLower(text), func(c rune) bool { return !unicode.IsLetter(c) })
			r.message.isIncoming = r.message.isIncoming || len(words) < 4 &&
				slices.ContainsFunc(words, func(word string) bool { return slices.Contains(incoming, word) })
		}
		if len(name) <= longestSpeaker {
			folded := names.Fold(name)
			r.message.isAddressed = r.message.isAddressed || slices.Contains(addressees, folded)
			r.message.hasProfile = r.message.hasProfile || slices.Contains(profiles, folded)
		}
	}
	return *r.message
}

// spoken returns the field that the value of a property such as "from" is: the address, the number or the name of who
// has written. It returns "" for anything else, and for a message that the sender's customer may have written.
func (r *plainReading) spoken(name string) string {
	text, _ := r.obj[name].(string)
	if text == "" || len(name) > longestSpeaker {
		return ""
	}
	field := ""
	switch folded := names.Fold(name); {
	case slices.Contains(speakers, folded):
		field = channelOf(text)
	case slices.Contains(writers, folded):
		field = fieldName
	case folded == "username" && strings.Contains(strings.TrimSpace(text), " "): // no login has a space
		return fieldName
	}
	if field == "" {
		return ""
	}
	if m := r.messageIn(); m.isIncoming || !m.isAddressed || field != FieldEmail && m.hasProfile {
		return field
	}
	return ""
}

func isSpeaker(name string) bool {
	return len(name) <= longestSpeaker && slices.Contains(speakers, names.Fold(name))
}

// channelOf returns the field that a text is as programs for messages write it, such as "whatsapp:+4930123456" and
// "Ada <ada@example.com>", "" for other text.
func channelOf(text string) string {
	text = strings.TrimSpace(text)
	if scheme, number, found := strings.Cut(text, ":"); found && names.Of(scheme).Field == FieldPhone {
		text = number
	}
	if chatAddress.MatchString(text) {
		return FieldPhone
	}
	read := contact.ReadEmail(text)
	if strings.Contains(text, "@") && read.Wrong == nil && addressShape.MatchString(read.Value) {
		return FieldEmail
	}
	return shapeOf(text)
}

// withoutChat returns the number of an address in a messenger, and another value as it is.
func withoutChat(v any) any {
	text, _ := v.(string)
	if found := chatAddress.FindStringSubmatch(strings.TrimSpace(text)); found != nil {
		return "+" + found[1]
	}
	return v
}

// isOutgoing reports whether an object says that its message is the sender's own.
func isOutgoing(obj map[string]any) bool {
	for _, value := range obj {
		text, _ := value.(string)
		if lower := strings.ToLower(text); len(text) < longestKind &&
			(strings.HasPrefix(lower, "outgoing") || strings.HasPrefix(lower, "outbound")) {
			return true
		}
	}
	return false
}
