package physical

import (
	"container/list"
	"database/sql/driver"
	"strings"
)

// Statement is the text of a query and what kind it is.
type Statement struct {
	Text string
	Kind Kind
}

// Kind is what a statement does.
type Kind int

// The kinds.
const (
	Other Kind = iota // a script of several statements, and everything else
	Read              // SELECT or VALUES
	With              // WITH, in front of any of the others
	Write             // INSERT, UPDATE, DELETE or REPLACE
)

// Parse determines the kind of a query by its first word. It takes any query with a semicolon for a script, even if
// that is in a literal: such a query only runs more slowly.
func Parse(query string) Statement {
	text := strings.TrimRight(query, "; \t\r\n")
	if strings.Contains(text, ";") {
		return Statement{Text: query}
	}
	text = strings.TrimLeft(text, " \t\r\n")
	end := strings.IndexFunc(text, func(r rune) bool { return r|0x20 < 'a' || r|0x20 > 'z' })
	if end < 0 {
		end = len(text)
	}
	s := Statement{Text: text}
	switch strings.ToUpper(text[:end]) {
	case "SELECT", "VALUES":
		s.Kind = Read
	case "WITH":
		s.Kind = With
	case "INSERT", "UPDATE", "DELETE", "REPLACE":
		s.Kind = Write
	}
	return s
}

// preparedStatement has the methods of the driver's compiled statements.
type preparedStatement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// statements is an LRU cache of the compiled statements of one connection. A statement in use is not in it. Like the
// connection, it is for one goroutine at a time.
type statements struct {
	capacity int
	order    *list.List // of *compiled, the most recently used one first
	byText   map[string]*list.Element
}

type compiled struct {
	text     string
	prepared preparedStatement
}

func newStatements(capacity int) *statements {
	return &statements{capacity: capacity, order: list.New(), byText: make(map[string]*list.Element, capacity)}
}

// take removes a statement and returns it, or nil if it is not cached.
func (s *statements) take(text string) preparedStatement {
	element, ok := s.byText[text]
	if !ok {
		return nil
	}
	delete(s.byText, text)
	return s.order.Remove(element).(*compiled).prepared
}

// put adds a statement that was reset, and closes the oldest one if there are too many. It ignores errors of closing,
// which repeat those of the last run.
func (s *statements) put(text string, prepared preparedStatement) {
	if s.capacity == 0 {
		_ = prepared.Close()
		return
	}
	if twin := s.take(text); twin != nil {
		_ = twin.Close()
	}
	s.byText[text] = s.order.PushFront(&compiled{text: text, prepared: prepared})
	if s.order.Len() > s.capacity {
		oldest := s.order.Remove(s.order.Back()).(*compiled)
		delete(s.byText, oldest.text)
		_ = oldest.prepared.Close()
	}
}

// close closes all statements.
func (s *statements) close() {
	for s.order.Len() > 0 {
		_ = s.order.Remove(s.order.Back()).(*compiled).prepared.Close()
	}
	clear(s.byText)
}
