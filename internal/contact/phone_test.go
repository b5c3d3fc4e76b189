package contact_test

import (
	"strings"
	"testing"

	"contactbase/internal/contact"
)

// A number is stored as a plus sign and digits, whatever people write between them.
func TestPhones(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                             "",
		"+49 (30) 123-456/7.8":         "+493012345678",
		"+44 (0)20 7946 0101":          "+442079460101",
		"+44(0) 20 7946 0101":          "+442079460101",
		"+39 (0)6 5550101":             "+3906" + "5550101",
		"+378 (0)549 555010":           "+3780549555010",
		"+49 30 (0) 123":               "+49300123",
		"\u202a+49 30\u00a01234\u202c": "+49301234",
		"+49‐30–12−34":                 "+49301234",
		"＋４９（３０）１２３４":                  "+49301234",
		"+12":                          "must be in international format",
		"030 1234":                     "must be in international format",
		"+0123":                        "must be in international format",
		"+49 30 1234 ext. 12":          "has the extension ext. 12",
		"+49 30 1234x12":               "has the extension x12",
		"+49 30 1234 #12":              "has the extension #12",
		"+1-234-567-8901 Ext 9 ":       "has the extension Ext 9",
	} {
		got, wrong := contact.FieldNamed(contact.Phone).Normalize(text)
		if wrong != nil {
			got = wrong.Message
		}
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// Other programs write marks before a number, and national numbers.
func TestReadPhone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, country, want string }{
		{"p:+351915550101", "", "+351915550101"},
		{"TEL:+49-30-1234", "", "+49301234"},
		{"030 5550144", "de", "+49305550144"},
		{"(212) 555-0101", "US", "+12125550101"},
		{"491701234567", "DE", "+491701234567"},
		{"06 5550101", "IT", "+39065550101"},
		{"0049 30 5550144", "DE", "+49305550144"},
		{"+44 20 7946 0101", "DE", "+442079460101"},
		{"030 5550144", "", "is not in international format"},
		{"1", "DE", "is not a number of the country DE"},
		{"212 555 0101 999", "US", "is not a number of the country US"},
		{" tel:+49 30 1234 ", "", "+49301234"},
		{"n/a", "DE", "is not a number of the country DE"},
		{"030 5550144 ext 3", "DE", "has the extension ext 3"},
		{"Tel. +49 30 1234", "", "+49301234"},
		{"Mobile: +49 (0)170 1234567", "", "+491701234567"},
		{"whatsapp:+491701234567", "", "+491701234567"},
		{"+49 30 1234 (work)", "", "+49301234"},
		{"+49 30 1234 privat", "DE", "+49301234"},
		{"\ufeff+49 30\u200b1234", "", "+49301234"},
		{"030 1234 +49 30 1234", "", "is not in international format"},
		{"Fax: +49 30 1234", "", "is not in international format"},
		{"Fax: +49 30 123456", "DE", "is not a number of the country DE"},
		{"Fax 030 123456", "DE", "is not a number of the country DE"},
		{"030 123456 (Fax)", "DE", "is not a number of the country DE"},
		{"Tel.: 030 123456 (work)", "DE", "+4930123456"},
		{"Mobile: (030) 123456", "DE", "+4930123456"},
		{"+49 30 1234 (fax)", "", "must be in international format"},
		{"+49 30 1234 secret", "", "must be in international format"},
		{"+49 30 1234 +49 30 1235", "", "+49301234"},
		{"0049 0171 5550102", "", "+491715550102"},
		{"00 44 20 7946 0101", "DE", "+442079460101"},
		{"٠٣٠ ٥٥٥٠١٤٤", "DE", "+49305550144"},
		{"Mobile: +49 30 1234 ext. 5", "", "has the extension ext. 5"},
		{"49301234567.0", "DE", "+49301234567"},
		{"301234567.0", "DE", "+49301234567"},
		{"4.91512E+11", "DE", "is not a number of the country DE"},
		{"4,91512E+11", "", "is not in international format"},
		{strings.Repeat("1", 10_000), "DE", "is not a number of the country DE"},
	} {
		read := contact.ReadPhone(c.text, c.country)
		got := read.Value
		if read.Wrong != nil {
			got = read.Wrong.Message
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%.40q in %q is %q, want %q", c.text, c.country, got, c.want)
		}
	}
	if !contact.IsCountry("de") || contact.IsCountry("XX") || contact.IsCountry("DEU") {
		t.Error("the countries are wrong")
	}
}

// A number has the country that stands beside it, or the first in which it is possible. Without a plus sign, digits are
// an international number only if they can be nothing else.
func TestReadPhoneOfCountries(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text      string
		countries []string
		want      string
		isAssumed bool
	}{
		{"655502001", []string{"FR", "DE"}, "+33655502001", false},
		{"0171 5550101", []string{"US", "DE"}, "+491715550101", false},
		{"655502001", []string{"", "FR"}, "+33655502001", false},
		{"33655502001", []string{"US"}, "+33655502001", true},
		{"4930555021", []string{"FR"}, "+4930555021", true},
		{"33 6 55 50 20 01", nil, "+33655502001", true},
		{"14155550112", nil, "+14155550112", true},
		{"4930555021", nil, "", false},
		{"2125550101", nil, "", false},
		{"999999999999", nil, "", false},
	} {
		read := contact.ReadPhone(c.text, c.countries...)
		if read.Value != c.want && (c.want != "" || read.Wrong == nil) || (len(read.Warnings()) > 0) != c.isAssumed {
			t.Errorf("%q in %q is %q %q %v", c.text, c.countries, read.Value, read.Warnings(), read.Wrong)
		}
	}
	for value, want := range map[string]string{
		"fr": "FR", "de\n": "DE", "UK": "GB", "+33": "FR", "0049": "DE", "(+1)": "US", "44": "GB", "Germany": "", "": "", "0": "",
		"999": "", "+99999999999": "", "DEU": "",
	} {
		if got := contact.CountryIn(value); got != want {
			t.Errorf("%q is the country %q, want %q", value, got, want)
		}
	}
}
