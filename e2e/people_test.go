package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
)

// person is a contact of the main job, and how to search for it.
type person struct {
	name  string
	email string
	phone string // "" for none
	word  string // of the name, which no other person's has
	plain string // word without accents
}

// script has names in a script. After a slash it has the name without accents, if it has any.
type script struct {
	given, family []string
	joined        string // between two family names, or the parts of a name where there are no spaces
	spaced        bool   // whether a space stands between given and family name, in this order
	country       string // of the phone number
}

func names(list string) []string { return strings.Fields(list) }

var scripts = []script{
	{
		given: names("Ada Zoë/Zoe José/Jose Søren/Soren Łukasz/Lukasz Chloé/Chloe Jürgen/Jurgen Siân/Sian Åsa/Asa Nuño/Nuno Thị/Thi Ömer/Omer Ines Tomás/Tomas Maeve Anaïs/Anais"),
		family: names(`Lovelace Müller/Muller Núñez/Nunez Østergård/Ostergard Żółć/Zolc Lefèvre/Lefevre Groß/Gross Evans Lindström/Lindstrom
			Conceição/Conceicao Nguyễn/Nguyen Çağlar/Caglar Kowalski Dvořák/Dvorak O'Brien Bjørnson/Bjornson Đặng/Dang Szabó/Szabo Ionescu
			Petrauskas Kļaviņš/Klavins Hämäläinen/Hamalainen Sørensen/Sorensen Fernández/Fernandez Rossi Bianchi Schäfer/Schafer Weiß/Weiss
			Peeters Dubois Marchetti Þórsson/Þorsson Hughes Walsh Nowak Wójcik/Wojcik Kovács/Kovacs Horvat Popović/Popovic Yılmaz/Yilmaz
			Öztürk/Ozturk Silva Araújo/Araujo Smith Jones Taylor`),
		joined: "-", spaced: true, country: "+49 30 ",
	},
	{
		given: names("Νίκος/Νικος Ελένη/Ελενη Γιώργος/Γιωργος Μαρία/Μαρια Ανδρέας/Ανδρεας Σοφία/Σοφια Κώστας/Κωστας Άννα/Αννα"),
		family: names(`Παππάς/Παππας Δημητρίου/Δημητριου Αλεξίου/Αλεξιου Βασιλείου/Βασιλειου Γεωργίου/Γεωργιου Ζαφείρης/Ζαφειρης Ηλιάδης/Ηλιαδης
			Θεοδώρου/Θεοδωρου Ιωάννου/Ιωαννου Κυριάκου/Κυριακου Λάμπρου/Λαμπρου Μιχαήλ/Μιχαηλ Νικολάου/Νικολαου Ξένος/Ξενος Οικονόμου/Οικονομου
			Παύλου/Παυλου Ρήγας/Ρηγας Σταύρου/Σταυρου Τσάκαλος/Τσακαλος Φωτίου/Φωτιου Χρήστου/Χρηστου Ψαλτάκης/Ψαλτακης Ωρολογάς/Ωρολογας Μαρκάκης/Μαρκακης
			Αγγελής/Αγγελης Βλάχος/Βλαχος Γρίβας/Γριβας Δούκας/Δουκας Ευθυμίου/Ευθυμιου Ζήσης/Ζησης Καζάκος/Καζακος Λούκας/Λουκας Μελάς/Μελας
			Ντόκος/Ντοκος Πετρίδης/Πετριδης Ράλλης/Ραλλης Σαμαράς/Σαμαρας Τζίμας/Τζιμας Φλώρος/Φλωρος Χατζής/Χατζης Μπάμπης/Μπαμπης Κόκκινος/Κοκκινος`),
		joined: "-", spaced: true, country: "+30 210 ",
	},
	{
		given: names("Алёна/Алена Пётр/Петр Мария Николай Олена Семён/Семен Дарья Юрий"),
		family: names(`Королёв/Королев Зайцева Иванова Соловьёв/Соловьев Шевченко Бойко Коваленко Ткачёв/Ткачев Мороз Лебедев Новиков
			Петров Козлов Орлов Макаров Андреев Фёдоров/Федоров Киселёв/Киселев Гусев Кузьмин Соколов Павлов Романов Воробьёв/Воробьев Фролов
			Журавлёв/Журавлев Белый Крылов Богданов Осипов Сидоров Мельник Лысенко Бондар Гнатюк Савченко Руденко Петренко Клименко Марченко
			Левченко Яковлев`),
		joined: "-", spaced: true, country: "+7 495 ",
	},
	{
		given: names("أحمد/احمد مريم فاطمة يوسف ليلى عمر نور خالد"),
		family: names(`النجار الحداد المصري الخطيب العلي السيد الشامي البغدادي الحسن الزهراني القحطاني العتيبي الغامدي الدوسري المطيري الشمري الحربي
			العمري الأنصاري/الانصاري الهاشمي القرشي التميمي الكندي الطائي الأزدي/الازدي الخزرجي السلمي الفارسي الرومي الحلبي الدمشقي المقدسي
			النابلسي الغزاوي التونسي المغربي الجزائري الليبي السوداني اليمني العماني الكويتي`),
		joined: "-", spaced: true, country: "+971 4 ",
	},
	{
		given:  names("伟 芳 娜 敏 静 丽 强 磊 军 洋 勇 艳 杰 娟 涛 明 超 兰 霞 平 刚 桂 英 华 玉 萍 红 娥 玲 芬 燕 彬 鹏 浩 凯 秀 健 俊 帆 雪"),
		family: names("王 李 张 刘 陈 杨 赵 黄 周 吴 徐 孙 胡 朱 高 林 何 郭 马 罗 梁 宋 郑 谢 韩 唐 冯 于 董 萧 程 曹 袁 邓 许 傅 沈 曾 彭 吕 佐藤 鈴木 高橋 田中 山田"),
		spaced: false, country: "+81 3 ",
	},
}

