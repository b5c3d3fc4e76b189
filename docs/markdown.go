package docs

import (
	"bytes"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// markdown returns the HTML of a Markdown text, and its first heading. link returns the target of each of its links.
func markdown(source []byte, link func(destination string) string) (title, body string) {
	converter := goldmark.New(
		goldmark.WithExtensions(extension.Table),
		goldmark.WithParserOptions(parser.WithAutoHeadingID(),
			parser.WithASTTransformers(util.Prioritized(links(link), 100))),
	)
	document := converter.Parser().Parse(text.NewReader(source))
	if heading, isHeading := document.FirstChild().(*ast.Heading); isHeading {
		title = string(heading.Lines().Value(source))
	}
	var out bytes.Buffer
	if err := converter.Renderer().Render(&out, source, document); err != nil {
		panic("docs: " + err.Error()) // unreachable: the texts are embedded, and tests render them
	}
	return title, out.String()
}

// links replaces the targets of the links and images of a text.
type links func(destination string) string

// Transform implements parser.ASTTransformer.
func (l links) Transform(document *ast.Document, _ text.Reader, _ parser.Context) {
	_ = ast.Walk(document, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		switch to := node.(type) {
		case *ast.Link:
			if entering {
				to.Destination = []byte(l(string(to.Destination)))
			}
		case *ast.Image:
			if entering {
				to.Destination = []byte(l(string(to.Destination)))
			}
		}
		return ast.WalkContinue, nil
	})
}
