package names_test

import (
	_ "embed"
	"slices"
	"strings"
	"testing"

	"contactbase/internal/contact/names"
)

//go:embed testdata/headings.txt
var headings string

var ranks = map[string]int{"Primary": names.Primary, "Work": names.Work, "": names.Unqualified, "Other": names.Other, "Mobile": names.Mobile}

// TestOf reads headings that other programs write, each with what it means and how it ranks. ID marks the ID that the
// program gives a contact.
func TestOf(t *testing.T) {
	t.Parallel()
	program, programs, count, friends := "", 0, 0, 0
	for line := range strings.Lines(headings) {
		line = strings.TrimSpace(line)
		if about, ok := strings.CutPrefix(line, "# "); ok {
			program = about
			programs++
			continue
		}
		heading, want, ok := strings.Cut(line, " →")
		if !ok {
			t.Fatalf("%s: there is no arrow in %q", program, line)
		}
		count++
		field, rank, _ := strings.Cut(strings.TrimSpace(want), " ")
		if names.IsID(heading) != (field == "ID") {
			t.Errorf("%s: %q is an ID: %v", program, heading, names.IsID(heading))
		}
		meaning := names.Meaning{Field: field, Rank: ranks[rank]}
		if field == "" || field == "ID" {
			friends++
			meaning = names.Meaning{}
		}
		if got := names.Of(heading); got != meaning {
			t.Errorf("%s: %q means %v, not %v", program, heading, got, meaning)
		}
	}
	if programs < 25 || count < 300 || friends < 80 {
		t.Errorf("there are %d programs, %d headings and %d that mean nothing", programs, count, friends)
	}
}

// A name means the half that has no column.
func TestAll(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ headings, want string }{
		{"Vorname;Name;Straße", "firstName;lastName;"},
		{"Name;Vorname", "lastName;firstName"},
		{"Name;Nachname", "firstName;lastName"},
		{"姓;名;会社名", "lastName;firstName;company"},
		{"성;이름", "lastName;firstName"},
		{"First name;Name;Organisation", "firstName;lastName;company"},
		{"Name;Last name", "name;lastName"},
		{"Nom;Prénom;Société", "lastName;firstName;company"},
		{"Prénom du client;Nom du client;Nom de la société", "firstName;lastName;company"},
		{"First name;Contact name", "firstName;name"},
		{"Nombre;Apellidos", "firstName;lastName"},
		{"Nome;Cognome;Nome azienda", "firstName;lastName;company"},
		{"Naam;Voornaam;Tussenvoegsel", "lastName;firstName;middleName"},
		{"Prénom;Nom;Nom complet", "firstName;lastName;name"},
		{"First name;Last name;Name", "firstName;lastName;name"},
		{"Name;Name;Vorname", "lastName;name;firstName"},
		{"First;Last;Email", "firstName;lastName;email"},
		{"First;Middle;Last;Home;Work", "firstName;middleName;lastName;;"},
		{"Middle;Last", ";"},
		{"Last;Email", ";email"},
		{"First contact;Last contact", ";"},
		{"Name;First;Last seen", "name;;"},
		{"Nom;Courriel", "name;email"},
		{"Naam contactpersoon;Voornaam contactpersoon", "lastName;firstName"},
		{"Ansprechpartner;Ansprechpartner E-Mail;Firma", "name;email;company"},
	} {
		var got []string
		for _, meaning := range names.All(strings.Split(c.headings, ";")) {
			got = append(got, meaning.Field)
		}
		if strings.Join(got, ";") != c.want {
			t.Errorf("%s: got %s, want %s", c.headings, strings.Join(got, ";"), c.want)
		}
	}
}

