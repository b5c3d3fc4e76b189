package payload

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"contactbase/internal/contact"
	"contactbase/internal/contact/names"
)

// answer is "@answer:field", the text of the answer to the question that means a field of a contact, or whose label
// is that. It reads
//
//   - an object, whose names are the labels: {"Your email": "…"}
//   - a list of questions: [{"label": "Your email", "type": "INPUT_EMAIL", "value": "…"}]
//   - what Typeform sends: {"definition": {"fields": […]}, "answers": […]}
//
// An answer may be an object with the text, see valueOf, or a list: its first text counts for a field of a contact, and
// all of them for an admin's field.
type answer string

func (a answer) find(w *work, v any, rest chain) (any, bool) {
	var f filledForm
	if !f.read(w, v) {
		return nil, false
	}
	w.note(f.labels)
	text, found := f.answerTo(string(a))
	if !found {
		return nil, false
	}
	if text == "" {
		return w.walk(nil, rest)
	}
	return w.walk(text, rest)
}

// filledForm is a list of questions with their answers.
type filledForm struct {
	labels []string
	types  []string // the fields that the types of the questions mean, "" for most
	values []any
}

// add adds a question, if there is work left for reading its label and type.
func (f *filledForm) add(w *work, label, kind string, value any) bool {
	f.labels, f.types, f.values = append(f.labels, label),
		append(f.types, typeOf(kind, label, value)), append(f.values, value)
	return w.spend(16 + (len(label)+len(kind))/4)
}

// typeOf returns the field that a question's type means, such as INPUT_EMAIL and phone_number, "" for most. A
// question for a name, such as "Contact", has the type of its answer.
func typeOf(kind, label string, value any) string {
	if field := names.Of(kind).Field; field == names.Email || field == names.Phone {
		return field
	}
	if names.Of(label).Field == names.Name {
		return shapeOf(answerText(names.Name, value))
	}
	return ""
}

func (f *filledForm) read(w *work, v any) bool {
	switch v := v.(type) {
	case []any:
		return f.readList(w, v)
	case map[string]any:
		if list, ok := v["answers"].([]any); ok {
			return f.readTypeform(w, v["definition"], list)
		}
		labels, ok := w.sorted(v)
		for _, label := range labels {
			ok = ok && f.add(w, label, "", v[label])
		}
		return ok
	}
	return false
}

func objectIn(v any) map[string]any {
	obj, _ := v.(map[string]any)
	return obj
}

func (f *filledForm) readList(w *work, list []any) bool {
	for _, el := range list {
		q, obj := questionOf(el), objectIn(el)
		if options, ok := obj["options"].([]any); ok {
			q.value = chosen(w, options, q.value)
		}
		if !f.add(w, q.label, firstText(obj["type"]), q.value) {
			return false
		}
	}
	return true
}

// chosen returns an answer with the texts of the chosen options in place of their IDs, which Tally sends: one, or a
// list.
func chosen(w *work, options []any, value any) any {
	texts := map[string]string{}
	for _, el := range options {
		option, _ := el.(map[string]any)
		if !w.spend(1) {
			return nil
		}
		texts[firstText(option["id"])] = firstText(option["text"], option["label"], option["name"])
	}
	textOf := func(v any) any {
		if id := firstText(v); id != "" && texts[id] != "" {
			return texts[id]
		}
		return v
	}
	list, isList := value.([]any)
	if !isList {
		return textOf(value)
	}
	if !w.spend(len(list)) {
		return nil
	}
	chosen := make([]any, len(list))
	for i, el := range list {
		chosen[i] = textOf(el)
	}
	return chosen
}

// readTypeform joins the answers with the titles of their questions, or with their references if only
// these mean something.
func (f *filledForm) readTypeform(w *work, definition any, answers []any) bool {
	titles := map[string]string{}
	form, _ := definition.(map[string]any)
	if !titlesOf(w, form, titles) {
		return false
	}
	for _, el := range answers {
		given, _ := el.(map[string]any)
		question, _ := given["field"].(map[string]any)
		label, ref, kind := titles[firstText(question["id"])], firstText(question["ref"]), firstText(given["type"])
		if label == "" || names.Known(ref) && !names.Known(label) {
			label = ref
		}
		if !f.add(w, label, kind, given[kind]) {
			return false
		}
	}
	return true
}

