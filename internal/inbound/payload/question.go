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

// questionOf reads an element of a form. Of several properties for one, that with the first name counts.
func questionOf(v any) (q question) {
	obj, _ := v.(map[string]any)
	var labelRank, valueRank int
	var labelKey, valueKey, text string
	isFirst := func(rank, best int, key, bestKey string) bool {
		return rank > 0 && (best == 0 || rank < best || rank == best && key < bestKey)
	}
	for key, value := range obj {
		if len(key) > longestPart {
			continue
		}
		folded := names.Fold(key)
		if rank := answerNames[folded]; rank > 0 && folded != "text" {
			q.isAnswered = true
			if value != nil && isFirst(rank, valueRank, key, valueKey) {
				q.value, valueRank, valueKey = value, rank, key
			}
		}
		if folded == "text" {
			text, _ = value.(string)
		}
		if rank := labelNames[folded]; rank > 0 && folded != "text" {
			q.hasLabel, q.isNamed = true, q.isNamed || named[folded]
			if label := labelIn(value); label != "" && isFirst(rank, labelRank, key, labelKey) {
				q.label, labelRank, labelKey = label, rank, key
			}
		}
	}
	switch {
	case text == "":
	case !q.isAnswered:
		q.isAnswered, q.value = true, text
	case labelRank == 0 || labelRank > labelNames["text"]:
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