// Senders post tens of thousands of properties, and properties of any length.
func TestOfIsBounded(t *testing.T) {
	t.Parallel()
	if got := names.Of("your " + strings.Repeat(" ", 141) + "email"); got != (names.Meaning{}) {
		t.Errorf("a heading of 151 characters means %v", got)
	}
	if got := names.Of("email " + strings.Repeat("1 a ", 30)); got != (names.Meaning{}) {
		t.Errorf("a heading of 60 parts means %v", got)
	}
	long := "e" + strings.Repeat("\u0301", 70)
	for _, heading := range []string{"", " ", "-", "\xff\xfe", long, strings.Repeat("ß", 75), strings.Repeat("\u1e69", 50), strings.Repeat("aB", 75)} {
		if got := names.Of(heading); got != (names.Meaning{}) {
			t.Errorf("%q means %v", heading, got)
		}
	}
}

// These lists are what 1.1.0 knew, without separators.
//
//nolint:misspell // most words are not English
func TestOldNames(t *testing.T) {
	t.Parallel()
	for field, known := range map[string]string{
		names.Name: "fullname contact contactname displayname kontakt kontaktname ansprechpartner vollername vollstandigername vornamenachname " +
			"vorundnachname nom nomcomplet nomprenom nometprenom prenomnom prenometnom nombre nombrecompleto nombreapellidos nombreyapellidos contacto",
		names.FirstName: "firstname forename givenname vorname rufname prenom prenoms nombres nombredepila primernombre",
		names.LastName:  "lastname surname familyname nachname familienname zuname nomdefamille apellido apellidos primerapellido",
		names.Email: "email mail emails mailaddress mailadresse emailadresse courriel adressecourriel adressemail adresseemail adresseelectronique " +
			"correo correoelectronico direcciondecorreo direcciondecorreoelectronico direccionemail emailaddress",
		names.Phone: "tel telephone telephonenumber phoneno cell cellphone mobilephone mobilenumber telefon telefonnummer telefonnr telnr telno " +
			"rufnummer mobil mobiltelefon mobilnummer mobilfunk handy handynummer numerodetelephone ndetelephone notelephone telephoneportable " +
			"telephonemobile portable telefono numerodetelefono telefonomovil telefonocelular movil celular phonenumber mobile",
		names.Company: "company companyname organization organisation business employer firma firmenname unternehmen unternehmensname arbeitgeber " +
			"societe entreprise raisonsociale nomdelasociete nomdelentreprise empresa nombredelaempresa compania organizacion razonsocial",
		names.ExternalID: "externalid externeid externenummer idexterne identifiantexterne idexterno identificadorexterno",
	} {
		for _, heading := range strings.Fields(known) {
			for _, written := range []string{heading, strings.ToUpper(heading)} {
				if got := names.Of(written).Field; got != field {
					t.Errorf("%q means %q, not %q", written, got, field)
				}
			}
		}
	}
}

// The name of a group of people says nothing about what is below it.
func TestIsPerson(t *testing.T) {
	t.Parallel()
	for heading, want := range map[string]bool{"Subscriber": true, "Der Kunde": true, "Customer ID": false, "Contact": false, "Customer email": false, "Notes": false, "": false, "the": false} {
		if got := names.IsPerson(heading); got != want {
			t.Errorf("%q names people: %v", heading, got)
		}
	}
}

// A property says whether it is about the contact or about somebody else.
func TestWhoseProperty(t *testing.T) {
	t.Parallel()
	for label, want := range map[string][2]bool{
		"owner": {true, false}, "Account Owner": {true, false}, "createdBy": {true, false}, "createdby": {true, false},
		"assigned_to": {true, false}, "hosts": {true, false}, "old_record": {true, false}, "salesRep": {true, false},
		"submitted_by": {}, "booked_by": {}, "by": {}, "data": {}, "user": {}, "hostname": {}, "managed": {}, "": {},
		"customer": {false, true}, "Attendees": {false, true}, "contact": {false, true}, "contacts": {false, true},
		"Ansprechpartner": {false, true}, "buyer_details": {false, true}, "contactInfo": {false, true}, "details": {}, "customer_id": {}, "customer_email": {}, "name": {},
		strings.Repeat("owner ", 100): {},
	} {
		if got := [2]bool{names.IsAside(label), names.IsContact(label)}; got != want {
			t.Errorf("%.40q: got %v", label, got)
		}
	}
	for heading, want := range map[string]bool{"wa_id": true, "WaId": true, "MSISDN": true, "phone": false, "": false} {
		if got := names.IsUniversal(heading); got != want {
			t.Errorf("%q: got %v", heading, got)
		}
	}
}