// formItem reads the answers of a form as one contact.
func formItem(w *work, form any) Item {
	it := Item{Fields: map[string]any{}, Extra: map[string]any{}, Action: contact.Upsert}
	var f filledForm
	if !f.read(w, form) {
		return it
	}
	read := map[string]bool{}
	for field, questions := range f.byField() {
		for _, i := range questions {
			read[f.labels[i]] = true
		}
		if text, _ := f.answerTo(field); isNoValue(text) {
			it.lose(field, text)
		} else if text != "" && isField(field) {
			it.Fields[field] = text
		}
	}
	if name, _ := f.answerTo(fieldName); name != "" && !isNoValue(name) {
		it.Fields[fieldName] = name
	}
	it.warnLost()
	for i, label := range f.labels {
		if value, wrong := custom(f.values[i]); wrong == nil && label != "" && !read[label] {
			it.Extra[label] = value
		}
	}
	return it
}

// titlesOf collects the titles of questions, and of those in a group, by their IDs.
func titlesOf(w *work, group map[string]any, titles map[string]string) bool {
	list, _ := group["fields"].([]any)
	for _, el := range list {
		question, _ := el.(map[string]any)
		if !w.spend(4) {
			return false
		}
		titles[firstText(question["id"])] = firstText(question["subfield_key"], question["title"])
		if inner, ok := question["properties"].(map[string]any); ok && !titlesOf(w, inner, titles) {
			return false
		}
	}
	return true
}

// answerTo returns the text for a field, and whether there is a question for it.
func (f *filledForm) answerTo(field string) (text string, found bool) {
	groups := f.byField()
	text, found = f.first(field, groups[field])
	if field == names.Name {
		var parts [3]string
		for i, half := range names.Halves {
			part, asked := f.first(half, groups[half])
			parts[i], found = part, found || asked
		}
		return names.Whole(text, parts), found
	}
	if found || isField(field) || names.IsHalf(field) {
		return text, found
	}
	for i, label := range f.labels {
		if names.Fold(label) == names.Fold(field) {
			return f.first(field, []int{i})
		}
	}
	return "", false
}

// byField groups the questions by field. A question with a type means only that field; its label does not matter. It
// comes after those whose label means the field: a form may ask for the address of a friend.
func (f *filledForm) byField() map[string][]int {
	labels, typed := slices.Clone(f.labels), map[string][]int{}
	for i, kind := range f.types {
		if kind != "" && names.Of(labels[i]).Field != kind {
			labels[i], typed[kind] = "", append(typed[kind], i)
		}
	}
	groups := byField(labels)
	for kind, questions := range typed {
		groups[kind] = append(groups[kind], questions...)
	}
	return groups
}

// first returns the first text among the answers.
func (f *filledForm) first(field string, questions []int) (text string, found bool) {
	for _, i := range questions {
		if given := answerText(field, f.values[i]); given != "" {
			if text = given; !isNoValue(given) {
				break
			}
		}
	}
	return text, len(questions) > 0
}

// askedNote returns the sentence about the questions of a form, "" if there are none.
func askedNote(labels []string) string {
	if len(labels) == 0 {
		return ""
	}
	return " The form asks: " + some(labels) + ". To read an answer, map a field to its question, as in @answer:" +
		shorten(names.Fold(labels[0])) + "."
}

// answerText returns the text of an answer. A box that is ticked has none.
func answerText(field string, v any) string {
	switch v := v.(type) {
	case []any:
		var texts []string
		for _, el := range v {
			if text := answerText(field, el); text != "" {
				texts = append(texts, text)
			}
		}
		if len(texts) > 1 && (isField(field) || names.IsHalf(field)) {
			return texts[0]
		}
		return strings.Join(texts, ", ")
	case map[string]any:
		if text, _ := valueOf(field, v); text != nil {
			return text.(string)
		}
		if labels, ok := v["labels"].([]any); ok { // of several choices at Typeform, beside which there may be another
			return answerText(field, append(slices.Clip(labels), v["other"]))
		}
		return cmp.Or(answerText(field, v["label"]), answerText(field, v["text"]))
	case string, json.Number:
		text, _ := scalar(v)
		s, _ := text.(string)
		return s
	}
	return ""
}
