package safehttp

import (
	"log"
	"strings"
	"testing"
)

func TestQuiet(t *testing.T) {
	t.Parallel()
	var written strings.Builder
	logger := log.New(Quiet(&written), "", log.LstdFlags)
	logger.Printf("Unsolicited response received on idle HTTP channel starting with %q; err=%v", "anything", nil)
	logger.Printf("Transport: unhandled response frame type %T", t)
	logger.Print("something else")
	if got := written.String(); strings.Count(got, "\n") != 1 || !strings.HasSuffix(got, "something else\n") {
		t.Errorf("got %q", got)
	}
}
