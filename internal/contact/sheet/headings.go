package sheet

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"contactbase/internal/inbound/payload"
)

// headings has the fields by their common names in English, German, French and Spanish, folded (see fold). The names that inbound webhooks know
// are not repeated here.
var headings = func() map[string]string {
	names := map[string]string{
		"name": "contact contactname displayname kontakt kontaktname ansprechpartner vollername vollstandigername vornamenachname vorundnachname " +
			"nom nomcomplet nomprenom nometprenom prenomnom prenometnom nombre nombrecompleto nombreapellidos nombreyapellidos contacto",
		FirstName: "forename givenname vorname rufname prenom prenoms nombres nombredepila primernombre",
		LastName:  "surname familyname nachname familienname zuname nomdefamille apellido apellidos primerapellido",
		"email": "mail emails mailaddress mailadresse emailadresse courriel adressecourriel adressemail adresseemail adresseelectronique " +
			"correo correoelectronico direcciondecorreo direcciondecorreoelectronico direccionemail",
		"phone": "tel telephone telephonenumber phoneno cell cellphone mobilephone mobilenumber telefon telefonnummer telefonnr telnr telno " +
			"rufnummer mobil mobiltelefon mobilnummer mobilfunk handy handynummer numerodetelephone ndetelephone notelephone telephoneportable telephonemobile " +
			"portable telefono numerodetelefono telefonomovil telefonocelular movil celular",
		"company": "organisation business employer firma firmenname unternehmen unternehmensname arbeitgeber societe entreprise raisonsociale " +
			"nomdelasociete nomdelentreprise empresa nombredelaempresa compania organizacion razonsocial", //nolint:misspell // Spanish
		"externalId": "externeid externenummer idexterne identifiantexterne idexterno identificadorexterno",
	}
	fields := map[string]string{}
	for field, called := range names {
		for heading := range strings.FieldsSeq(called) {
			fields[heading] = field
		}
	}
	return fields
}()

// These headings name the whole name of a contact, or one half of it if the other half has a column: "Nom" beside "Prénom".
var (
	wholeNames = map[string]bool{"nom": true, "nombre": true}

	// A German "Name" beside "Vorname" is the last name. An English one is as often the whole name.
	germanHalves = map[string]bool{"vorname": true, "rufname": true, "nachname": true, "familienname": true, "zuname": true}
)

// fold returns a heading without the differences that do not count: case, accents, punctuation and white space.
func fold(heading string) string {
	var folded strings.Builder
	for _, c := range norm.NFD.String(strings.ToLower(heading)) {
		switch {
		case c == 'ß':
			folded.WriteString("ss")
		case c == 'œ':
			folded.WriteString("oe")
		case unicode.IsLetter(c) || unicode.IsDigit(c):
			folded.WriteRune(c)
		}
	}
	return folded.String()
}

// called returns the target that a heading names: a field of a contact, a half of a name, or "" if it is not known.
func called(heading string) string {
	if field := payload.FieldCalled(heading); field != "" {
		return field
	}
	if field := payload.FieldCalled(fold(heading)); field != "" {
		return field
	}
	return headings[fold(heading)]
}

// targets returns the target that each column names. If one half of a name has a column, a heading that can name the whole name names the other
// half.
func targets(columns []string) []string {
	found := make([]string, len(columns))
	has, german := map[string]bool{}, false
	for i, column := range columns {
		found[i] = called(column)
		has[found[i]] = true
		german = german || germanHalves[fold(column)]
	}
	other := ""
	switch {
	case has[FirstName] && !has[LastName]:
		other = LastName
	case has[LastName] && !has[FirstName]:
		other = FirstName
	}
	for i, column := range columns {
		if folded := fold(column); other != "" && (wholeNames[folded] || german && folded == "name") {
			found[i] = other
			break
		}
	}
	return found
}
