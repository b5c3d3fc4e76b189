package list_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"contactbase/internal/contact/list"
	"contactbase/internal/testkit"
)

// people are written as people write themselves; the key is the external id.
var people = []struct{ id, name, email, phone, company string }{
	{"ada", "Ada Lovelace", "Countess@Engines.example", "+44 20 7946 0001", "Analytical Engines Ltd."},
	{"zoe", "Zoë Müller-Lüdenscheidt", "zoe.mueller@example.com", "+49 (30) 901820", "Blüte & Söhne GmbH"},
	{"soren", "Søren Ærø Østergård", "soren@example.dk", "", "Smørrebrød A/S"},
	{"lukasz", "Łukasz Żółć", "lukasz@example.pl", "+48.22.5550199", ""},
	{"istanbul", "Işıl Çağlar", "isil@example.tr", "", "İSTANBUL Gıda"},
	{"strasse", "Fritz Groß", "", "", "Weiße Straße 7"},
	{"dao", "Nguyễn Thị Đào", "", "+84 24 3825 0000", ""},
	{"nikos", "Νίκος Παππάς", "nikos@example.gr", "", "Αιγαίο Α.Ε."},
	{"alyona", "Алёна Зайцева", "alyona@example.ru", "", "Ромашка"},
	{"muhammad", "مُحَمَّد أحمد", "", "", "شركة النور"},
	{"rachel", "רָחֵל לוי", "", "", ""},
	{"taro", "山田 太郎", "taro@example.jp", "+81 3-1234-5678", "株式会社ヤマダ"},
	{"minji", "김민지", "", "", "한국상사"},
	{"full", "ＦＵＬＬ Ｗｉｄｔｈ", "", "", ""},
	{"obrien", "Seán O'Brien \"Shay\"", "o'brien_100%@example.ie", "", "50% Off * [Sale] Co_Op?"},
}

func crowd(t *testing.T) *book {
	t.Helper()
	b := newBook(t)
	for _, p := range people {
		b.Add(map[string]any{"externalId": p.id, "name": p.name, "email": p.email, "phone": p.phone, "company": p.company})
	}
	return b
}

func TestSearchFindsSubstringsOfEveryField(t *testing.T) {
	t.Parallel()
	b := crowd(t)
	b.expectAll(map[string][]string{
		"ada": {
			"lovelace", "velac", "countess@engines", "analytical", "+442079460001", "7946", "ada lovelace",
			"  ada \t\n lovelace  ", "ada\u00a0lovelace", "ada ada ada",
			"engines",               // in two of its fields, once in the list
			"ltd. ada @engines 442", // every word in another field, in any order
		},
		"soren": {"example.dk"},
		"zoe":   {"Müller-Lüdenscheidt"},
		"taro":  {"山田\u3000太郎"},
		"": {
			"nobody", "null",
			"company",    // the name of a field is not part of it
			"ada müller", // all of the words, not one of them
		},
	})
	for _, blank := range []string{"", " ", "\t \n", "\u3000"} {
		if got := len(strings.Fields(b.search(blank))); got != len(people) {
			t.Errorf("q=%q finds %d contacts, not all", blank, got)
		}
	}
}

func TestSearchIgnoresCaseAndAccents(t *testing.T) {
	t.Parallel()
	b := crowd(t)
	b.expectAll(map[string][]string{
		"ada": {"ADA"},
		"zoe": {
			"zoe MULLER", "ZOË müller", "blute",
			"Bl\u0075\u0308te sohne", // decomposed
		},
		"soren":    {"soren aero ostergard", "SØREN ÆRØ ØSTERGÅRD", "smorrebrod"},
		"lukasz":   {"lukasz zolc", "ŁUKASZ ŻÓŁĆ"},
		"istanbul": {"isil caglar", "IŞIL", "istanbul gida", "İstanbul"},
		"strasse":  {"strasse", "STRASSE weiße", "straße WEISSE", "GROẞ"},
		"dao":      {"nguyen thi dao", "NGUYỄN ĐÀO"},
		"nikos": {
			"Νικος Παππας", "ΝΊΚΟΣ παππάς", "αιγαιο",
			"νίκοσ", // either form of the letter at the end of a word
		},
		"alyona":   {"алена", "АЛЁНА заицева", "РОМАШКА"},
		"muhammad": {"محمد احمد", "أحمد"},
		"rachel":   {"רחל"},
		"full":     {"full width", "ｆｕｌｌ"},
		"obrien":   {"sean o'brien"},
		"":         {"bluhte"},
	})
}

func TestSearchWithShortWords(t *testing.T) {
	t.Parallel()
	b := crowd(t)
	b.expectAll(map[string][]string{
		"zoe":                     {"gm", "z m g", "+49"},
		"soren":                   {"ør", "a/s"},
		"taro":                    {"山", "太郎", "ヤマ"},
		"minji":                   {"민지", "김"},
		"nikos":                   {"αι"},
		"muhammad":                {"نو"},
		"ada zoe lukasz dao taro": {"+"},
		"":                        {"شن"},
	})
}

// A sign that makes another letter of it is not an accent.
func TestSearchKeepsVowelsAndVoicesApart(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	for _, name := range []string{"กิน", "กัน", "ガス", "カス", "हिंदी", "हद"} {
		b.Add(map[string]any{"externalId": name, "name": name})
	}
	for _, q := range []string{"กิน", "กัน", "ガス", "カス", "हिंदी", "हद"} {
		b.expect(q, q)
	}
	b.expect("ｶﾞｽ", "ガス") // the narrow form of the same letters
}

