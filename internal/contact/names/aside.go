package names

import (
	"slices"
	"strings"
)

// asides are words, folded, for people, places and times beside a contact: those who serve it, those whom it knows,
// where it was served, and what was before.
var asides = wordSet("owner host hostess organizer organiser assignee assigned agent operator seller merchant vendor " +
	"supplier staff employee creator manager admin administrator rep representative salesperson consultant advisor " +
	"adviser technician driver doctor provider practitioner trainer instructor teacher coach boss supervisor " +
	"spouse partner parent guardian mother father child emergency referrer referee inviter friend colleague " +
	"nominee beneficiary store shop location venue branch clinic restaurant cc bcc old previous before prior " +
	"former original setting config support bot actor teammate")

// servants are what the people beside a contact have done, as in "created by".
var servants = wordSet("created updated modified edited changed deleted invited referred handled approved owned " +
	"uploaded recorded sold served closed resolved")

func wordSet(texts string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(texts) {
		set[word] = true
	}
	return set
}

// IsAside reports whether a property is about somebody else than the contact, such as "created_by" and "Account owner",
// about a place of the sender, or about what was before.
func IsAside(label string) bool {
	var space [2 * maxHeading]byte
	var parts [maxParts]int
	letters, ends := split(label, space[:0], parts[:0])
	before := ""
	for start, i := 0, 0; i < len(ends); start, i = ends[i], i+1 {
		word := string(letters[start:ends[i]])
		if asides[word] || asides[strings.TrimSuffix(word, "s")] || word == "by" && servants[before] {
			return true
		}
		before = word
	}
	verb, isBy := strings.CutSuffix(string(letters), "by")
	return isBy && servants[verb]
}

// about are words, folded, that say nothing more behind a word for a contact, as in "buyer_details".
var about = []string{"details", "info", "information", "data"}

// IsContact reports whether a property is by its name about a contact, such as "customer" and "Attendees".
func IsContact(label string) bool {
	if len(label) > maxHeading {
		return false
	}
	folded := Fold(label)
	for _, word := range about {
		folded = strings.TrimSuffix(folded, word)
	}
	for _, text := range []string{label, folded, strings.TrimSuffix(folded, "s")} {
		if p := parse(text); p.field == full && p.seen&contactWord != 0 || p.field == 0 && p.seen == noun {
			return true
		}
	}
	return false
}

// universals are words, folded, for phone numbers that begin with the code of their country, also without a plus sign.
var universals = []string{"waid", "whatsappid", "msisdn"}

// IsUniversal reports whether a heading names phone numbers that begin with the code of their country.
func IsUniversal(heading string) bool {
	return len(heading) <= 2*len("whatsappid") && slices.Contains(universals, Fold(heading))
}