// split returns a name with and without accents.
func split(name string) (written, plain string) {
	written, plain, found := strings.Cut(name, "/")
	if !found {
		plain = written
	}
	return written, plain
}

// somebody returns the person with that number. It is always the same one, and different from those of other numbers
// below a few thousand per script.
func somebody(n int) person {
	s := scripts[n%len(scripts)]
	k := n / len(scripts)
	var p person
	if s.spaced {
		first, plainFirst := split(s.family[k%len(s.family)])
		second, plainSecond := split(s.family[k/len(s.family)%len(s.family)])
		given, _ := split(s.given[k%len(s.given)])
		p.word, p.plain = first+s.joined+second, plainFirst+s.joined+plainSecond
		if round := k / len(s.family) / len(s.family); round > 0 { // a third of their names sets the later ones apart
			third, plainThird := split(s.family[round])
			p.word, p.plain = p.word+s.joined+third, p.plain+s.joined+plainThird
		}
		p.name = given + " " + p.word
	} else {
		p.name = s.family[k%len(s.family)] + s.given[k/len(s.family)%len(s.given)] + s.given[k/len(s.family)/len(s.given)%len(s.given)]
		p.word, p.plain = p.name, p.name
	}
	if n%2 == 0 || lookFor(n) == byPhone {
		p.phone = fmt.Sprintf("%s%07d", s.country, 1_000_000+n)
	}
	if n%3 != 0 {
		p.email = fmt.Sprintf("person.%d@example.com", n)
	}
	return p
}

// The ways to search for persons, in turn.
const (
	byWord = iota
	byPlainWord
	byOtherCase
	byPhone
	byName
	waysToLook
)

func lookFor(n int) int { return n / len(scripts) % waysToLook }

// query returns a search that finds the person with that number.
func (p *person) query(n int) string {
	switch lookFor(n) {
	case byPlainWord:
		return strings.ToLower(p.plain)
	case byOtherCase:
		return strings.ToUpper(p.word)
	case byPhone: // as somebody writes it who calls from within the country
		return fmt.Sprintf("(0)%07d", 1_000_000+n)
	case byName:
		return p.name
	default:
		return p.word
	}
}

// body returns the person as the body of a request that creates it.
func (p *person) body() (string, error) {
	fields := map[string]string{"name": p.name}
	if p.email != "" {
		fields["email"] = p.email
	}
	if p.phone != "" {
		fields["phone"] = p.phone
	}
	encoded, err := json.Marshal(fields)
	return string(encoded), err
}