// No character of a search is a pattern or an operator.
func TestSearchTakesCharactersAsTheyAre(t *testing.T) {
	t.Parallel()
	b := crowd(t)
	b.expectAll(map[string][]string{
		"obrien": {"%", "_", "*", `"`, "?", "[", "[sale]", "'", "50%", "brien_100%", `"shay"`},
		"ada":    {"analytical engi"},
		"": {
			"[s]", "a%e", "a_a", "a*a", "ad?", `"ada lovelace"`, `\`, "-ada", "ada OR zoe", "ada NOT zoe",
			"name:ada", "{:tenant}", "';--", "[[name]]", "ada AND", "(ada)", "^ada", "ada$",
		},
	})
}

// A word is found inside one field; what stands at the end of one and the beginning of the next is not a word.
func TestSearchDoesNotMatchAcrossFields(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.Add(map[string]any{"externalId": "x", "name": "alpha", "email": "beta@c.co", "company": "gamma", "phone": "+49123"})
	b.Add(map[string]any{"externalId": "y", "name": "only", "company": "12"})
	b.expectAll(map[string][]string{
		"x":   {"alpha beta gamma", "9123"},
		"x y": {"12"},
		"": {
			"alphabeta", "cogamma", "gamma+49", "gamma49", "alphagamma", "1249",
			"x", // the external id is not searched
		},
	})
}

func TestSearchFindsPhonesHoweverTheyAreWritten(t *testing.T) {
	t.Parallel()
	b := crowd(t)
	b.expectAll(map[string][]string{
		"zoe": {
			"+4930901820", "+49-30-901820", "+49(30)901.820", "+49 (30) 90 18 20", "(030)901820", "030/901-820",
			"901820", "(030) 90 18 20", "0049 30 901820", "+49 (0)30 901820", "+49 (0) 30 901820", "90.18",
			"30-90", "zoe 0182",
			"004930901820", // the international prefix in place of the plus sign
			"030901820",    // the trunk prefix of a national number
			"030 901820",   // the prefix in a word of its own
		},
		"lukasz": {"48225550199", "022-5550199"},
		"taro":   {"3-1234", "+81-3"},
		"": {
			"zoe 7946", "49x30",
			"00000000", // prefixes alone are no number
		},
	})
}

func TestSearchFollowsEveryChange(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	created := b.Add(map[string]any{"externalId": "x", "name": "Before", "phone": "+49111", "company": "Kept"})
	b.expect("before", "x")
	if _, _, err := testkit.Update(b.App, b.Tenant, created.ID, b.Changes(map[string]any{"name": "After", "phone": nil})); err != nil {
		t.Fatal(err)
	}
	b.expect("before", "")
	b.expect("49111", "")
	b.expect("after kept", "x")
	record, err := b.App.FindRecordById("contacts", created.ID)
	if err != nil {
		t.Fatal(err)
	}
	record.Set("company", "Dashboard")
	if err := b.App.Save(record); err != nil {
		t.Fatal(err)
	}
	b.expect("kept", "")
	b.expect("dashboard after", "x")
	if err := b.App.Delete(record); err != nil {
		t.Fatal(err)
	}
	b.expect("after", "")
}

func TestSearchStaysWithinTheTenant(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.Add(map[string]any{"externalId": "mine", "name": "Ada", "email": "ada@example.com"})
	b.Other().Add(map[string]any{"externalId": "theirs", "name": "Ada", "email": "ada@example.com"})
	for _, query := range []string{"q=ada", "email=ada@example.com", "q=ada&sort=-name", ""} {
		if found := b.List(query); len(found) != 1 || found[0].ExternalID != "mine" {
			t.Errorf("%q gives %d contacts", query, len(found))
		}
	}
}

// What a search finds does not depend on the page: walked with either kind of pages it is the same list.
func TestSearchInPages(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	var want []string
	for i := range 25 {
		id := fmt.Sprintf("n%02d", i)
		name := "Café " + id
		if i%5 == 4 {
			name = "Tea " + id
		} else {
			want = append(want, id)
		}
		b.Add(map[string]any{"externalId": id, "name": name})
	}
	var walked []string
	for offset := 0; offset < 30; offset += 3 {
		for _, c := range b.List(fmt.Sprintf("q=CAFE&limit=3&offset=%d", offset)) {
			walked = append(walked, c.ExternalID)
		}
	}
	if !slices.Equal(walked, want) {
		t.Errorf("pages by offset give %v", walked)
	}
	values := url.Values{"q": {"CAFE"}, "limit": {"3"}}
	walked = nil
	for {
		query, err := list.ParsePage(b.App, values)
		if err != nil {
			t.Fatal(err)
		}
		page, err := b.Lists.Page(b.App, b.Tenant, query)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range page.Contacts {
			walked = append(walked, c.ExternalID)
		}
		if page.Next == nil {
			break
		}
		values.Set("cursor", page.Next.String())
	}
	if !slices.Equal(walked, want) {
		t.Errorf("pages by cursor give %v", walked)
	}
}

// The longest search that is accepted has a hundred words.
func TestSearchWithManyWords(t *testing.T) {
	t.Parallel()
	b := crowd(t)
	b.expect(strings.TrimSuffix(strings.Repeat("a ", 100), " "), b.search("a"))
	b.expect(strings.Repeat("1 ", 99)+"zz", "")
}
