package list_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"contactbase/internal/contact"
	"contactbase/internal/contact/list"
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
		b.add(map[string]any{"externalId": p.id, "name": p.name, "email": p.email, "phone": p.phone, "company": p.company})
	}
	return b
}

func TestSearchFindsSubstringsOfEveryField(t *testing.T) {
	t.Parallel()
	b := crowd(t)
	for q, want := range map[string]string{
		"lovelace":              "ada",
		"velac":                 "ada",
		"countess@engines":      "ada",
		"analytical":            "ada",
		"+442079460001":         "ada",
		"7946":                  "ada",
		"example.dk":            "soren",
		"Müller-Lüdenscheidt":   "zoe",
		"nobody":                "",
		"engines":               "ada", // in two of its fields, once in the list
		"company":               "",    // the name of a field is no part of it
		"null":                  "",
		"ada lovelace":          "ada",
		"ltd. ada @engines 442": "ada", // every word in another field, in any order
		"ada müller":            "",    // all of the words, not one of them
		"  ada \t\n lovelace  ": "ada",
		"ada\u00a0lovelace":     "ada",
		"山田\u3000太郎":            "taro",
		"ada ada ada":           "ada",
	} {
		b.expect(q, want)
	}
	for _, blank := range []string{"", " ", "\t \n", "\u3000"} {
		if got := len(strings.Fields(b.search(blank))); got != len(people) {
			t.Errorf("q=%q finds %d contacts, not all", blank, got)
		}
	}
}

func TestSearchIgnoresCaseAndAccents(t *testing.T) {
	t.Parallel()
	b := crowd(t)
	for q, want := range map[string]string{
		"ADA":                    "ada",
		"zoe MULLER":             "zoe",
		"ZOË müller":             "zoe",
		"bluhte":                 "",
		"blute":                  "zoe",
		"Bl\u0075\u0308te sohne": "zoe", // decomposed
		"soren aero ostergard":   "soren",
		"SØREN ÆRØ ØSTERGÅRD":    "soren",
		"smorrebrod":             "soren",
		"lukasz zolc":            "lukasz",
		"ŁUKASZ ŻÓŁĆ":            "lukasz",
		"isil caglar":            "istanbul",
		"IŞIL":                   "istanbul",
		"istanbul gida":          "istanbul",
		"İstanbul":               "istanbul",
		"strasse":                "strasse",
		"STRASSE weiße":          "strasse",
		"straße WEISSE":          "strasse",
		"GROẞ":                   "strasse",
		"nguyen thi dao":         "dao",
		"NGUYỄN ĐÀO":             "dao",
		"Νικος Παππας":           "nikos",
		"ΝΊΚΟΣ παππάς":           "nikos",
		"νίκοσ":                  "nikos", // either form of the letter at the end of a word
		"αιγαιο":                 "nikos",
		"алена":                  "alyona",
		"АЛЁНА заицева":          "alyona",
		"РОМАШКА":                "alyona",
		"محمد احمد":              "muhammad",
		"أحمد":                   "muhammad",
		"רחל":                    "rachel",
		"full width":             "full",
		"ｆｕｌｌ":                   "full",
		"sean o'brien":           "obrien",
	} {
		b.expect(q, want)
	}
}

func TestSearchWithShortWords(t *testing.T) {
	t.Parallel()
	b := crowd(t)
	for q, want := range map[string]string{
		"gm":    "zoe",
		"ør":    "soren",
		"山":     "taro",
		"太郎":    "taro",
		"ヤマ":    "taro",
		"민지":    "minji",
		"김":     "minji",
		"αι":    "nikos",
		"شن":    "",
		"نو":    "muhammad",
		"z m g": "zoe",
		"a/s":   "soren",
		"+49":   "zoe",
		"+":     "ada zoe lukasz dao taro",
	} {
		b.expect(q, want)
	}
}

