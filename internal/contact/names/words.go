package names

import "strings"

// maxJoined is the maximum number of parts of a heading that are one entry of the vocabulary.
const maxJoined = 5

// Sets of fields that a qualifier allows.
const (
	every   = fields
	contact = email | phone                                // what a person has several of
	notName = fields &^ (name | nom)                       // "User name" and "Field name" are not names of people
	both    = full | name | nom                            // "Name and surname"
	numbers = phone                                        // "Customer number" is not a field
	places  = email                                        // "Company address" is not a field
	firms   = company                                      // "Associated contacts" is not a field
	prime   = contact | firms | full | name | nom | halves // "Primary contact"
)

func field(kinds words) word                { return word{kinds, 0, Unqualified} }
func ranked(kinds words, rank int) word     { return word{kinds, 0, rank} }
func qualifier(allows words, rank int) word { return word{0, allows, rank} }

// totals are the labels of rows of totals. "Suma" and "Soma" are also names of people.
//
//nolint:misspell // most words are not English
var totals = strings.Fields("total totals grandtotal subtotal sumtotal overalltotal summe gesamt insgesamt " +
	"gesamtsumme zwischensumme gesamtergebnis totaux totalgeneral soustotal somme totale totali totalegenerale " +
	"totais totalgeral totales totaal eindtotaal")

