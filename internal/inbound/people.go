package inbound

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/search"
	"contactbase/internal/inbound/payload"
	"contactbase/internal/sqlite"
)

// maxPeople is how many email addresses a stored body may have: two per item of the largest list.
const maxPeople = 2 * payload.MaxItems

// personDigest returns the digest by which requests with a contact's email address are found. The address itself must
// not outlive the contact.
func personDigest(tenantID, email string) string {
	sum := sha256.Sum256([]byte(tenantID + "\x00" + search.FoldEmail(email)))
	return hex.EncodeToString(sum[:])
}

// peopleIn returns the digests of the email addresses in any body, readable or not, because rejected requests are
// stored as well. It stops after maxPeople + 1.
func peopleIn(tenantID, contentType string, body []byte) []string {
	seen := map[string]bool{}
	var people []string
	for _, text := range readings(contentType, string(body)) {
		for address := range addresses(text) {
			if seen[address] {
				continue
			}
			seen[address] = true
			people = append(people, personDigest(tenantID, address))
			if len(people) > maxPeople {
				return people
			}
		}
	}
	return people
}

// readings returns the texts that a body may stand for: unchanged, and without the escapes of forms and of JSON,
// which may contain JSON as text.
func readings(contentType, body string) []string {
	texts := []string{body}
	if strings.Contains(contentType, "urlencoded") {
		if plain, err := url.QueryUnescape(body); err == nil {
			texts = append(texts, plain)
		}
	}
	for _, text := range texts { // JSON may have the type of a form
		for range 3 {
			if !strings.Contains(text, `\`) {
				break
			}
			text = unescapeJSON(text)
			texts = append(texts, text)
		}
	}
	return texts
}

// unescapeJSON replaces the escapes of JSON strings; those for white space become a space.
func unescapeJSON(text string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, `\`)
		b.WriteString(before)
		if !found || after == "" {
			return b.String()
		}
		text = after[1:]
		switch after[0] {
		case '"', '\\', '/':
			b.WriteByte(after[0])
		case 'u':
			digits := text[:min(4, len(text))]
			if code, err := strconv.ParseUint(digits, 16, 16); err == nil {
				b.WriteRune(rune(code))
				text = text[len(digits):]
			}
		default:
			b.WriteByte(' ')
		}
	}
}

// addresses iterates over possible email addresses in a text.
func addresses(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for {
			at := strings.IndexByte(text, '@')
			if at < 0 {
				return
			}
			start := strings.LastIndexFunc(text[:at], endsAddress) + 1
			end := strings.IndexFunc(text[at+1:], endsAddress)
			if end < 0 {
				end = len(text) - at - 1
			}
			end += at + 1
			address := strings.Trim(text[start:end], ".'")
			if start < at && end > at+1 && len(address) <= 320 && !yield(address) {
				return
			}
			text = text[end:]
		}
	}
}

// endsAddress reports whether r delimits email addresses.
func endsAddress(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("\"<>(),;:[]{}=&|\\`", r)
}

// maxLinks is how many people a request is linked to at most: the links of one that is deleted are spread over the
// whole index.
const maxLinks = 16

const (
	linkSQL  = "INSERT OR IGNORE INTO `_inboundPeople` (`person`, `request`) SELECT `value`, ? FROM json_each(?)"
	crowdSQL = "INSERT INTO `_inboundCrowds` (`tenant`, `request`, `people`) VALUES (?, ?, ?)"
)

// linkPeople stores, in the request's transaction, whom the request is about. Requests about many have them in one row,
// their crowd, which is searched when a contact is deleted.
func (r *row) linkPeople(tx core.App) error {
	slices.Sort(r.people)
	r.people = slices.Compact(r.people)
	if len(r.people) == 0 {
		return nil
	}
	link := sqlite.Statement{Text: linkSQL, Args: []any{r.id, sqlite.List(r.people)}}
	if r.crowded || len(r.people) > maxLinks {
		var crowd strings.Builder
		for _, person := range r.people {
			crowd.WriteString(inCrowd(person))
		}
		link = sqlite.Statement{Text: crowdSQL, Args: []any{r.webhook.TenantID, r.id, crowd.String()}}
	}
	if _, err := sqlite.Run(tx, []sqlite.Statement{link}); err != nil {
		return fmt.Errorf("linking an inbound request to its contacts: %w", err)
	}
	return nil
}

// crowdLength is the length of a person in a crowd: that of a contact's id, and enough of a digest.
const crowdLength = 15

func inCrowd(person string) string { return fmt.Sprintf("%-*.*s", crowdLength, crowdLength, person) }

// crowdsOf names, among the people of a deleted contact, the tenant whose crowds may have them.
const crowdsOf = "crowds:"

// People returns what finds requests about a contact: its id, a digest of its email address, and its tenant's crowds.
func People(tenantID, contactID, email string) []string {
	people := []string{contactID, crowdsOf + tenantID}
	if email != "" {
		people = append(people, personDigest(tenantID, email))
	}
	return people
}

// inCrowds returns the requests with one of the people in their crowds. It reads all crowds of the people's tenants,
// which their quotas limit.
func inCrowds(app core.App, people []string) (requests []string, err error) {
	wanted, tenants := map[string]bool{}, map[string]bool{}
	for _, person := range people {
		if tenantID, ok := strings.CutPrefix(person, crowdsOf); ok {
			tenants[tenantID] = true
		} else {
			wanted[inCrowd(person)] = true
		}
	}
	for tenantID := range tenants {
		const crowds = "SELECT `request`, `people` FROM `_inboundCrowds` WHERE `tenant` = ?"
		err = sqlite.Each(sqlite.Direct(app.ConcurrentDB()), crowds, func(rows *sql.Rows) error {
			var request, crowd string
			if err := rows.Scan(&request, &crowd); err != nil {
				return err
			}
			for ; len(crowd) >= crowdLength; crowd = crowd[crowdLength:] {
				if wanted[crowd[:crowdLength]] {
					requests = append(requests, request)
					break
				}
			}
			return nil
		}, tenantID)
		if err != nil {
			return nil, fmt.Errorf("searching the people of requests of the tenant %s: %w", tenantID, err)
		}
	}
	return requests, nil
}