// A sign that makes another letter of it is no accent.
func TestSearchKeepsVowelsAndVoicesApart(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	for _, name := range []string{"กิน", "กัน", "ガス", "カス", "हिंदी", "हद"} {
		b.add(map[string]any{"externalId": name, "name": name})
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
	for q, want := range map[string]string{
		"%":               "obrien",
		"_":               "obrien",
		"*":               "obrien",
		`"`:               "obrien",
		"?":               "obrien",
		"[":               "obrien",
		"[sale]":          "obrien",
		"[s]":             "",
		"'":               "obrien",
		"50%":             "obrien",
		"a%e":             "",
		"a_a":             "",
		"a*a":             "",
		"ad?":             "",
		"brien_100%":      "obrien",
		`"shay"`:          "obrien",
		`"ada lovelace"`:  "",
		`\`:               "",
		"-ada":            "",
		"ada OR zoe":      "",
		"ada NOT zoe":     "",
		"name:ada":        "",
		"{:tenant}":       "",
		"';--":            "",
		"[[name]]":        "",
		"ada AND":         "",
		"(ada)":           "",
		"^ada":            "",
		"ada$":            "",
		"analytical engi": "ada",
	} {
		b.expect(q, want)
	}
}

// A word is found inside one field; what stands at the end of one and the beginning of the next is no word.
func TestSearchDoesNotMatchAcrossFields(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.add(map[string]any{"externalId": "x", "name": "alpha", "email": "beta@c.co", "company": "gamma", "phone": "+49123"})
	b.add(map[string]any{"externalId": "y", "name": "only", "company": "12"})
	for q, want := range map[string]string{
		"alphabeta": "", "co" + "gamma": "", "gamma+49": "", "gamma49": "", "alphagamma": "",
		"alpha beta gamma": "x",
		"12":               "x y",
		"9123":             "x",
		"1249":             "",
		"x":                "", // the external id is not searched
	} {
		b.expect(q, want)
	}
}

func TestSearchFindsPhonesHoweverTheyAreWritten(t *testing.T) {
	t.Parallel()
	b := crowd(t)
	for q, want := range map[string]string{
		"+4930901820":       "zoe",
		"+49-30-901820":     "zoe",
		"+49(30)901.820":    "zoe",
		"+49 (30) 90 18 20": "zoe",
		"004930901820":      "zoe", // the international prefix in place of the plus sign
		"030901820":         "zoe", // the trunk prefix of a national number
		"(030)901820":       "zoe",
		"030/901-820":       "zoe",
		"901820":            "zoe",
		"030 901820":        "zoe", // the prefix in a word of its own
		"(030) 90 18 20":    "zoe",
		"0049 30 901820":    "zoe",
		"+49 (0)30 901820":  "zoe",
		"+49 (0) 30 901820": "zoe",
		"90.18":             "zoe",
		"30-90":             "zoe",
		"48225550199":       "lukasz",
		"022-5550199":       "lukasz",
		"3-1234":            "taro",
		"+81-3":             "taro",
		"zoe 0182":          "zoe",
		"zoe 7946":          "",
		"49x30":             "",
		"00000000":          "", // prefixes alone are no number
	} {
		b.expect(q, want)
	}
}

func TestSearchFollowsEveryChange(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	created := b.add(map[string]any{"externalId": "x", "name": "Before", "phone": "+49111", "company": "Kept"})
	b.expect("before", "x")
	if _, _, err := contact.Update(b.app, b.tenant, created.ID, b.changes(map[string]any{"name": "After", "phone": nil}), nil); err != nil {
		t.Fatal(err)
	}
	b.expect("before", "")
	b.expect("49111", "")
	b.expect("after kept", "x")
	record, err := b.app.FindRecordById("contacts", created.ID)
	if err != nil {
		t.Fatal(err)
	}
	record.Set("company", "Dashboard")
	if err := b.app.Save(record); err != nil {
		t.Fatal(err)
	}
	b.expect("kept", "")
	b.expect("dashboard after", "x")
	if err := b.app.Delete(record); err != nil {
		t.Fatal(err)
	}
	b.expect("after", "")
}

func TestSearchStaysWithinTheTenant(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.add(map[string]any{"externalId": "mine", "name": "Ada", "email": "ada@example.com"})
	b.other().add(map[string]any{"externalId": "theirs", "name": "Ada", "email": "ada@example.com"})
	for _, query := range []string{"q=ada", "email=ada@example.com", "q=ada&sort=-name", ""} {
		if found := b.list(query); len(found) != 1 || found[0].ExternalID != "mine" {
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
		b.add(map[string]any{"externalId": id, "name": name})
	}
	var walked []string
	for offset := 0; offset < 30; offset += 3 {
		for _, c := range b.list(fmt.Sprintf("q=CAFE&limit=3&offset=%d", offset)) {
			walked = append(walked, c.ExternalID)
		}
	}
	if !slices.Equal(walked, want) {
		t.Errorf("pages by offset give %v", walked)
	}
	values := url.Values{"q": {"CAFE"}, "limit": {"3"}}
	walked = nil
	for {
		query, err := list.ParseQuery(values)
		if err != nil {
			t.Fatal(err)
		}
		page, err := b.lists.Page(b.app, b.tenant, query)
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
