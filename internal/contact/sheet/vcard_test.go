package sheet_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"
	"golang.org/x/text/encoding/unicode"

	"contactbase/internal/contact"
	"contactbase/internal/contact/sheet"
	"contactbase/internal/testkit"
	"contactbase/internal/testkit/measure"
)

// card returns a card with these lines.
func card(lines ...string) string {
	return "BEGIN:VCARD\r\n" + strings.Join(lines, "\r\n") + "\r\nEND:VCARD\r\n"
}

// readCards returns the columns of a file of cards that have a value, by their fields, and why cards are refused.
func readCards(t *testing.T, text string) (cells []map[string]string) {
	t.Helper()
	reader, rows, err := read(t, text, sheet.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		found := map[string]string{}
		for i, value := range row.Cells {
			if value != "" && row.Refused == "" {
				found[reader.Columns[i]] = value
			}
		}
		if row.Refused != "" {
			found["refused"] = row.Refused
		}
		cells = append(cells, found)
	}
	return cells
}

// Cards of all three versions are read as phones and address books write them.
func TestCards(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		text string
		want map[string]string
	}{
		"2.1, without names of parameters": {
			card("VERSION:2.1", "N:Reed;Ann", "TEL;CELL:+491", "TEL;HOME;VOICE:+492", "TEL;WORK;PREF:+493", "EMAIL;INTERNET:ann@example.com"),
			map[string]string{"name": "Ann Reed", "phone": "+493 ::: +492 ::: +491", "email": "ann@example.com"},
		},
		"quoted-printable of Latin-1": {
			card("N;CHARSET=ISO-8859-1;ENCODING=QUOTED-PRINTABLE:M=FCller;J=F6rg", "ORG;QUOTED-PRINTABLE;CHARSET=iso-8859-1:S=FCd"), map[string]string{"name": "Jörg Müller", "company": "Süd"},
		},
		"quoted-printable of others": {
			card("FN;ENCODING=QUOTED-PRINTABLE;CHARSET=windows-1251:=CE=EB=FC=E3=E0", "ORG;ENCODING=QUOTED-PRINTABLE;CHARSET=UTF-8:=C3=84lv"), map[string]string{"name": "Ольга", "company": "Älv"},
		},
		"quoted-printable without a character set": {card("FN;QUOTED-PRINTABLE:J=F6rg =C3=84lv"), map[string]string{"name": "Jörg Älv"}},
		"quoted-printable in several lines":        {card("FN;ENCODING=QUOTED-PRINTABLE:Ann=0D=0A=", "Reed"), map[string]string{"name": "Ann\r\nReed"}},
		"an unknown character set": {
			card("FN;ENCODING=QUOTED-PRINTABLE;CHARSET=EBCDIC:=83"), map[string]string{"refused": "the FN of the card is in the character set EBCDIC, which is not supported: export it again as vCard 3.0"},
		},
		"Japanese": {
			card("FN;ENCODING=QUOTED-PRINTABLE;CHARSET=SHIFT_JIS:=8ER=93c"), map[string]string{"name": "山田"},
		},
		"not in its character set": {
			card("FN;ENCODING=QUOTED-PRINTABLE;CHARSET=SHIFT_JIS:=83"), map[string]string{"refused": "the FN of the card is not in the character set that it names: export it again as vCard 3.0"},
		},
		"damaged quoted-printable": {
			card("FN;ENCODING=QUOTED-PRINTABLE:a\x01"), map[string]string{"refused": "the FN of the card is not quoted-printable: export it again as vCard 3.0"},
		},
		"preferred ones": {
			card("FN:A", "EMAIL;PREF=100:c@example.com", "EMAIL:d@example.com", "EMAIL;PREF=1:a@example.com", "EMAIL;PREF=2;TYPE=work:b@example.com", "EMAIL;PREF=0:e@example.com"),
			map[string]string{"name": "A", "email": "a@example.com ::: b@example.com ::: c@example.com ::: d@example.com ::: e@example.com"},
		},
		"preferred by type": {
			card("FN:A", "TEL;TYPE=cell:+493", "TEL;TYPE=home,voice:+492", "TEL;TYPE=work:+491", `TEL;TYPE="cell,pref":+490`),
			map[string]string{"name": "A", "phone": "+490 ::: +491 ::: +492 ::: +493"},
		},
		"fax and pager": {
			card("FN:A", "TEL;WORK;FAX:+491", "TEL;TYPE=PAGER:+492", "TEL;TYPE=FAX,VOICE:+493", "TEL;CELL;PAGER:+494"), map[string]string{"name": "A", "phone": "+493 ::: +494"},
		},
		"groups, folded lines, quotation marks": {
			card(`item1.EMAIL;X-A="a:b;c":ann@exam`, " ple.com", "TEL;X-B=\"open:+491", "fn:Ann"), map[string]string{"name": "Ann", "email": "ann@example.com", "phone": "+491"},
		},
		"version 2.1 folded before a space": {
			card("VERSION:2.1", "FN:Ann", "ORG:Fold", " Company", "NOTE:an", "\texample"), map[string]string{"name": "Ann", "company": "Fold Company", "NOTE": "an\texample"},
		},
		"folded within a word": {
			card("VERSION:3.0", "FN:An", " n", "ORG:Comp", "\tany"), map[string]string{"name": "Ann", "company": "Company"},
		},
		"escapes": {
			card(`N:Reed\;;Ann\, B\\C;D`, `ORG:A\; B\, C;Sales`, `UID:a\:b\nc`), map[string]string{"name": `Ann, B\C D Reed;`, "company": "A; B, C", "externalId": "a:b\nc"},
		},
		"ours":        {card("PRODID:-//Contactbase//Contacts//EN", "X-CONTACTBASE-ID:abc", "FN:a@example.com", "N:;;;;", "EMAIL:a@example.com"), map[string]string{"X-CONTACTBASE-ID": "abc", "email": "a@example.com"}},
		"photographs": {card("FN:A", "PHOTO;ENCODING=b:"+strings.Repeat("AAAA", 50_000), "EMAIL:a@example.com"), map[string]string{"name": "A", "email": "a@example.com"}},
		"nearly too long": {
			card("FN:"+strings.Repeat("a", 65_000), "NOTE:"+large(5_000)), map[string]string{"name": strings.Repeat("a", 65_000), "NOTE": large(5_000)},
		},
		"one long line": {card("FN:" + large(65_600)), map[string]string{"refused": "the card has more than 64 KiB: shorten it"}},
		"many lines":    {card(strings.Repeat("EMAIL:a@example.com\r\n", 4_000) + "FN:A"), map[string]string{"refused": "the card has more than 64 KiB: shorten it"}},
	} {
		for _, text := range []string{c.text + card("FN:Next"), encode(t, c.text+card("FN:Next"), unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder())} {
			got := readCards(t, text)
			if len(got) != 2 || !reflect.DeepEqual(got[0], c.want) || !reflect.DeepEqual(got[1], map[string]string{"name": "Next"}) {
				t.Errorf("%s: got %.300q, want %.300q", what, got, c.want)
			}
		}
	}
}

