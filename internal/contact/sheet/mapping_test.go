package sheet_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/sheet"
	"contactbase/internal/testkit"
)

// Common headings are known in seven languages, whatever their case, accents and separators, and custom
// fields by their names.
func TestSuggest(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	testkit.AddFields(t, app, &core.TextField{Name: "birthPlace"}, &core.TextField{Name: "mobile"}, &core.TextField{Name: "VIP"}, &core.TextField{Name: "vip_"})
	for _, c := range []struct{ columns, mapping, unknown string }{
		{"Name;E-Mail;Telefon;Firma;Notizen", "name;email;phone;company;", "Notizen"},
		{"Vorname;NACHNAME;E-Mail-Adresse;Mobiltelefon;Unternehmen", "firstName;lastName;email;phone;company", ""},
		{"Vorname;Name;Straße", "firstName;lastName;", "Straße"},
		{"Nom;Prénom;Courriel;Téléphone;Société", "lastName;firstName;email;phone;company", ""},
		{"nom_complet;ADRESSE-E-MAIL;N° de téléphone;Entreprise", "name;email;phone;company", ""},
		{"Nombre;Apellidos;Correo electrónico;Teléfono;Empresa", "firstName;lastName;email;phone;company", ""},
		{"nombre;correo;movil", "name;email;phone", ""},
		{"First name;Name;Organisation", "firstName;lastName;company", ""},
		{"FirstName;last_name;email address;PHONE-NUMBER;Company Name;External ID", "firstName;lastName;email;phone;company;externalId", ""},
		{"phone;Telefon", "phone;phone", ""},
		{"mobile;Mobil;birthplace;Vip", "mobile;phone;birthPlace;", "Vip"},
		{"id;name;email;createdAt", ";name;email;", ""},
		{"ID;name;email", ";name;email", "ID"},
		{"id;name;email;phone;company;externalId;VIP;createdAt;updatedAt", "id;name;email;phone;company;externalId;VIP;;", ""},
		{"Name;Straße;reason;row", "name;;;", "Straße"},
		{"Name;reason;row;Straße", "name;;;", "reason;row;Straße"},
	} {
		columns := strings.Split(c.columns, ";")
		got, err := sheet.Suggest(app, columns, nil)
		if err != nil || strings.Join(got.Mapping, ";") != c.mapping || strings.Join(got.Unknown, ";") != c.unknown {
			t.Errorf("%s: got %+v (%v), want %s, unknown %s", c.columns, got, err, c.mapping, c.unknown)
		}
	}
	for value, want := range map[string]string{"a@example.com": "email", "Ada": "", "": ""} {
		got, err := sheet.Suggest(app, []string{"Subscriber", "Name"}, [][]string{{value, "x"}, {"", "y"}})
		if err != nil || got.Mapping[0] != want || (len(got.Unknown) == 0) != (want != "") {
			t.Errorf("below Subscriber is %q: got %+v (%v)", value, got, err)
		}
	}
	for columns, want := range map[string]string{
		"Customer;Email": "name;email", "Customer;Name": ";name", "Customer;Last name": ";lastName", "Notes;Email": ";email", "Attendee ID;Email": ";email",
	} {
		got, err := sheet.Suggest(app, strings.Split(columns, ";"), [][]string{{"Amy's Birds", "b@example.com and"}, {"Bo", ""}, {"Cy \"C\" Dee", ""}})
		if err != nil || strings.Join(got.Mapping, ";") != want {
			t.Errorf("names below %s: got %+v (%v)", columns, got, err)
		}
	}
	for _, values := range [][]string{{"Ann", "Bob"}, {"1 A", "2 B"}, {"new one", "new one"}, {"", ""}} {
		got, err := sheet.Suggest(app, []string{"Customer", "Email"}, [][]string{{values[0]}, {values[1]}})
		if err != nil || got.Mapping[0] != "" {
			t.Errorf("below Customer are %q: got %+v (%v)", values, got, err)
		}
	}
	if targets, err := sheet.Targets(app); err != nil || !slices.Contains(targets, "id") || !slices.Contains(targets, "birthPlace") {
		t.Errorf("the targets are %v, %v", targets, err)
	}
}

// The IDs of another system are offered as external IDs unless another column finds the contacts.
func TestRemarks(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]int{"name": 1, "externalId": 0, "id": 0} {
		if got := (sheet.Mapping{"", target}).Remarks([]string{"Record ID", "Key"}); len(got) != want {
			t.Errorf("beside a column for %s it says %+v", target, got)
		}
	}
}