// A row of totals has a label where the contacts have their names.
func TestIsTotal(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"Total": true, "TOTAL:": true, "Grand total (12)": true, "Gesamtsumme": true, "Sous-total": true, "Totaal 3": true,
		"": false, "12": false, "Total Energies": false, "Soma": false, "Suma": false,
	} {
		if got := names.IsTotal(text); got != want {
			t.Errorf("%.20q is a total: %v", text, got)
		}
	}
}

func TestFold(t *testing.T) {
	t.Parallel()
	for heading, want := range map[string]string{"Straße": "strasse", "N° de Téléphone!": "ndetelephone", "Cœur_2": "coeur2", "": ""} {
		if got := names.Fold(heading); got != want {
			t.Errorf("%q folds to %q", heading, got)
		}
	}
}

// Headings that are not fields decide nothing about those that are.
func FuzzAll(f *testing.F) {
	for line := range strings.Lines(headings) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, heading string) {
		one := names.Of(heading)
		if one.Field == "" && one.Rank != 0 {
			t.Errorf("%q means nothing, with rank %d", heading, one.Rank)
		}
		if one.Field != "" && names.IsID(heading) {
			t.Errorf("%q is a field and an ID", heading)
		}
		all := names.All([]string{heading, "Städte"})
		if !slices.Equal(all, []names.Meaning{one, {}}) {
			t.Errorf("%q means %v alone and %v in a row", heading, one, all)
		}
	})
}

func BenchmarkOf(b *testing.B) {
	for _, heading := range []string{"email", "property_12345", "q4_emailAddress", "Wie lautet Ihre E-Mail-Adresse?", strings.Repeat("a", 140)} {
		b.Run(heading[:min(len(heading), 20)], func(b *testing.B) {
			for b.Loop() {
				names.Of(heading)
			}
		})
	}
}

// A last name belongs to a name beside it, unless that has it already.
func TestWhole(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, first, middle, last, want string
	}{
		{"", "Ada", "M.", "King", "Ada M. King"},
		{"Ada", "", "", "King", "Ada King"},
		{"Ada", "", "M.", "King", "Ada M. King"},
		{"Ada King", "", "", "King", "Ada King"},
		{"KING, Ada", "", "", "King", "KING, Ada"},
		{"Zoë Müller-Weiß", "", "", "muller weiss", "Zoë Müller-Weiß"},
		{"Ann Kingsley", "", "", "King", "Ann Kingsley King"},
		{"Vincent van Gogh", "", "", "van Gogh", "Vincent van Gogh"},
		{"Ada L.", "Ada", "", "King", "Ada L."},
		{"Ada", "", "", "", "Ada"},
		{"", "", "", "King", "King"},
	} {
		if got := names.Whole(c.name, [3]string{c.first, c.middle, c.last}); got != c.want {
			t.Errorf("%+v: got %q", c, got)
		}
	}
}

func TestCountry(t *testing.T) {
	t.Parallel()
	for heading, want := range map[string]int{
		"country": 2, "Country Code": 1, "Billing Country": 2, "Business Country/Region": 2, "Land": 2, "Pays": 2, "País": 2,
		"Address 1 - Country": 2, "country_iso2": 2, "phone_country_code": 1, "primaryPhoneCountryCode": 1, "Mobile Country": 1,
		"calling_code": 0, "primaryPhoneCallingCode": 0, "Dial code": 0, "phone_prefix": 0, "Landesvorwahl": 0, "Indicatif": 0,
	} {
		if rank, ok := names.Country(heading); !ok || rank != want {
			t.Errorf("%q has the rank %d, %t, want %d", heading, rank, ok, want)
		}
	}
	for _, heading := range []string{"", "code", "Country club", "phone", "prefix", "Countryside", strings.Repeat("phone", 99)} {
		if _, ok := names.Country(heading); ok {
			t.Errorf("%q is a country", heading)
		}
	}
}
