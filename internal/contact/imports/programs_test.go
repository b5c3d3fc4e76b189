package imports_test

import (
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/imports"
	"contactbase/internal/contact/sheet"
	"contactbase/internal/testkit"
)

// Files are read as other programs write them: contacts are "name|email|phone|company|externalId" in any order, notes
// and refusals what begins a text.
func TestFilesOfPrograms(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		text     string
		choices  sheet.Choices
		contacts []string
		said     []string // about rows and columns
	}{
		"a note above, no address": {
			"Notes:\n\"Some addresses, it says, are missing\"\n\nFirst Name,Last Name,URL,Email Address,Company,Position\nÁgi,Nagy,x,agi@example.com,\"Híd, Kft.\",CEO\nSami,Aho,y,,Puu Oy,\n",
			sheet.Choices{}, []string{"Sami Aho|||Puu Oy|", "Ági Nagy|agi@example.com||Híd, Kft.|"}, nil,
		},
		"labels and values, a list in a cell": {
			"First Name,Middle Name,Last Name,Organization Name,E-mail 1 - Label,E-mail 1 - Value,Phone 1 - Label,Phone 1 - Value,Phone 2 - Value\n" +
				"Eli,J,Roth,,*,e@example.com ::: f@example.com,Mobile,,+45 20 555 010\n",
			sheet.Choices{}, []string{"Eli J Roth|e@example.com|+4520555010||"}, []string{`2 email: the first valid value of a list counts; "f@example.com" left out`},
		},
		"work before home before mobile": {
			"Name,Mobile Phone,Home Phone,Business Phone\nA,+491,+49302,+49303\nB,+49171,+49302,\nC,+49171,,\n",
			sheet.Choices{}, []string{"A||+49303||", "B||+49302||", "C||+49171||"}, nil,
		},
		"a heading twice": {
			"Name,Email,Email,Phone,Phone\nA,a@example.com,b@example.com,+49301,+49 301\nB,,c@example.com,,+49302\nC,d@example.com,D@example.com ,,\n",
			sheet.Choices{}, []string{"A|a@example.com|+49301||", "B|c@example.com|+49302||", "C|d@example.com|||"},
			[]string{`2 email: "b@example.com" of the column "Email#2" is left out`},
		},
		"a column that holds something else": {
			"Name,Email,Phone\nA,yes,+49301\nB,no,+49302\n",
			sheet.Choices{}, []string{"A||+49301||", "B||+49302||"}, []string{`the column "Email" is not imported`},
		},
		"one address, two people": {
			"name,email\nAnn,us@example.com\nBob,US@example.com\n",
			sheet.Choices{}, []string{"Bob|US@example.com|||"}, []string{"3 is the same contact as row 2"},
		},
		"a cell too many": {
			"name,email\nAnn,a@example.com\nSmith,Bob,b@example.com\nCid,c@example.com\n",
			sheet.Choices{}, []string{"Ann|a@example.com|||", "Cid|c@example.com|||"}, []string{"3 refused: the row has 3 cells"},
		},
		"marks of a text": {
			"name,email,phone\nAnn,\"=\"\"a@example.com\"\"\",\"=\"\"+49301\"\"\"\nBob,,'+49302\nCid,,p:+49303\n",
			sheet.Choices{}, []string{"Ann|a@example.com|+49301||", "Bob||+49302||", "Cid||+49303||"}, nil,
		},
		"addresses with names, as links and pasted": {
			"name,email\nAnn,Ann Reed <ann@example.com>\nBob,mailto:bob@example.com\nCid,\u200bcid@example.com\u00a0\nDan,'dan@example.com'\n", sheet.Choices{},
			[]string{"Ann|ann@example.com|||", "Bob|bob@example.com|||", "Cid|cid@example.com|||", "Dan|dan@example.com|||"}, nil,
		},
		"lists of other programs": {
			"name,email,phone\nAnn,\"[\"\"ann@example.com\"\",\"\"a@example.com\"\"]\",\"[\"\"+49301\"\"]\"\nBob,bob@example.com / b@example.com,\nCid,\"\"\"C; D\"\" <cid@example.com>; c@example.com d\",\nDan,x ::: dan@example.com;y,\n",
			sheet.Choices{}, []string{"Ann|ann@example.com|+49301||", "Bob|bob@example.com|||", "Cid|cid@example.com|||", "Dan|dan@example.com|||"},
			[]string{`2 email: the first valid value of a list counts; "a@example.com" left out`, `3 email: the first valid value of a list counts; "b@example.com" left out`,
				`4 email: the first valid value of a list counts; "c@example.com d" left out`, `5 email: the first valid value of a list counts; "x, y" left out`},
		},
		"numbers that plus signs tell apart": {
			"name,phone\nAnn,+49301 / +49302\nBob,+49303 or +49304/+49305\nCid,Tel. +49306\nDan,+49307 x1 | +49308\n", sheet.Choices{},
			[]string{"Ann||+49301||", "Bob||+49303||", "Cid||+49306||", "Dan||+49308||"},
			[]string{`2 phone: the first valid value of a list counts; "+49302" left out`, `3 phone: the first valid value of a list counts; "+49304, +49305" left out`,
				`5 phone: the first valid value of a list counts; "+49307 x1" left out`},
		},
		"orders with their numbers as names": {
			"Name,Email,Billing Name,Billing Phone\n#1001,ann@example.com,Ann Lee,+49301\n#1002,bob@example.com,,\n", sheet.Choices{},
			[]string{"Ann Lee|ann@example.com|+49301||", "|bob@example.com|||"}, []string{`3 name: "#1002" is left out: it is the number of an order`},
		},
		"labels beside numbers": {
			"name,phone\nAnn,Tel. +49301\nBob,+49302 (work)\nCid,Fax: +49303\n", sheet.Choices{},
			[]string{"Ann||+49301||", "Bob||+49302||", "Cid||||"}, []string{`4 phone: "Fax: +49303" is left out`},
		},
		"decimal numbers of a program for tables": {
			"name,phone\nAnn,49301234567.0\nBob,4.91512E+11\n", sheet.Choices{Country: "DE"}, []string{"Ann||+49301234567||", "Bob||||"}, []string{`3 phone: "4.91512E+11" is left out`},
		},
		"totals": {
			"Name,Email,Open balance\nAnn,ann@example.com,1\nTotal,t@example.com,2\nTotal,,3\n", sheet.Choices{}, []string{"Ann|ann@example.com|||", "Total|t@example.com|||"},
			[]string{"4 refused: name: is the label of a total"},
		},
		"names below a group of people": {
			"Customer,Email,Balance\nAmy's Bird Sanctuary,a@example.com,1\nBill's Windsurf,,2\nCid,,3\n", sheet.Choices{},
			[]string{"Amy's Bird Sanctuary|a@example.com|||", "Bill's Windsurf||||", "Cid||||"}, nil,
		},
		"a local number": {
			"name,email,phone\nAnn,a@example.com,030 5550144\n",
			sheet.Choices{}, []string{"Ann|a@example.com|||"}, []string{`2 phone: "030 5550144" is left out: it is not in international format`},
		},
		"a local number in its country": {
			"name,email,phone\nAnn,a@example.com,030 5550144\n", sheet.Choices{Country: "DE"}, []string{"Ann|a@example.com|+49305550144||"}, nil,
		},
		"a local number, strict": {
			"name,email,phone\nAnn,a@example.com,030 5550144\n", sheet.Choices{Strict: true}, nil, []string{"2 refused: phone: is not in international format"},
		},
		"errors of formulas": {
			"name,email,company,score\nAnn,a@example.com,#N/A,#REF!\n#NAME?,b@example.com,,\n",
			sheet.Choices{}, []string{"Ann|a@example.com|||"}, []string{`2 company: "#N/A" is left out`, `2 score: "#REF!" is left out`, "3 refused: name: is the error of a formula"},
		},
		"values of custom fields": {
			"name,score\nAnn,12\nBob,many\n", sheet.Choices{}, []string{"Ann||||", "Bob||||"}, []string{`3 score: "many" is left out`},
		},
		"line breaks": {
			"name,company\n\"Ann\nReed\",\"A\r\n\r\nB\"\n", sheet.Choices{},
			[]string{"Ann Reed|||A B|"}, []string{"2 company: line breaks and tabs became spaces", "2 name: line breaks and tabs became spaces"},
		},
		"breaks of word processors": {
			"first name,last name\n\"Ann\r\n\",\"Re\x0bed\"\nBob,\"A\tB\u0085C\"\n", sheet.Choices{},
			[]string{"Ann Re ed||||", "Bob A B C||||"}, []string{"2 name: line breaks and tabs became spaces", "3 name: line breaks and tabs became spaces"},
		},
		"a name beside the last one": {
			"Name,Surname,Email\nAda,King,a@example.com\nGrace Hopper,Hopper,g@example.com\n,Lamarr,\n", sheet.Choices{},
			[]string{"Ada King|a@example.com|||", "Grace Hopper|g@example.com|||", "Lamarr||||"}, nil,
		},
		"IDs of another system": {
			"Record ID,Name\n7,Ann\n", sheet.Choices{Mapping: sheet.Mapping{"externalId", "name"}}, []string{"Ann||||7"}, nil,
		},
		"by phone": {
			"name,phone\nAnn,+49301\nNobody,\nAnna,+49 30 1\n", sheet.Choices{Match: "phone"},
			[]string{"Anna||+49301||", "Nobody||||"}, []string{"4 is the same contact as row 2"},
		},
		"by nothing": {
			"name,email\nAnn,a@example.com\nAnn,a@example.com\n", sheet.Choices{Match: "none"}, []string{"Ann|a@example.com|||", "Ann|a@example.com|||"}, nil,
		},
		"only what is empty": {
			"name,email,phone\nAnn,a@example.com,\nAnna,a@example.com,+49301\n", sheet.Choices{Existing: "fill"},
			[]string{"Ann|a@example.com|+49301||"}, []string{"3 is the same contact as row 2"},
		},
		"only new ones": {
			"name,email\nAnn,a@example.com\nAnna,a@example.com\n", sheet.Choices{Existing: "skip"}, []string{"Ann|a@example.com|||"}, []string{"3 is the same contact as row 2"},
		},
		"the whole name beside the first": {
			"First name,Name\nAda,Ada Lovelace\nAda,King\n", sheet.Choices{}, []string{"Ada King||||", "Ada Lovelace||||"}, nil,
		},
		"only existing ones": {"name,email\nAnn,a@example.com\n", sheet.Choices{New: "skip"}, nil, nil},
		"cards": {
			"BEGIN:VCARD\r\nVERSION:3.0\r\nN:Berg;Åsa;;;\r\nitem1.EMAIL;type=HOME:h@example.com\r\nEMAIL;type=WORK;type=pref:w@exam\r\n ple.com\r\nTEL;type=CELL:+46 70\r\nTEL;VALUE=uri:tel:+46-8-555\r\n" +
				"ORG:Älv\\, AB;Sales\r\nUID:u-1\r\nPHOTO;ENCODING=b:" + strings.Repeat("AAAA", 50_000) + "\r\nEND:VCARD\r\n" +
				"begin:vcard\nversion:2.1\nFN;ENCODING=QUOTED-PRINTABLE;CHARSET=UTF-8:J=C3=BCr=\ngen\nend:vcard\nBEGIN:VCARD\nFN:No end\n",
			sheet.Choices{}, []string{"Jürgen||||", "Åsa Berg|w@example.com|+468555|Älv, AB|u-1"},
			[]string{`1 email: the first valid value of a list counts; "h@example.com" left out`, `1 phone: the first valid value of a list counts; "+46 70" left out`, "3 refused: the card has no line END:VCARD"},
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			app := testkit.NewApp(t)
			acme := testkit.Tenant(t, app, "Acme")
			testkit.AddFields(t, app, &core.NumberField{Name: "score"})
			stored := store(t, app, acme, c.text)
			if err := imports.Check(app, stored.ID, c.choices); err != nil {
				t.Fatal(err)
			}
			checked := work(t, app, stored.ID)
			checkSaid(t, checked, c.said)
			if err := imports.Start(app, stored.ID, c.choices); err != nil {
				t.Fatal(err)
			}
			done := work(t, app, stored.ID)
			checkSaid(t, done, c.said)
			if checked.Counts != done.Counts {
				t.Errorf("the check counts %+v, the import %+v", checked.Counts, done.Counts)
			}
			var contacts []string
			found, err := app.FindAllRecords("contacts")
			for _, record := range found {
				contacts = append(contacts, strings.Join([]string{record.GetString("name"), record.GetString("email"), record.GetString("phone"), record.GetString("company"), record.GetString("externalId")}, "|"))
			}
			sort.Strings(contacts)
			if err != nil || strings.Join(contacts, "\n") != strings.Join(c.contacts, "\n") {
				t.Errorf("the contacts are %q (%v), want %q", contacts, err, c.contacts)
			}
			if left := testkit.Count(t, app, "SELECT count(*) FROM _importRows", nil); left != 0 {
				t.Errorf("%d pages of rows are left", left)
			}
		})
	}
}

// checkSaid checks what an import says about rows and columns: one text for each, in their order.
func checkSaid(t *testing.T, done *imports.Import, want []string) {
	t.Helper()
	var said []string
	for _, remark := range done.Remarks {
		if remark.IsWarning {
			said = append(said, remark.Text)
		}
	}
	for _, note := range done.Notes {
		said = append(said, fmt.Sprintf("%d %s", note.Row, note.Text))
	}
	for _, refusal := range done.Refusals {
		said = append(said, fmt.Sprintf("%d refused: %s", refusal.Row, refusal.Reason))
	}
	sort.Strings(said)
	for i := range max(len(said), len(want)) {
		if i >= len(said) || i >= len(want) || !strings.HasPrefix(said[i], want[i]) {
			t.Errorf("it says %q, want %q", said, want)
			break
		}
	}
	repeated := 0
	for _, text := range said {
		if strings.Contains(text, "is the same contact as") {
			repeated++
		}
	}
	if done.RowsRepeated != repeated || done.Warnings != len(said)-repeated-done.RowsRefused {
		t.Errorf("it counts %+v beside %q", done.Counts, said)
	}
}
