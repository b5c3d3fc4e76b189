package sheet_test

import (
	"reflect"
	"testing"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"
)

// Lines of vCard 2.1 that are neither ASCII nor quoted-printable are in the character sets that they name, also beside
// others, as telephones (https://qiita.com/katakaku/items/bfebbba985c39f774566 has the lines of Japanese ones,
// skarim/vobject#30 that of a Nokia) and Outlook (FolkerKinzel/VCards#4, sabre-io/vobject#41) export them. A line that is
// not in its character set is read as the lines that name none.
func TestLinesInTheirCharacterSets(t *testing.T) {
	t.Parallel()
	sjis, cyrillic, western := japanese.ShiftJIS.NewEncoder(), charmap.Windows1251.NewEncoder(), charmap.Windows1252.NewEncoder()
	gbk := simplifiedchinese.GBK.NewEncoder()
	text := card("VERSION:2.1", "N;CHARSET=SHIFT_JIS:"+encode(t, "表;花子", sjis), "SOUND;X-IRMC-N;CHARSET=SHIFT_JIS:"+encode(t, "ヒョウ", sjis), "TEL;CELL:+8190") +
		card("N;CHARSET=windows-1251:"+encode(t, `Петрова\; Ли;Анна`, cyrillic), "ORG;ENCODING=8BIT;CHARSET=Windows-1251:"+encode(t, "Заря", cyrillic)) +
		card("FN;CHARSET=windows-1251:"+encode(t, "Анна ", cyrillic), " "+encode(t, "Пет", cyrillic), "\t"+encode(t, "рова", cyrillic), "EMAIL;CHARSET=windows-1251:anna@example.com") +
		card("N;charset=\"Windows-1252\";LANGUAGE=de:"+encode(t, "Müller;Jörg", western), "ORG;CHARSET=GB2312:"+encode(t, "诚信", gbk)) +
		card("N;CHARSET=UTF-8;ENCODING=8BIT:Łoś;Ewa", "ORG:Żółw") +
		card("FN;CHARSET=ISO-2022-JP:"+encode(t, "山田", japanese.ISO2022JP.NewEncoder())) +
		card("FN;CHARSET=ISO-8859-1;ENCODING=QUOTED-PRINTABLE:J=F6rg")
	want := []map[string]string{
		{"name": "表花子", "phone": "+8190"},
		{"name": "Анна Петрова; Ли", "company": "Заря"},
		{"name": "Анна Петрова", "email": "anna@example.com"},
		{"name": "Jörg Müller", "company": "诚信"},
		{"name": "Ewa Łoś", "company": "Żółw"},
		{"name": "山田"},
		{"name": "Jörg"},
	}
	for what, from := range map[string]string{"without a mark": "", "with a mark": "\xef\xbb\xbf"} {
		got := readCards(t, from+text)
		for i, card := range got {
			if i < len(want) && !reflect.DeepEqual(card, want[i]) {
				t.Errorf("%s, card %d: %q, want %q", what, i+1, card, want[i])
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s, there are %d cards", what, len(got))
		}
	}
	wrong := card("FN;CHARSET=SHIFT_JIS:Jos\xe9", "ORG;CHARSET=EBCDIC:S\xfcd", "TEL;CHARSET=EBCDIC:+491")
	if got := readCards(t, wrong); len(got) != 1 || !reflect.DeepEqual(got[0], map[string]string{"name": "José", "company": "Süd", "phone": "+491"}) {
		t.Errorf("wrong and unknown character sets: %q", got)
	}
}
