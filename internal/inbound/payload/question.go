package payload

import (
	"strings"

	"contactbase/internal/contact/names"
)

// What senders call the label of a question, and the answer to it, folded, in the order in which they count: labels
// come before keys. A "text" is a label if something else is the answer.
var (
	labelNames = ranksOf("label title question text questiontext questiontitle fieldlabel displayname name columnid " +
		"field fieldname key slug ref reference alias prompt variable property attribute identifier code fieldid " +
		"questionid id")
	answerNames = ranksOf("value answer values answers stringvalue fieldvalue response responses content answertext " +
		"answervalue displayvalue submittedvalue inputvalue userdata userinput reply text")
)

// named are labels by which an object is a question even if nobody has answered it.
var named = map[string]bool{"label": true, "question": true}

const longestPart = len("questiontitle") + 3 // with separators

func ranksOf(texts string) map[string]int {
	ranks := map[string]int{}
	for i, text := range strings.Fields(texts) {
		ranks[text] = i + 1
	}
	return ranks
}

// question is an element of a form.
type question struct {
	label      string
	value      any
	hasLabel   bool // it has a property for a label, perhaps without a text
	isAnswered bool // it has a property for an answer
	isNamed    bool // it is a question even without one
}

// ranked is the value of the property whose name counts first.
type ranked struct {
	rank  int // 0 for none
	key   string
	value any
}

func (best *ranked) offer(rank int, key string, value any) {
	if rank > 0 && (best.rank == 0 || rank < best.rank || rank == best.rank && key < best.key) {
		*best = ranked{rank, key, value}
	}
}

// questionOf reads an element of a form. Of several properties for one, that with the first name counts.
func questionOf(v any) (q question) {
	var label, answer ranked
	text := ""
	for key, value := range objectIn(v) {
		if len(key) > longestPart {
			continue
		}
		folded := names.Fold(key)
		if folded == "text" {
			text, _ = value.(string)
			continue
		}
		q.isAnswered = q.isAnswered || answerNames[folded] > 0
		if value != nil {
			answer.offer(answerNames[folded], key, value)
		}
		q.hasLabel, q.isNamed = q.hasLabel || labelNames[folded] > 0, q.isNamed || named[folded]
		if labelNames[folded] > 0 && labelIn(value) != "" {
			label.offer(labelNames[folded], key, labelIn(value))
		}
	}
	q.label, q.value = firstText(label.value), answer.value
	switch {
	case text == "":
	case !q.isAnswered:
		q.isAnswered, q.value = true, text
	case label.rank == 0 || label.rank > labelNames["text"]:
		q.hasLabel, q.label = true, text
	}
	return q
}

// labelIn returns the label in a value: a text, or that of an object about the question.
func labelIn(v any) string {
	if obj, ok := v.(map[string]any); ok {
		return firstFilled(obj["label"], obj["title"], obj["text"], obj["name"], obj["key"], obj["ref"])
	}
	return firstText(v)
}

// firstFilled returns the first text that is not empty.
func firstFilled(values ...any) string {
	for _, v := range values {
		if text, _ := v.(string); text != "" {
			return text
		}
	}
	return ""
}

// isForm reports whether a list contains only questions, at least one of which has a label and an answer.
func isForm(list []any) bool {
	isAnswered := false
	for _, el := range list {
		switch q := questionOf(el); {
		case !q.hasLabel, !q.isAnswered && !q.isNamed:
			return false
		case q.isAnswered && q.label != "":
			isAnswered = true
		}
	}
	return isAnswered
}
