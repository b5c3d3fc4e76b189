package charset_test

import (
	"fmt"
	"slices"
	"strings"
)

// people has names and cities of a language, separated by spaces, and the encodings of its files.
type people struct{ language, country, encodings, given, family, cities string }

// file returns a CSV file of that many people.
func (p people) file(number int) string {
	var file strings.Builder
	file.WriteString("Name;E-mail;City\r\n")
	given, family, cities := strings.Fields(p.given), strings.Fields(p.family), strings.Fields(p.cities)
	for i := range number {
		first, last := given[i*5%len(given)], family[(i*7+i/3)%len(family)]
		name := first + " " + last
		if slices.Contains([]string{"JP", "KR", "CN", "TW"}, p.country) {
			name = last + first
		}
		city := strings.ReplaceAll(cities[i%len(cities)], "_", " ")
		fmt.Fprintf(&file, "%s;p%d@example.com;%s\r\n", name, i, city)
	}
	return file.String()
}

var peoples = []people{
	{"Polish", "PL", "windows-1250 iso-8859-2",
		"Łukasz Małgorzata Paweł Agnieszka Michał Katarzyna Świętosława Jan Żaneta Stanisław " +
			"Grażyna Andrzej",
		"Żółkiewski Wiśniewska Kowalczyk Dąbrowski Wójcik Kamiński Zieliński Szymańska Woźniak " +
			"Jabłoński Król Błaszczyk Śliwa",
		"Kraków Łódź Wrocław Poznań Gdańsk Częstochowa Toruń Bydgoszcz Zielona_Góra Białystok " +
			"Rzeszów"},
	{"Czech", "CZ", "windows-1250 iso-8859-2",
		"Zdeněk Jiří Kateřina Lukáš Tomáš Jana Lenka Ondřej František Alžběta Veronika Matěj",
		"Říha Novák Dvořáková Černý Procházka Kučera Veselý Horáková Němec Pokorná Růžička " +
			"Šťastný Doležal",
		"Praha Brno Plzeň České_Budějovice Hradec_Králové Olomouc Ústí Liberec Jihlava Děčín Zlín"},
	{"Hungarian", "HU", "windows-1250 iso-8859-2",
		"István László Erzsébet Zoltán János Katalin Győző Ágnes Gergő Szilárd Ildikó Tünde",
		"Nagy Kovács Szabó Tóth Horváth Kiss Szőke Erdős Fűzfa Körösi Németh Lőrincz Sütő",
		"Budapest Győr Székesfehérvár Pécs Szeged Debrecen Hódmezővásárhely Nyíregyháza Kecskemét " +
			"Sopron"},
	{"Romanian", "RO", "windows-1250 iso-8859-2 iso-8859-16",
		"Ştefan Ioana Mădălina Andrei Cătălin Elena Mihăiţă Gheorghe Răzvan Ana Dănuţ Lăcrămioara",
		"Popescu Ionescu Bălan Munteanu Ţurcanu Stănescu Rădulescu Iliescu Şerban Lupaşcu Niţă " +
			"Brătianu",
		"Bucureşti Iaşi Timişoara Cluj Braşov Constanţa Galaţi Ploieşti Brăila Piteşti " +
			"Târgu_Mureş"},
	{"Russian", "RU", "windows-1251 koi8-r iso-8859-5 x-mac-cyrillic ibm866",
		"Иван Анна Сергей Ольга Дмитрий Екатерина Алексей Мария Николай Юлия Владимир Татьяна",
		"Петров Смирнова Кузнецов Соколова Попов Лебедева Козлов Новикова Морозов Щукина Фёдоров " +
			"Цветкова",
		"Москва Санкт-Петербург Новосибирск Екатеринбург Казань Самара Омск Челябинск Уфа Пермь " +
			"Воронеж"},
	{"Ukrainian", "UA", "windows-1251 koi8-u",
		"Олександр Ірина Сергій Оксана Андрій Наталія Василь Юлія Тарас Людмила Єва Микола",
		"Шевченко Коваленко Бондаренко Ткаченко Кравчук Олійник Їжак Мельничук Поліщук Гриценко " +
			"Яценюк Дем'янюк",
		"Київ Харків Одеса Дніпро Львів Запоріжжя Вінниця Полтава Чернігів Житомир Рівне"},
	{"Greek", "GR", "windows-1253 iso-8859-7",
		"Γιώργος Μαρία Δημήτρης Ελένη Νίκος Κατερίνα Ιωάννης Σοφία Άγγελος Βασιλική Παναγιώτης " +
			"Ευαγγελία",
		"Παπαδόπουλος Οικονόμου Γεωργίου Νικολάου Δημητρίου Χατζής Αλεξίου Καραγιάννη Μιχαηλίδης " +
			"Λάμπρου",
		"Αθήνα Θεσσαλονίκη Πάτρα Ηράκλειο Λάρισα Βόλος Ιωάννινα Χανιά Ρόδος Καβάλα"},
	{"Turkish", "TR", "windows-1254 iso-8859-9",
		"Mehmet Ayşe İbrahim Fatma Çağlar Gülşen Oğuz Şükrü Elif Hüseyin Işıl Ömer",
		"Yılmaz Kaya Demir Şahin Çelik Yıldız Öztürk Doğan Aydın Kılıç Güneş Erdoğan",
		"İstanbul Ankara İzmir Muğla Eskişehir Diyarbakır Şanlıurfa Kütahya Çanakkale Iğdır"},
	{"Hebrew", "IL", "windows-1255 iso-8859-8",
		"דוד שרה משה רחל יוסף מרים אברהם לאה יעקב נועה דניאל תמר",
		"כהן לוי מזרחי פרץ ביטון דהן אברהם פרידמן מלכה אזולאי כץ עמר",
		"ירושלים תל_אביב חיפה באר_שבע נתניה אשדוד חולון רעננה אילת נצרת"},
	{"Japanese", "JP", "shift_jis euc-jp iso-2022-jp",
		"太郎 花子 一郎 さくら 健太 美咲 翔 陽子 直樹 恵子 ケンジ 真由美",
		"山田 佐藤 鈴木 高橋 田中 渡辺 伊藤 中村 小林 加藤 吉田 表",
		"東京 大阪 名古屋 札幌 福岡 横浜 京都 神戸 仙台 広島"},
	{"Korean", "KR", "euc-kr",
		"민수 지영 현우 서연 준호 은정 영희 철수 하늘 미경 성민 유진",
		"김 이 박 최 정 강 조 윤 장 임 한 오",
		"서울 부산 인천 대구 대전 광주 울산 수원 창원 제주"},
	{"Chinese", "CN", "gbk gb18030",
		"伟 芳 娜 秀英 敏 静 丽 强 磊 军 洋 艳",
		"王 李 张 刘 陈 杨 赵 黄 周 吴 徐 孙",
		"北京 上海 广州 深圳 成都 杭州 武汉 西安 南京 重庆"},
	{"Taiwanese", "TW", "big5",
		"志明 淑芬 俊傑 美玲 家豪 怡君 雅婷 建宏 宗翰 佳穎 冠宇 詩涵",
		"陳 林 黃 張 李 王 吳 劉 蔡 楊 許 鄭",
		"臺北 高雄 臺中 臺南 新竹 基隆 嘉義 桃園 花蓮 屏東"},
	{"French", "FR", "windows-1252 macintosh",
		"François Hélène Jérôme Zoé Benoît Chloé Anaïs André Noël Céline Raphaël Sophie",
		"Lefèvre Béranger Dupont Côté Gérard Prévost Château Rousseau Maréchal Benoît Hébert",
		"Besançon Nîmes Orléans Saint-Étienne Angoulême Béziers Châlons Évry Lyon Mâcon"},
	{"German", "DE", "windows-1252 macintosh",
		"Jörg Bärbel Günther Käthe Jürgen Anna Björn Sören Götz Annegret Uwe Heike",
		"Müller Groß Schäfer Köhler Jäger Schröder Weiß Krüger Böhm Schmidt Übelhör Öhler",
		"München Köln Düsseldorf Nürnberg Würzburg Göttingen Lübeck Fürth Gießen Zürich"},
	{"Spanish", "ES", "windows-1252 macintosh",
		"José María Ángel Begoña Andrés Sofía Íñigo Lucía Jesús Inés Óscar Nuño",
		"García Muñoz Hernández López Ibáñez Núñez Gómez Peña Rodríguez Ordóñez Sáez",
		"Málaga Córdoba León Cádiz Logroño Ávila Cáceres Coruña Almería Jaén"},
	{"Swedish", "SE", "windows-1252 macintosh",
		"Åsa Björn Göran Märta Håkan Sören Pär Örjan Lena Anders Kerstin Jörgen",
		"Åkesson Sjöberg Öberg Lindström Håkansson Bäckström Ström Söderlund Nilsson",
		"Malmö Göteborg Örebro Västerås Linköping Norrköping Umeå Gävle Växjö Borås"},
	{"Lithuanian", "LT", "windows-1257 iso-8859-13",
		"Žydrūnas Eglė Šarūnas Rūta Ąžuolas Jūratė Giedrė Mindaugas Živilė Kęstutis",
		"Kazlauskas Petrauskaitė Žukauskas Šimkus Stankevičius Mockutė Jankauskienė Balčiūnas",
		"Vilnius Klaipėda Šiauliai Panevėžys Marijampolė Mažeikiai Kėdainiai Telšiai"},
	{"Latvian", "LV", "windows-1257",
		"Jānis Anna Kārlis Līga Pēteris Zane Mārtiņš Ilze Ģirts Žanete",
		"Bērziņš Kalniņa Ozoliņš Liepiņa Krūmiņš Ķirsis Šteinbergs Zariņa",
		"Rīga Jūrmala Liepāja Cēsis Rēzekne Jēkabpils Ķegums Daugavpils"},
	{"Croatian", "HR", "windows-1250 iso-8859-2",
		"Željko Ana Đuro Šime Ivančica Marko Jelena Krešimir Božica Siniša",
		"Horvat Kovačević Babić Marić Jurić Đurđević Šarić Božić Vuković Perić",
		"Zagreb Split Šibenik Čakovec Varaždin Požega Đakovo Sisak Poreč"},
	{"Bulgarian", "BG", "windows-1251",
		"Георги Мария Димитър Елена Стоян Цветелина Христо Ралица Ангел Живка",
		"Иванов Димитрова Петров Стоянова Георгиев Николова Тодоров Ангелова Христов",
		"София Пловдив Варна Бургас Русе Стара_Загора Плевен Сливен Добрич"},
	{"English", "GB", "windows-1252 macintosh",
		"John Mary Zoë James Sarah Renée Peter Linda Chloë Robert",
		"Smith O’Brien Jones Brontë Brown D’Angelo Taylor Wilson García",
		"London Leeds Bath York Derby Hull"},
	{"Danish", "DK", "windows-1252 macintosh",
		"Søren Åse Jørgen Bjørn Anne Kåre Mette Lærke",
		"Sørensen Jørgensen Kjær Møller Østergaard Ærø Nielsen Bøgh",
		"København Århus Ålborg Næstved Køge Helsingør Sønderborg"},
	{"Portug", "BR", "windows-1252 macintosh",
		"João José Antônio Conceição Luís Mário Sérgio Patrícia Márcia Fabrício",
		"Gonçalves Simões Araújo Magalhães Conceição Gusmão Brandão Assunção Camões Mendonça",
		"São_Paulo Brasília Belém Goiânia Maceió Cuiabá Vitória Florianópolis"},
	{"Italian", "IT", "windows-1252 macintosh",
		"Niccolò Mosè Maria Luca Giosuè Noè",
		"Rossi Nicolò Mazzà Bellè Scarfò Cantù Merlò Dalò",
		"Forlì Cefalù Cantù Patti Cittá Roma"},
	{"Arabic", "EG", "windows-1256 iso-8859-6",
		"محمد أحمد فاطمة علي خالد",
		"حسن إبراهيم السيد محمود",
		"القاهرة الإسكندرية الجيزة"},
	{"Thai", "TH", "windows-874",
		"สมชาย สมหญิง ประเสริฐ",
		"ใจดี ศรีสุข แสงทอง",
		"กรุงเทพ เชียงใหม่ ภูเก็ต"},
	{"Slovak", "SK", "windows-1250 iso-8859-2",
		"Ján Mária Ľubomír Zuzana Štefan Ľudmila Ondrej Žofia",
		"Kováč Horváthová Baláž Tóth Molnár Šimko Kráľ Hudák Ďurica",
		"Bratislava Košice Žilina Nitra Prešov Trenčín Považská_Bystrica"},
	{"Serbian", "RS", "windows-1251 windows-1250",
		"Ђорђе Јована Милош Љиљана Никола Његош",
		"Јовановић Петровић Ђорђевић Николић Чолић",
		"Београд Нови_Сад Ниш Чачак Ужице"},
}
