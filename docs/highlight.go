package docs

import (
	"html"
	"html/template"
	"regexp"
	"strings"
)

// syntax matches what a language colours: each group of the pattern has the class of its index.
type syntax struct{ pattern *regexp.Regexp }

// classes are those of comments, texts and keywords.
var classes = []string{"", "comment", "string", "keyword"}

const (
	doubleQuoted = `"(?:\\.|[^"\\\n])*"`
	singleQuoted = `'(?:\\.|[^'\\\n])*'`
)

func newSyntax(comment, texts, keywords string) syntax {
	words := `\b(?:` + strings.Join(strings.Fields(keywords), "|") + `)\b`
	return syntax{regexp.MustCompile(`(?m)(` + comment + `)|(` + texts + `)|(` + words + `)`)}
}

// syntaxes are those of the languages of the guides and the reference.
var syntaxes = func() map[string]syntax {
	const slashes, hash, never = `//.*$`, `(?:^|[ \t])#.*$`, `\z\A.`
	script := newSyntax(slashes, doubleQuoted+"|"+singleQuoted+"|`[^`]*`",
		"async await break case catch class const continue default else export false for from function if import in "+
			"instanceof let new null of return switch throw true try type typeof undefined while")
	shell := newSyntax(hash, `"(?:\\.|[^"\\])*"|'[^']*'`,
		"export for do done if then fi sudo curl contactbase npm pip go npx docker")
	return map[string]syntax{
		"sh": shell, "curl": shell, "js": script, "ts": script,
		"go": newSyntax(slashes, doubleQuoted+"|`[^`]*`", "break case chan const continue default defer else false for func "+
			"go if import interface map nil package range return select struct switch true type var"),
		"python": newSyntax(hash, `"""[^"]*"""|`+doubleQuoted+"|"+singleQuoted,
			"and as class def elif else except False for "+
				"from if import in is lambda None not or pass raise return True try while with yield"),
		"php": newSyntax(slashes, doubleQuoted+"|"+singleQuoted,
			"class const false foreach function if new null return true"),
		"ruby": newSyntax(hash, doubleQuoted+"|"+singleQuoted,
			"class def do else end false if nil require return true unless"),
		"json": newSyntax(never, doubleQuoted, "true false null"),
		"yaml": newSyntax(hash, doubleQuoted+"|"+singleQuoted, "true false null"),
	}
}()

// highlight returns code as HTML, with the parts that its language colours.
func highlight(language, code string) template.HTML {
	known, isKnown := syntaxes[language]
	if !isKnown {
		return template.HTML(html.EscapeString(code))
	}
	var out strings.Builder
	end := 0
	for _, found := range known.pattern.FindAllStringSubmatchIndex(code, -1) {
		for i, class := range classes[1:] {
			from, to := found[2*i+2], found[2*i+3]
			if from < 0 || from == to {
				continue
			}
			out.WriteString(html.EscapeString(code[end:from]))
			out.WriteString(`<span class="` + class + `">` + html.EscapeString(code[from:to]) + "</span>")
			end = to
		}
	}
	out.WriteString(html.EscapeString(code[end:]))
	return template.HTML(out.String())
}

var (
	codeBlock = regexp.MustCompile(`(?s)<pre><code class="language-([a-z]+)">(.*?)</code></pre>`)
	// tabbed matches blocks in several programming languages, one after the other.
	tabbed = regexp.MustCompile(`(?s)(?:<pre data-language="[a-z]+"[^>]*><code>[^\x00]*?</code></pre>\s*)+`)
	oneTab = regexp.MustCompile(`(?s)<pre data-language="([a-z]+)"[^>]*>.*?</pre>`)
)

// titles are the languages of which a reader chooses one.
var titles = map[string]string{
	"go": "Go", "ts": "TypeScript", "js": "JavaScript", "python": "Python", "php": "PHP", "ruby": "Ruby",
}

// coloured highlights the code blocks of a guide. Commands and JSON wrap; other languages keep their lines, and those
// that follow each other become tabs.
func coloured(body string) string {
	body = codeBlock.ReplaceAllStringFunc(body, func(block string) string {
		parts := codeBlock.FindStringSubmatch(block)
		language, code := parts[1], string(highlight(parts[1], html.UnescapeString(parts[2])))
		switch {
		case language == "sh" || language == "json":
			return `<pre class="wrap"><code>` + code + "</code></pre>"
		case titles[language] != "":
			return `<pre data-language="` + language + `" tabindex="0"><code>` + code + "</code></pre>"
		}
		return `<pre tabindex="0"><code>` + code + "</code></pre>"
	})
	return tabbed.ReplaceAllStringFunc(body, func(blocks string) string {
		tabs := oneTab.FindAllStringSubmatch(blocks, -1)
		if len(tabs) < 2 {
			return blocks
		}
		out := `<div class="samples">`
		for _, tab := range tabs {
			out += `<figure data-language="` + tab[1] + `"><figcaption>` + titles[tab[1]] + "</figcaption>" +
				tab[0] + "</figure>"
		}
		return out + "</div>\n"
	})
}