// vocabulary has the words by what they mean, a line for each language: English, German, French, Spanish, Italian,
// Portuguese and Dutch, and the most usual ones in Chinese, Japanese and Korean.
//
//nolint:misspell // most words are not English
var vocabulary = []struct {
	word
	texts string
}{
	{field(email), "email emails mail mails emailaddr"},
	{field(email), "emailadresse emailadressen mailkontakt"},
	{field(email), "courriel courriels messagerie adresseelectronique courrierelectronique mel"},
	{field(email), "correo correos correoelectronico direcciondecorreo direcciondecorreoelectronico direccionelectronica"},
	{field(email), "postaelettronica indirizzodiposta indirizzoelettronico"},
	{field(email), "correioeletronico correioelectronico enderecoeletronico enderecoelectronico"},
	{field(email), "emailadres epost"},
	{ranked(email, Other), "emailid mailid"}, // India
	{ranked(email, Other), "replyto"},        // as forms name the visitor
	{ranked(email, Other), "pec"},            // a certified address in Italy

	{field(phone), "phone phones telephone telephones tel phoneno telno telephoneno contactno " +
		"contactnumber contactnumbers worknumber officenumber bestnumber landline landlines"},
	{field(phone), "telefon telefonnr telnr rufnummer rufnr festnetz fon telefonkontakt kontaktnummer"},
	{field(phone), "ndetelephone notelephone ntelephone ntel notel fixe numerodetelephone"},
	{field(phone), "telefono telefonos tfno tlf telf tlfn fijo numerodetelefono"},
	{field(phone), "recapitotelefonico numerotelefonico fisso numeroditelefono"},
	{field(phone), "telefone telefones fone fixo"},
	{field(phone), "telefoon telefoonnr vastenummer"},
	{ranked(phone, Mobile), "mobile mobiles mobilephone mobileno mob cell " +
		"cells cellular cellno cellphone iphone smartphone whatsapp sms smsphone whatsappid waid msisdn"},
	{ranked(phone, Mobile), "mobil mobiltelefon mobilnr mobilfunk mobilrufnummer mobiltel handy handynr natel"},
	{ranked(phone, Mobile), "portable portables gsm"},
	{ranked(phone, Mobile), "movil moviles celular celulares"},
	{ranked(phone, Mobile), "cellulare cellulari"},
	{ranked(phone, Mobile), "telemovel telemoveis"},
	{ranked(phone, Mobile), "mobiel mobieltje mobiele mobieletelefoon gsmnummer gsmnr"},

	{field(company), "company companys companies organizations organisations org " +
		"organization organisation employer account accounts firm workplace orgname"},
	{field(company), "firma firmen unternehmen unternehmens arbeitgeber betrieb kundenfirma"},
	{field(company), "societe entreprise raisonsociale employeur compagnie nomdelasociete nomdelentreprise nomducompte"},
	{field(company), "empresa compania organizacion razonsocial empleador nombredelaempresa nombredelacuenta"},
	{field(company), "azienda societa impresa ditta ragionesociale " +
		"denominazionesociale denominazione organizzazione datoredilavoro"},
	{field(company), "companhia organizacao razaosocial empregador"},
	{field(company), "bedrijf bedrijfs onderneming organisatie werkgever"},
	{ranked(company, Work), "business"},
	{ranked(company, Other), "nomcommercial nombrecomercial nombrefiscal nomefantasia"},

	{field(first), "firstname firstnames fname forename forenames givenname givennames namegiven christianname"},
	{field(first | short), "first"},
	{field(first | german), "vorname vornamen rufname"},
	{field(first), "prenom prenoms"},
	{field(first), "nombres nombredepila primernombre"},
	{field(first), "primonome nomedibattesimo"},
	{field(first), "primeironome nomeproprio prenome"},
	{field(first), "voornaam voornamen roepnaam"},

	{field(middle), "middlename middlenames middleinitial mname additionalname additionalnames"},
	{field(middle | short), "middle"},
	{field(middle | german), "mittelname zweitername zweitervorname weiterevornamen"},
	{field(middle), "deuxiemeprenom secondprenom autresprenoms"},
	{field(middle), "segundonombre otrosnombres"},
	{field(middle), "secondonome"},
	{field(middle), "segundonome nomedomeio"},
	{field(middle), "middelstenaam tweedenaam tussenvoegsel tussenvoegsels"},

	{field(last), "lastname lastnames lname surname surnames familyname familynames namefamily"},
	{field(last | short), "last"},
	{field(last | german), "nachname nachnamen familienname familiennamen " +
		"zuname nameadressattypnaturlperson nameadressatentypnaturlperson"},
	{field(last), "nomdefamille nomfamille nomdusage patronyme"},
	{field(last), "apellido apellidos primerapellido apellidopaterno"},
	{field(last), "cognome cognomi"},
	{field(last), "sobrenome sobrenomes ultimonome"},
	{field(last), "achternaam familienaam"},
	{ranked(last, Other), "segundoapellido apellidomaterno apelido apelidos"}, // a Brazilian "apelido" is a nickname

	{field(name), "name names"},
	{field(nom), "nom noms nombre nome naam"},
	{field(full), "fullname fullnames contactname displayname completename namesurname nameandsurname " +
		"firstlastname firstandlastname companycontact companycontactname accountcontact profilename pushname"},
	{field(full), "kontaktname vollername vollstandigername vollstaendigername anzeigename"},
	{field(full), "vornamename namevorname vorundnachname vorundzuname vornachname wieheissensie wieheisstdu"},
	{field(full), "nomcomplet nomprenom nomprenoms nometprenom nometprenoms prenomnom prenometnom commentvousappelezvous"},
	{field(full), "nombrecompleto nombreapellido nombreapellidos " +
		"nombreyapellido nombreyapellidos nombresyapellidos comotellamas comosellama"},
	{field(full), "nomecompleto nomecognome nomeecognome cognomenome cognomeenome nominativo cometichiami comesichiama"},
	{field(full), "nomesobrenome nomeesobrenome comovocesechama comotechamas"},
	{field(full), "volledigenaam voorenachternaam weergavenaam hoeheetu hoeheetje"},

	{field(externalID), "externalid externalidentifier"},
	{field(externalID), "externeid externenummer externekennung"},
	{field(externalID), "idexterne identifiantexterne"},
	{field(externalID), "idexterno identificadorexterno"},
	{field(externalID), "idesterno identificativoesterno"},
	{field(externalID), "externid externnummer"},

	{field(otherID),
		"id uuid guid recordid customernumber customerno customercode clientnumber clientcode membernumber memberno"},
	{field(otherID), "kundennummer kundennr kundenid kundencode kontaktid kontaktnr " +
		"debitorennummer debitornummer debitorennr mitgliedsnummer personennummer"},
	{field(otherID), "identifiant numeroclient numerodeclient codeclient nclient"},
	{field(otherID), "numerodecliente numerocliente codigodecliente codigocliente identificador"},
	{field(otherID), "codicecliente identificativo"},
	{field(otherID), "codigodocliente numerodocliente"},
	{field(otherID), "klantnummer klantnr klantcode relatienummer relatiecode debiteurnummer"},
	{qualifier(otherID, Unqualified), "record crm system unique datensatz enregistrement registro"},

	// Chinese, Japanese and Korean. A given name by itself is the whole one without a column of family names.
	{field(email), "邮箱 邮箱地址 电子邮箱 电子邮箱地址 邮件 邮件地址 电子邮件 电子邮件地址 " +
		"電郵 電郵地址 郵箱 電子郵箱 電子郵件 電子郵件地址 電子信箱 信箱"},
	{field(email), "メール メールアドレス メアド eメール eメールアドレス 電子メール 電子メールアドレス emailアドレス mailアドレス"},
	{field(email), "이메일 이메일주소 메일 메일주소 전자우편 전자메일"},
	{field(phone), "电话 电话号码 联系电话 联系方式 固定电话 座机 電話號碼 聯絡電話 聯繫電話"},
	{field(phone), "電話 電話番号 固定電話 固定電話番号 tel番号"},
	{field(phone), "전화 전화번호 연락처 일반전화 유선전화"},
	{ranked(phone, Mobile), "手机 手机号 手机号码 移动电话 手機 手機號 手機號碼 行動電話"},
	{ranked(phone, Mobile), "携帯 携帯電話 携帯番号 携帯電話番号 携帯tel"},
	{ranked(phone, Mobile), "휴대폰 휴대폰번호 휴대전화 휴대전화번호 핸드폰 핸드폰번호"},
	{field(company), "公司 公司名 公司名称 企业 企业名称 单位 单位名称 工作单位 公司名稱 企業名稱"},
	{field(company), "会社 会社名 企業 企業名 勤務先 勤務先名 法人名 御社名 貴社名"},
	{field(company), "회사 회사명 회사이름 기업명 업체명 직장"},
	{field(full), "姓名 联系人 联系人姓名 客户姓名 聯絡人 聯絡人姓名"},
	{field(full), "氏名 ご氏名 お名前 フルネーム"},
	{field(full), "성명 성함"},
	{field(nom), "名 名前 이름"},
	{field(last), "姓 姓氏 苗字 성 성씨"},

	// People who are contacts.
	{word{contactWord, every, Unqualified}, "contact kontakt contacto contatto contato"},
	{word{contactWord | contactPerson, every, Unqualified},
		"contactperson kontaktperson ansprechpartner ansprechpartners ansprechpartnerin ansprechperson"},
	{word{contactWord | contactPerson, every, Unqualified}, "interlocuteur personnedecontact " +
		"personadecontacto referente personadicontatto pessoadecontacto pessoadecontato contactpersoon"},
	{word{noun, every, Unqualified}, "customer client person lead prospect buyer purchaser attendee participant " +
		"invitee respondent registrant applicant member subscriber requester visitor booker submitter responder " +
		"responders contacts candidate donor volunteer delegate student patient payer"},
	{word{noun, every, Unqualified}, "kunde kunden kontakts teilnehmer besteller interessent mitglied bewerber spender"},
	{word{noun, every, Unqualified}, "personne acheteur inscrit candidat donateur adherent eleve"},
	{word{noun, every, Unqualified}, "cliente clientes persona comprador asistente candidato donante alumno paciente"},
	{word{noun, every, Unqualified}, "pessoa participante"},
	{word{noun, every, Unqualified}, "klant klanten persoon deelnemer relatie kandidaat"},
	{qualifier(notName&^company, Unqualified), "user users"},
	{qualifier(notName, Unqualified), "field fields formfield formfields input inputs custom shorttext"},
	{qualifier(phone|full|name, Unqualified), "saved public formatted"},
	{qualifier(contact|company|full, Unqualified), "ticket"},
	{qualifier(contact|company|halves, Unqualified), "order"},
	{qualifier(every, Unqualified), "adressattyp adressatentyp naturl keineangabe"}, // DATEV

	// Which of several addresses and numbers.
	{qualifier(prime, Primary),
		"primary main haupt hauptsachlich hauptsaechlich primare primarer primaere primaerer primar primaer"},
	{qualifier(prime, Primary), "principal principale primaire principales primario primaria primair hoofd"},
	{qualifier(contact|firms, Primary), "default preferred standard bevorzugt " +
		"bevorzugte defaut predeterminado preferido predefinito preferito padrao standaard"},
	{qualifier(contact, Work), "work office professional corporate"},
	{qualifier(phone, Work), "direct"},
	{qualifier(phone, Other), "hq headquarters"},
	{qualifier(contact, Unqualified), "purchase"},
	{qualifier(contact, Work), "geschaftlich geschaeftlich geschaft geschafts geschaefts " +
		"buro buero dienstlich dienstliche dienstl arbeit beruflich gesch geschaftl geschaeftl"},
	{qualifier(contact, Work), "bureau travail pro professionnel professionnelle"},
	{qualifier(contact, Work), "trabajo oficina laboral profesional"},
	{qualifier(contact, Work), "lavoro ufficio aziendale professionale"},
	{qualifier(contact, Work), "trabalho escritorio emprego comercial profissional"},
	{qualifier(contact, Work), "werk zakelijk zakelijke kantoor opwerk ophetwerk"},
	{
		qualifier(contact, Other),
		"home private personal other secondary second alternate alternative additional evening tertiary supplemental",
	},
	{qualifier(contact, Other), "privat privater privates weitere weiterer " +
		"weiteres zweite sekundare sekundaere sekundar andere alternativ alternativer"},
	{qualifier(contact, Other), "domicile prive privee personnel personnelle perso autre secondaire maison"},
	{qualifier(contact, Other), "casa particular otro otra secundario secundaria alternativo alternativa"},
	{qualifier(contact, Other), "abitazione personale privato privata altro altra secondario secondaria"},
	{qualifier(contact, Other), "residencial residencia pessoal outro outra"},
	{qualifier(contact, Other), "thuis persoonlijk persoonlijke ander secundair"},
	{qualifier(every, Unqualified), "billing billingaddress rechnung rechnungs rechnungsadresse " +
		"rechnungsanschrift facturation adressedefacturation facturacion direcciondefacturacion fatturazione " +
		"indirizzodifatturazione faturamento enderecodefaturamento factuur factuuradres"},
	{qualifier(every, Other), "shipping delivery defaultaddress shippingaddress deliveryaddress lieferadresse " +
		"lieferanschrift standardadresse livraison adressedelivraison envio direcciondeenvio spedizione " +
		"indirizzodispedizione entrega enderecodeentrega verzending verzendadres afleveradres"},
	{qualifier(firms, Unqualified), "associated related current legal nameof doyouworkfor areyoufrom doyourepresent"},
	{qualifier(firms|phone, Unqualified), "or oder ou od"},
	{qualifier(firms, Unqualified),
		"zugeordnetes zugeordnete zugehoriges zugehoeriges associee asociada associata associada gekoppeld"},
	{qualifier(firms, Unqualified),
		"beiwelchem beiwelcher inwelchem inwelcher welchesunternehmen arbeitensie arbeitestdu"},

	// What addresses and numbers are called.
	{qualifier(places, Unqualified), "address addresses adresse adressen " +
		"adresses adres direccion direcciones indirizzo indirizzi endereco enderecos"},
	{qualifier(numbers, Unqualified),
		"number numbers nr num nummer nummern numero numeros nº nos n international daytime"},
	{qualifier(numbers, Unqualified), "withcountrycode includingcountrycode incountrycode mitvorwahl " +
		"mitlandervorwahl avecindicatif conprefijo erreichenwirsie furruckfragen fuerrueckfragen"},
	{qualifier(contact, Unqualified), "value valeur wert valor valore waarde best toreachyou"},

	// Words of labels and questions.
	{qualifier(both, Unqualified), "and und et y e en"},
	{qualifier(every, Unqualified), "q s a the your my what whats whatis whatisthe which please pleasetype enter " +
		"provide insert write fill fillin tellus giveus leave optional required mandatory ifany ifapplicable " +
		"andyour andwhatis andwhats"},
	{qualifier(every, Unqualified), "wie lautet wielautet wieist wasist welche welcher ihre ihr ihren ihrer " +
		"deine dein deinen deiner meine mein bitte geben gib sie ein an der die das des dem den angeben eingeben " +
		"nennen nennensie pflichtfeld pflichtangabe erforderlich freiwillig"},
	{qualifier(every, Unqualified), "quel quelle quelest quelleest votre vos ton ta mon ma veuillez saisir " +
		"saisissez entrer entrez indiquer indiquez renseigner renseignez donner donnez merci svp silvousplait de " +
		"du d l la le les obligatoire facultatif requis"},
	{qualifier(every, Unqualified), "cual cuales su tu mi porfavor ingrese ingresa introduce introduzca escribe " +
		"escriba indique indica el del opcional obligatorio"},
	{qualifier(every, Unqualified), "qual quale il lo tuo tua suo sua mio mia " +
		"inserisci inserire inserisca scrivi di dell della dello obbligatorio facoltativo"},
	{qualifier(every, Unqualified), "o seu teu meu minha digite informe insira escreva do da obrigatorio"},
	{qualifier(every, Unqualified), "wat watis uw je jouw mijn vul voer geef in op hier het van aub optioneel verplicht"},
}