// A line that begins no property belongs to the value before it, as Google and others write line breaks: see
// Kozea/Radicale#1986. Those of photographs are not read.
func TestBrokenLines(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]map[string]string{
		card("FN:Gábor Béla", "", "Szabó-Gyöngyösi", "EMAIL:g@example.com"):  {"name": "Gábor Béla\nSzabó-Gyöngyösi", "email": "g@example.com"},
		card("N;QUOTED-PRINTABLE:Szab=C3=B3;G=C3=A1bor", "B=C3=A9la", "X:1"): {"name": "Gábor\nBéla Szabó"},
		card("EMAIL:"+large(64)+"@exam", "ple.com", "FN:A"):                  {"email": large(64) + "@example.com", "name": "A"},
		card("FN:A", "NOTE:see", "the list; it is long", "Szabó: yes"):       {"name": "A", "NOTE": "see\nthe list; it is long\nSzabó: yes"},
		card("FN:A", "PHOTO;ENCODING=BASE64:AAEC", "EMAIL+jp6", "TELtrq+w"):  {"name": "A"},
		card("FN:A", "ORG:B") + "between cards\n":                            {"name": "A", "company": "B"},
	} {
		if got := readCards(t, text+card("FN:Next")); len(got) != 2 || !reflect.DeepEqual(got[0], want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// Properties that are no field of every contact have columns where a file has them, which fields of an admin can take.
// A long one does not cost the card. Apple writes 1604 for a birthday without a year (nextcloud/contacts#3645).
func TestOfferedProperties(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	testkit.AddFields(t, app, &core.TextField{Name: "birthday"}, &core.TextField{Name: "note"}, &core.TextField{Name: "notes"}, &core.TextField{Name: "website"})
	text := card("FN:A", "BDAY;VALUE=date:1604-10-04", "ADR;TYPE=HOME:;;Musterstr. 1;Musterstadt;;11234;", "URL:https://second.example", "URL;PREF=1:https://a.example",
		"NOTE:"+large(maxNote), "NOTE:short") + card("FN:B", "BDAY:19900517T000000Z", `CATEGORIES:a,b`)
	reader, rows, err := read(t, text, sheet.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 2 || rows[0].Warning != "NOTE left out: too long" || rows[1].Warning != "" {
		t.Fatalf("got %+v", rows)
	}
	s, err := sheet.Suggest(app, reader.Columns, nil)
	if err != nil || len(s.Unknown) > 0 {
		t.Fatalf("unknown: %+v (%v)", s, err)
	}
	got := map[string]string{}
	for i, column := range reader.Columns {
		if column == strings.ToUpper(column) && i > 0 {
			got[column] = s.Mapping[i] + " " + rows[0].Cells[i] + " " + rows[1].Cells[i]
		}
	}
	want := map[string]string{
		"BDAY": "birthday --10-04 1990-05-17", "ADR": " Musterstr. 1, Musterstadt, 11234 ", "URL": "website https://a.example ", "CATEGORIES": "  a,b", "NOTE": "note short ",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	var remarks []string
	for _, remark := range s.Remarks(reader.Columns) {
		if remark.IsWarning {
			remarks = append(remarks, remark.Column)
		}
	}
	if !slices.Equal(remarks, []string{"ADR", "CATEGORIES"}) {
		t.Errorf("the remarks are about %q", remarks)
	}
}

// maxNote is more than a card may have.
const maxNote = 66_000

// The card of a group is skipped, unless it has an address. Its number counts.
func TestGroups(t *testing.T) {
	t.Parallel()
	text := card("FN:Ann") + card("KIND:group", "FN:Board", "MEMBER:urn:uuid:1") + card("FN:Friends", "X-ADDRESSBOOKSERVER-KIND:Group") +
		card("KIND:group", "FN:Sales", "EMAIL:sales@example.com") + card("KIND:org", "FN:Reed Ltd") + card("KIND:group", "FN:Last")
	_, rows, err := read(t, text, sheet.Choice{})
	var got []string
	for _, row := range rows {
		got = append(got, fmt.Sprint(row.Number, row.Cells[1], row.Refused, row.Skipped != ""))
	}
	if want := []string{"1Annfalse", "2Boardtrue", "3Friendstrue", "4Salesfalse", "5Reed Ltdfalse", "6Lasttrue"}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %q (%v), want %q", got, err, want)
	}
}

// A card without its first or last line is refused, and does not affect the others.
func TestDamagedCards(t *testing.T) {
	t.Parallel()
	const ann, bob = "FN:Ann\nEMAIL:ann@example.com\n", "FN:Bob\n"
	noBegin, noEnd := map[string]string{"refused": "the card has no line BEGIN:VCARD: add it"}, map[string]string{"refused": "the card has no line END:VCARD: add it"}
	read := map[string]string{"name": "Bob"}
	for text, want := range map[string][]map[string]string{
		"BEGIN:VCARD\n" + ann + "BEGIN:VCARD\n" + bob + "END:VCARD\n":                        {noEnd, read},
		"BEGIN:VCARD\n" + bob + "END:VCARD\nBEGIN:VCARD\n" + ann:                             {read, noEnd},
		"BEGIN:VCARD\n" + bob + "END:VCARD\n" + ann + "END:VCARD\nEND:VCARD\n":               {read, noBegin},
		"BEGIN:VCARD\n" + bob + "END:VCARD\n" + ann + "BEGIN:VCARD\n" + bob + "END:VCARD":    {read, noEnd, read},
		"BEGIN:VCARD\nFN:Bob\nEND:VCARD\nBEGIN:VCARD":                                        {read, noEnd},
		"\ufeff\r\n begin:vcard\r\nfn:Bob\r\nend:vcard\r\n\r\n\r\nbegin:vcard\nfn:Bob\nEnd:": {read, read},
	} {
		if got := readCards(t, text); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}

// A file keeps every field of a contact, including fields that are added later.
func TestFieldsOfSheets(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	values := map[string]string{"email": "ada@example.com", "phone": "+49301234"}
	for name, format := range sheet.Formats {
		for _, field := range contact.Fields {
			if values[field.Name] == "" {
				values[field.Name] = fmt.Sprintf(`A\;, %s`, field.Name)
			}
		}
		input := map[string]any{}
		for field, value := range values {
			input[field] = value
		}
		changes, err := contact.ParseChanges(app, input)
		if err != nil {
			t.Fatal(err)
		}
		c, err := testkit.Create(app, testkit.Tenant(t, app, name), changes)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		writer, err := sheet.NewContactWriter(&out, format, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := writer.WriteContact(c); err != nil {
			t.Fatal(err)
		}
		if err := writer.Close(); err != nil {
			t.Fatal(err)
		}
		reader, rows, err := read(t, out.String(), sheet.Choice{})
		if err != nil || len(rows) != 1 {
			t.Fatalf("%s: %v (%v)", name, rows, err)
		}
		suggestion, err := sheet.Suggest(app, reader.Columns, nil)
		if err != nil {
			t.Fatal(err)
		}
		parser, err := sheet.Choices{Mapping: suggestion.Mapping}.Parser(app, reader.Columns, nil)
		if err != nil {
			t.Fatal(err)
		}
		item, _, err := parser.Item(rows[0].Cells)
		if err != nil || item.Wrong != nil || item.Keys[0].Value != c.ID {
			t.Errorf("%s: the item is %+v (%v)", name, item, err)
		}
		for field, value := range values {
			if item.Changes[field] != value {
				t.Errorf("%s: %s comes back as %v, not %q", name, field, item.Changes[field], value)
			}
		}
	}
}

// A small card costs no buffer of its own.
func TestSmallCards(t *testing.T) { // not beside other tests, because it measures the process
	const n = 5_000
	file := strings.Repeat("BEGIN:VCARD\nFN:a\nEND:VCARD\n", n)
	allocated := measure.Allocated(func() {
		if _, rows, err := read(t, file, sheet.Choice{}); err != nil || len(rows) != n || rows[n-1].Cells[1] != "a" {
			t.Errorf("got %d rows, %v", len(rows), err)
		}
	})
	if most := uint64(n * 4 << 10); allocated > most {
		t.Errorf("%d cards allocate %d bytes, more than %d", n, allocated, most)
	}
}
